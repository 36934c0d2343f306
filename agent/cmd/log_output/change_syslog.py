"""Send a line to syslog for each change that an operator's command made: who, what, the state before and after.

The daemon logs its own changes. A command has no log, so without this line only the agent's journal file
would show the change. ``journalctl -t stocktake`` shows these lines beside the daemon's lines.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from logging.handlers import SysLogHandler

from agent.host_files.journal import Change, Journal, JournalContent, Result
from agent.telemetry import events
from agent.telemetry.change_text import state_text
from agent.telemetry.events import Event
from agent.telemetry.text_form import message

DEV_LOG = "/dev/log"
IDENTIFIER = "stocktake"
#: The longest wait in seconds for a syslog server that does not read its socket.
SEND_S = 1.0
# The kinds of journal entries that ``stocktake adopt`` writes (agent/healing/identity_journal.py).
_ADOPTED = frozenset({"compute-id-file", "provider-name", "record", "store"})


class AnnouncingJournal:
    """A journal that also passes each completed change to ``announce``, as one line of text.

    ``actor`` returns a text that names the operator who makes the changes.
    """

    def __init__(self, journal: Journal, actor: Callable[[], str], announce: Callable[[str], None]) -> None:
        self._journal = journal
        self._actor = actor
        self._announce = announce
        self._open: dict[str, Change] = {}

    def begin(self, change: Change) -> str:
        """Implement Journal.begin."""
        entry_id = self._journal.begin(change)
        self._open[entry_id] = change
        return entry_id

    def end(self, entry_id: str, result: Result, words: str = "") -> None:
        """Implement Journal.end. Announce a completed change even if the journal cannot record the outcome."""
        change = self._open.pop(entry_id, None)
        try:
            self._journal.end(entry_id, result, words)
        finally:
            if change is not None and result is Result.DONE:
                self._announce(change_line(change, entry_id, self._actor()))

    def read(self) -> JournalContent:
        """Implement Journal.read."""
        return self._journal.read()


def change_line(change: Change, entry_id: str, actor: str) -> str:
    """Return the syslog line about a completed change."""
    subject = f"consumer {change.consumer_uuid}" if change.consumer_uuid else None
    fields = {
        "code": change.code or change.kind,
        "subject": subject or (f"provider {change.provider_uuid}" if change.provider_uuid else change.kind),
        "actor": actor,
        "entry_id": entry_id,
        "before": state_text(change.before),
        "after": state_text(change.after),
        "undo": f"stocktake undo {entry_id}",
    }
    return message(_event_of(change), fields)


def to_syslog(line: str) -> None:
    """Send a line to the machine's syslog, facility user, priority warning. Without a syslog server, do nothing.

    The journal file has the change, and the command's output must not depend on syslog. So no failure is reported. The
    standard library's handler is not used: if the server does not read, the handler blocks forever at its second
    attempt to send.
    """
    priority = (SysLogHandler.LOG_USER << 3) | SysLogHandler.LOG_WARNING
    text = f"<{priority}>{IDENTIFIER}[{os.getpid()}]: {line}"
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.settimeout(SEND_S)
        server.connect(DEV_LOG)
        server.send(text.encode())


def _event_of(change: Change) -> Event:
    if change.undoes is not None:
        return events.CHANGE_UNDONE
    return events.IDENTITY_ADOPTED if change.kind in _ADOPTED else events.FINDING_HEALED
