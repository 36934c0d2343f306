"""Keep a copy of an agent's file that cannot be read in full, before the agent writes a new one.

The agent deletes no such copy. There are at most ten. When all names are taken, the newest replaces the last one, so a
disk that garbles every write does not fill up.
"""

from __future__ import annotations

import errno
import filecmp
import os

_MOST = 10
# File systems without hard links raise one of these errors; for a folder, link(2) raises EPERM.
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})


def set_aside(path: str) -> str:
    """Keep the content of ``path`` as ``path.bad``, ``path.bad.1``, …; return that name. Raises OSError.

    A regular file stays at ``path`` as well, so that a crash before its replacement loses nothing.
    """
    names = [f"{path}.bad", *(f"{path}.bad.{number}" for number in range(1, _MOST))]
    for name in names:
        if not os.path.lexists(name):
            _keep(path, name)
            return name
        if os.path.isfile(path) and os.path.isfile(name) and filecmp.cmp(path, name, shallow=False):
            return name
    os.replace(path, names[-1])
    return names[-1]


def _keep(path: str, name: str) -> None:
    try:
        os.link(path, name)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.replace(path, name)
