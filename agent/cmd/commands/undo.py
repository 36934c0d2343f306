"""``stocktake undo``: put back what an entry of the journal changed, or say why that must not be."""

from __future__ import annotations

import argparse

from agent.cmd.commands.base import DocumentCommand
from agent.usage_error import UsageError


class Undo(DocumentCommand):
    """Put back exactly what stood before an entry of the journal; that is an entry of its own."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Arguments of the command."""
        parser = super().get_parser(prog_name)
        parser.add_argument("entry", metavar="ENTRY", help="the entry's id, or how it begins (stocktake journal)")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """0 when it was put back, 5 when it must not be, 2 when Placement or the state source was out of reach."""
        from agent.cmd.undo_run import code_of, undo_document, undone
        from agent.healing.undo import NotFound

        found = undone(self.app.options, parsed_args.entry)
        if isinstance(found, NotFound):
            raise UsageError(found.words)
        by = f" [entry {found.outcome.entry_id}]" if found.outcome.entry_id else ""
        lines = (f"undo of {found.entry.id}: {found.outcome.result.value}: {found.outcome.words}{by}",)
        self.answer(parsed_args.format, lines, undo_document(found))
        return code_of(found)
