"""``stocktake undo``: revert the change in a journal entry, or report why the change must not be reverted."""

from __future__ import annotations

import argparse

from agent.cmd.commands.base import DocumentCommand, argument


class Undo(DocumentCommand):
    """Undo the change in a journal entry: restore exactly the old values. The undo gets an entry too."""

    ARGUMENTS = (
        argument(
            "entry", metavar="ENTRY", help="the entry's id, or at least its first 4 characters (see stocktake journal)"
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Return the exit code: 0 undone, 2 Placement or the state source was unreachable, 5 refused.

        Raises UsageError if no entry has this id.
        """
        from agent.cmd.changes.undo_run import code_of, undo_document, undone

        found = undone(self.app.options, parsed_args.entry)
        undo_entry = f" [entry {found.outcome.entry_id}]" if found.outcome.entry_id else ""
        lines = (f"undo of entry {found.entry.id}: {found.outcome.result.value}: {found.outcome.words}{undo_entry}",)
        self.answer(parsed_args.format, lines, undo_document(found))
        return code_of(found)
