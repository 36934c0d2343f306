"""``stocktake config show``: the value of every option and the file that sets it, with secrets masked."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from agent.cmd.commands.base import ListCommand, Listing, Row, terminal_width

#: The minimum width of the value column, even on a narrow terminal.
NARROWEST = 24
#: The width of the borders and blanks around the four cells of a line.
BORDERS = 13


class ConfigShow(ListCommand):
    """Print the value of every option, and the file that sets it."""

    COLUMNS = ("group", "option", "value", "origin")

    def listing(self, parsed_args: argparse.Namespace) -> tuple[Listing, int]:  # noqa: ARG002 - the base's
        """Return one row per option. Raises ConfigError if a file or a value cannot be read."""
        from agent.config.load import load
        from agent.exit_codes import CLEAN

        loaded = load(self.app.options.config_file, self.app.options.config_dir)
        rows = tuple(tuple(row) for row in loaded.rows())
        return Listing(self.COLUMNS, rows, self.COLUMNS, _people(rows, terminal_width())), CLEAN


def _people(rows: Sequence[Row], width: int) -> tuple[Row, ...]:
    """Return the rows with long values wrapped, so that the table fits the terminal if possible."""
    widest = sum(max((len(row[column]) for row in rows), default=0) for column in (0, 1, 3))
    room = max(NARROWEST, width - widest - BORDERS)
    return tuple((group, option, _folded(value, room), origin) for group, option, value, origin in rows)


def _folded(value: str, room: int) -> str:
    import textwrap

    from agent.text.wording import printable

    text = printable(value)
    if len(text) <= room:
        return text
    # oslo prints lists without blanks. Add a blank after each comma, so that textwrap does not break inside a name.
    return "\n".join(textwrap.wrap(text.replace(",", ", "), room, break_on_hyphens=False))
