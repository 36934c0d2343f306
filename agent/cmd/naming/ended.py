"""Say, about a finding that audits no longer find, when it ended and which repair ended it."""

from __future__ import annotations

from collections.abc import Iterable

from agent.cmd.naming.prefixes import could_be_beginning, plain
from agent.host_files.journal import Entry, Result
from agent.model.finding import GoneFinding


def ended_words(typed: str, gone: Iterable[GoneFinding], entries: Iterable[Entry]) -> str | None:
    """Return one sentence about the end of a finding. ``typed`` is the beginning of the finding's id.

    Returns None if the journal has no repair of the finding and ``gone`` does not contain the finding.
    """
    if not could_be_beginning(typed):
        return None
    repairs = [
        entry
        for entry in entries
        if entry.result is Result.DONE
        and entry.change.undoes is None
        and plain(entry.change.finding_id or "").startswith(plain(typed))
    ]
    if not repairs:
        ended = next((one for one in gone if plain(one.seen.finding.id).startswith(plain(typed))), None)
        return None if ended is None else f"finding {typed} ended: {ended.words}"
    last = repairs[-1]
    undone = f"; this repair was undone (journal entry {', '.join(last.undone_by)})" if last.undone_by else ""
    return f"finding {typed} ended at {last.ended_at or last.at}: repaired (journal entry {last.id}){undone}"
