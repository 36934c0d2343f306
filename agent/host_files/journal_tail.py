"""Count the agent's changes from its journal file: those that ended since this process started, and those still open.

Each call reads only what was appended since the last call, at most 1 MiB, so that a long journal delays no audit.
"""

from __future__ import annotations

import json
import os
from collections import Counter

from agent.host_files.journal import FILE
from agent.model.heal import JournalCounts

MOST_BYTES = 1024 * 1024
_NO_FILE_YET, _FILE_IS_GONE = 0, -1


class JournalTail:
    """Reads what was appended to the journal. Not thread-safe: only the daemon's worker thread calls this class."""

    def __init__(self, state_dir: str) -> None:
        self._path = os.path.join(state_dir, FILE)
        self._offset = 0
        self._inode = _NO_FILE_YET
        self._rest = b""
        self._open: dict[str, str] = {}
        self._is_counting = False

    def read(self) -> JournalCounts:
        """Count the outcomes written since the last call, and all changes that have no outcome now.

        Outcomes that the journal had when this process started are not counted. If another file replaces the journal (a
        restored backup, a rotation), the outcomes that the new file already has are not counted either.
        """
        try:
            lines, is_caught_up = self._new_lines()
        except OSError:
            return JournalCounts(open_entries=len(self._open))
        found: Counter[tuple[str, str]] = Counter()
        for line in lines:
            self._take(line, found)
        counted = found if self._is_counting else Counter()
        self._is_counting = self._is_counting or is_caught_up
        changes = tuple((code, result, times) for (code, result), times in sorted(counted.items()))
        return JournalCounts(new_changes=changes, open_entries=len(self._open))

    def _new_lines(self) -> tuple[list[bytes], bool]:
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            if self._inode != _NO_FILE_YET:
                self._follow(_FILE_IS_GONE)
            return [], True
        if status.st_ino != self._inode or status.st_size < self._offset:
            self._follow(status.st_ino)
        if status.st_size == self._offset:
            return [], True
        with open(self._path, "rb") as file:
            file.seek(self._offset)
            came = file.read(MOST_BYTES)
        self._offset += len(came)
        *lines, self._rest = (self._rest + came).split(b"\n")
        return lines, self._offset >= status.st_size

    def _follow(self, inode: int) -> None:
        """Continue at the beginning of another file.

        If the new file replaces an earlier file, do not count the changes that the new file has now. Some of them may
        have been counted in the earlier file.
        """
        self._is_counting = self._is_counting and self._inode == _NO_FILE_YET
        self._inode, self._offset, self._rest = inode, 0, b""
        self._open.clear()

    def _take(self, line: bytes, found: Counter[tuple[str, str]]) -> None:
        try:
            row = json.loads(line)
            entry_id = row["id"]
            if row["line"] == "change":
                # The command heal writes a finding's code, and the command undo writes which entry it undoes. The
                # command adopt writes neither.
                self._open[entry_id] = "undo" if row.get("undoes") else str(row.get("code") or "adopt")
            elif row["line"] == "outcome" and (code := self._open.pop(entry_id, None)):
                found[code, str(row["result"])] += 1
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            return
