"""Let a command run without root. The command skips what its user may not read, and changes nothing.

Without root, a process cannot read the state directory, LVM's devices and perhaps libvirt. The command says so in one
line, answers from what it can read, and ends with exit code 2 (partial). If the host's identity may be in a
``compute_id`` file that the user may not read, the command invents no identity and sends no request to Placement.

This module treats a user who may write the state directory like root. Such a user is a test, or a service that does not
run as root.
"""

from __future__ import annotations

import dataclasses
import os
import re
from dataclasses import dataclass

from agent.audit.parts import Parts
from agent.cmd.command_line.failures import FailureKind, NoDocument
from agent.config.agent_options import agent_options_from
from agent.config.build import settings_from
from agent.config.loaded import Loaded
from agent.exit_codes import PARTIAL, REFUSED
from agent.host_files.identity import ComputeIdFiles
from agent.model.finding import History
from agent.model.report import AuditReport, SourceStatus
from agent.model.snapshot import LVM, PLACEMENT

_TITLES = {LVM: "LVM"}
# Matches the errors by which libvirt, LVM and the file system deny access to this user.
_DENIED = re.compile("permission denied|access denied|authentication (failed|unavailable)|not permitted", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """What this process cannot read without root: the state directory, and LVM if volume groups are configured."""

    state_dir: str
    has_volume_groups: bool

    def line(self, report: AuditReport | None = None) -> str:
        """Return the line for stderr that says what cannot be read without root.

        With ``report``, the line also names the report's sources that this user may not read.
        """
        found = [] if report is None else [source.name for source in report.sources if self.hides(source)]
        lvm = [LVM] if self.has_volume_groups else []
        names = [_TITLES.get(name, name) for name in dict.fromkeys((*lvm, *found)) if name != PLACEMENT]
        *most, last = (*names, self.state_dir)
        closed = f"{', '.join(most)} and {last}" if most else last
        return f"not root: {closed} cannot be read; run this command as root"

    def hides(self, source: SourceStatus) -> bool:
        """Return whether the source could not be read only because this process does not run as root."""
        if source.ok:
            return False
        return source.name == LVM or not source.asked or bool(_DENIED.search(source.error or ""))

    def without_closed_files(self, parts: Parts) -> Parts:
        """Return an audit's parts (sources, clients, files) without the files that this process may not read."""
        files = parts.identity_files
        readable = files.readable() if isinstance(files, ComputeIdFiles) else files
        return dataclasses.replace(parts, identity_files=readable, history=_NoHistory(), store=None, notes=lambda: ())


def closed_to_us(loaded: Loaded) -> Closed | None:
    """Return what this process may not read without root; None if this process may read everything."""
    folder = agent_options_from(loaded).state_dir
    if os.geteuid() == 0 or _is_usable(folder):
        return None
    return Closed(state_dir=folder, has_volume_groups=bool(settings_from(loaded).volume_groups))


def require_root(loaded: Loaded) -> None:
    """Raise NoDocument (exit code 5) if this process may not change anything. Call this before any request."""
    closed = closed_to_us(loaded)
    if closed is not None:
        message = f"not root: {closed.state_dir} cannot be written, so nothing is changed; run this command as root"
        raise NoDocument(FailureKind.PERMISSION, message, REFUSED)


def require_own_files(loaded: Loaded) -> None:
    """Raise NoDocument (exit code 2) if this process may not read the state directory, which the answer needs."""
    closed = closed_to_us(loaded)
    if closed is not None:
        raise NoDocument(FailureKind.PERMISSION, dataclasses.replace(closed, has_volume_groups=False).line(), PARTIAL)


def _is_usable(folder: str) -> bool:
    """Return whether this process may use the folder, or may make it if it does not exist."""
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK)


class _NoHistory:
    """A HistoryStore that stores nothing, for a process that may not read the state directory."""

    def load(self) -> History:
        """Return an empty history."""
        return History()

    def changed(self) -> History | None:
        """Return None: no other process saves into this store."""
        return None

    def save(self, history: History) -> bool:  # noqa: ARG002 - the protocol's
        """Return False: nothing is saved."""
        return False
