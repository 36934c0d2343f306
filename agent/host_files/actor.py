"""Find out which user runs this process, for the journal.

No function of this module raises an error: a journal entry without a user's name is better than no entry.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from agent.host_files.installed import installed_version
from agent.model.heal import Actor

LOGIN_UID = "/proc/self/loginuid"
#: The value in ``loginuid`` for a process that no login started.
NO_LOGIN = 2**32 - 1
#: The journal keeps at most this many characters of SUDO_USER, because any user can set this variable to a long text.
LONGEST_NAME = 64


def this_actor(program: str) -> Actor:
    """Return who runs this process; ``program`` is the name that the journal shows."""
    return Actor(
        user=_user(os.geteuid()),
        login_uid=_login_uid(),
        sudo_user=os.environ.get("SUDO_USER", "")[:LONGEST_NAME] or None,
        program=program,
        version=installed_version() or "unknown",
        host=os.uname().nodename,
        pid=os.getpid(),
    )


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OSError):
        return str(uid)


def _login_uid() -> int | None:
    try:
        uid = int(Path(LOGIN_UID).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return None if uid == NO_LOGIN else uid
