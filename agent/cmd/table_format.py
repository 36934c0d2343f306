"""Define the commands' list format ``table`` as a cliff formatter: a table without ruled lines, drawn with rich."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TextIO

from cliff.formatters.base import ListFormatter

from agent.render.cells import plain_grid
from agent.render.layout import PLAIN, Look


def _columns(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    raise argparse.ArgumentTypeError(f"{text} is not a whole number of characters (0 or more)")


class TableFormatter(ListFormatter):
    """The list format ``table``, which prints each value as plain text.

    ``look`` says what stdout can show: its width, colours and encoding. ``headings`` has the heading of each column
    whose heading differs from the column's name.
    """

    def __init__(self, look: Look = PLAIN, headings: Mapping[str, str] = MappingProxyType({})) -> None:
        self._look = look
        self._headings = headings

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of this format."""
        group = parser.add_argument_group(title="table formatter")
        group.add_argument(
            "--max-width",
            type=_columns,
            default=0,
            metavar="N",
            help="the table's width in characters (default: $COLUMNS or the terminal's width; in a pipe no limit)",
        )
        # The option has no effect, because a table always fits. Scripts may pass the option, which cliff's own
        # formatter has.
        group.add_argument("--fit-width", action="store_true", help=argparse.SUPPRESS)
        group.add_argument("--print-empty", action="store_true", help="print the header even if the table has no rows")

    def emit_list(
        self,
        column_names: Sequence[str],
        data: Iterable[Sequence[Any]],
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Write a table to ``stdout``. The table has the columns and rows that cliff has selected."""
        from agent.render.draw import drawn

        grid = plain_grid(column_names, data, self._headings)
        if grid.rows or parsed_args.print_empty:
            stdout.write(drawn([grid], self._look))
