"""The agent's journal in memory. The real file journal has tests of its own (tests/unit/host_files)."""

from __future__ import annotations

import dataclasses

from agent.host_files.journal import Change, Entry, JournalContent, Result


class MemoryJournal:
    """Implements Journal. It survives a restart of the agent, as the file does."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def read(self) -> JournalContent:
        """Return all entries, the first one first."""
        undone: dict[str, tuple[str, ...]] = {}
        for entry in self._entries.values():
            if entry.change.undoes is not None and entry.result is not Result.REFUSED:
                undone[entry.change.undoes] = (*undone.get(entry.change.undoes, ()), entry.id)
        found = (dataclasses.replace(entry, undone_by=undone.get(entry.id, ())) for entry in self._entries.values())
        return JournalContent(entries=tuple(found))

    def begin(self, change: Change) -> str:
        """Add an entry; return its id."""
        number = f"{len(self._entries):012x}"
        self._entries[number] = Entry(id=number, at="", change=change)
        return number

    def end(self, entry_id: str, result: Result, words: str = "") -> None:
        """Set the outcome of an entry."""
        self._entries[entry_id] = dataclasses.replace(self._entries[entry_id], result=result, words=words)
