"""``stocktake undo``: restore the state before a journal entry, or report why it must not be restored."""

from __future__ import annotations

import argparse

from agent.cmd.commands.base import DocumentCommand, argument
from agent.usage_error import UsageError


class Undo(DocumentCommand):
    """Undo an entry of the journal: restore exactly the values before it. The undo is a journal entry too."""

    ARGUMENTS = (
        argument("entry", metavar="ENTRY", help="the entry's id, or the beginning of the id (see stocktake journal)"),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Return the exit code: 0 undone, 2 Placement or the state source was unreachable, 5 refused.

        Raises UsageError if no entry has this id.
        """
        from agent.cmd.undo_run import code_of, undo_document, undone
        from agent.healing.undo import NotFound

        found = undone(self.app.options, parsed_args.entry)
        if isinstance(found, NotFound):
            raise UsageError(found.words)
        undo_entry = f" [entry {found.outcome.entry_id}]" if found.outcome.entry_id else ""
        lines = (f"undo of entry {found.entry.id}: {found.outcome.result.value}: {found.outcome.words}{undo_entry}",)
        self.answer(parsed_args.format, lines, undo_document(found))
        return code_of(found)
