"""Provide the base classes of the commands. A command prints a document or a list, as text or as JSON.

stdout has only the document or list. A command that has no document to print raises an error
(agent/cmd/command_line/failures.py). With ``-f json``, an error object then takes the document's place.
cliff searches all installed Python packages for output formats. The base classes avoid this search, because it takes
longer than a whole ``stocktake status``. rich is imported only to draw text for people.
"""

from __future__ import annotations

import argparse
import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from cliff.display import DisplayCommandBase
from cliff.formatters.base import ListFormatter
from cliff.formatters.commaseparated import CSVLister
from cliff.formatters.json_format import JSONFormatter
from cliff.formatters.value import ValueFormatter
from cliff.formatters.yaml_format import YAMLFormatter
from cliff.lister import Lister

from agent.cmd.command_line.parser import ParserOwner
from agent.cmd.naming.prefixes import LEAST
from agent.cmd.table_format import TableFormatter
from agent.cmd.terminal import look_of, wrapping_width
from agent.render.cells import flat_cell, for_sorting
from agent.render.layout import Block, Grid, Look
from agent.usage_error import UsageError

TEXT = "text"
JSON = "json"
TABLE = "table"
VALUE = "value"
# Scripts read these formats line by line. The formats cannot express null or a list, and cliff does not escape values
# for them. So this module converts the values to texts and escapes them.
FLAT = ("csv", VALUE)
Row = Sequence[Any]


class Listing(NamedTuple):
    """The columns and rows of a list. A value that is not known is None.

    ``people`` has the same rows in the same order in a short form for a terminal. ``foot`` has the lines below the
    table.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    people: Grid
    foot: tuple[Block, ...] = ()


# The positional and keyword parameters of a call of ``ArgumentParser.add_argument``.
Argument = tuple[tuple[str, ...], Mapping[str, Any]]


def argument(*names: str, **options: Any) -> Argument:  # noqa: ANN401 - argparse's own
    """Return one item of a command's ``ARGUMENTS``: the parameters of a call of ``ArgumentParser.add_argument``."""
    return names, options


class BaseCommand(ParserOwner):
    """A command of ``stocktake``; its parser accepts the arguments in ``ARGUMENTS``."""

    ARGUMENTS: tuple[Argument, ...] = ()

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser with the arguments of the command."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        for names, options in self.ARGUMENTS:
            parser.add_argument(*names, **options)
        return parser

    def draw(self, blocks: Iterable[Block], max_width: int | None = None) -> None:
        """Print lines and tables for people; ``max_width`` replaces the terminal's width."""
        from agent.render.draw import drawn

        self.app.stdout.write(drawn(blocks, self.look(max_width)))

    def look(self, max_width: int | None = None) -> Look:
        """Return what stdout can show (width, colours, encoding); ``max_width`` replaces the terminal's width."""
        return look_of(self.app.stdout, self.app.options, max_width)

    def wrapping_width(self) -> int:
        """Return the width in columns for a text that the command wraps; a very large number if stdout is a pipe."""
        return wrapping_width(self.app.stdout)


class DocumentCommand(BaseCommand):
    """A command that prints one document: text for people, or JSON with ``-f json``."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser with ``-f`` and the arguments of the command."""
        parser = super().get_parser(prog_name)
        what = "text for people (the default), or one JSON object"
        parser.add_argument("-f", "--format", choices=(TEXT, JSON), default=TEXT, help=what)
        return parser

    def answer(self, form: str, blocks: Iterable[Block], document: Mapping[str, Any]) -> None:
        """Print ``document`` if ``form`` is JSON, else the text of the blocks."""
        if form == JSON:
            self.app.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")
        else:
            self.draw(blocks)


class _Formatter(NamedTuple):
    name: str
    obj: ListFormatter


FORMATTERS: Mapping[str, ListFormatter] = {
    "csv": CSVLister(),
    "json": JSONFormatter(),
    TABLE: TableFormatter(),
    VALUE: ValueFormatter(),
    "yaml": YAMLFormatter(),
}


class _Formatters(tuple[_Formatter, ...]):
    """cliff's list formatters, without cliff's slow search for formatters in all installed packages."""

    __slots__ = ()

    def names(self) -> list[str]:
        return [each.name for each in self]


class ListCommand(BaseCommand, Lister, DisplayCommandBase, ParserOwner):  # type: ignore[type-arg]  # not generic in older cliff
    """A command that prints rows in one of cliff's formats. ``-f json`` prints only the list of rows.

    The table shows the rows in a shorter form with units, unless the operator selects columns.
    """

    COLUMNS: tuple[str, ...] = ()
    #: Maps the heading of a column in the table to the column's name, for each column where they differ. The operator
    #: may use either of them with ``-c``.
    HEADINGS: Mapping[str, str] = MappingProxyType({})

    def _load_formatter_plugins(self) -> Any:  # noqa: ANN401 - stands for stevedore's manager
        return _Formatters(_Formatter(*item) for item in FORMATTERS.items())

    def columns(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:  # noqa: ARG002 - for subclasses
        """Return the columns that the list has with these arguments."""
        return self.COLUMNS

    @abstractmethod
    def listing(self, parsed_args: argparse.Namespace) -> tuple[Listing, int]:
        """Return the listing and the exit code. Raises NoDocument if not enough sources could be read."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Row]]:
        """Return all columns and rows. cliff requires this method, but ``run`` of this class does not call it."""
        found, _ = self.listing(parsed_args)
        return found.columns, found.rows

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Print the list and return the exit code. Raises UsageError on an unknown column."""
        headings = self._headings_of(parsed_args)
        self._know_columns(parsed_args)
        found, code = self.listing(parsed_args)
        order = self._order(found, parsed_args)
        rows = tuple(found.rows[place] for place in order)
        if parsed_args.formatter == TABLE and not parsed_args.columns:
            self._for_people(found, order, parsed_args)
            return code
        is_table = parsed_args.formatter == TABLE
        self.formatter = (
            TableFormatter(self.look(parsed_args.max_width), headings)
            if is_table
            else FORMATTERS[parsed_args.formatter]
        )
        self.produce_output(parsed_args, found.columns, _flat(rows) if parsed_args.formatter in FLAT else rows)
        if is_table:
            self.draw(found.foot, parsed_args.max_width)
        return code

    @property
    def need_sort_by_cliff(self) -> bool:
        """Always False: this class sorts the rows, because cliff cannot sort a column with empty cells and numbers."""
        return False

    def _for_people(self, found: Listing, order: Sequence[int], parsed_args: argparse.Namespace) -> None:
        """Print the table that is meant for people, and the text below the table."""
        rows = tuple(found.people.rows[place] for place in order)
        grids = [replace(found.people, rows=rows)] if rows or parsed_args.print_empty else []
        self.draw([*grids, *found.foot], parsed_args.max_width)

    def _order(self, found: Listing, parsed_args: argparse.Namespace) -> list[int]:
        """Return the rows' indexes in the order of --sort-column; rows without a value come last, as in cliff."""
        order = list(range(len(found.rows)))
        for name in reversed(parsed_args.sort_columns):
            column = found.columns.index(name)
            cells = [row[column] for row in found.rows]
            order.sort(key=lambda place: for_sorting(cells[place]), reverse=parsed_args.sort_direction == "desc")
        return order

    def _know_columns(self, parsed_args: argparse.Namespace) -> None:
        """Replace typed column names, in any letter case, by the real names.

        Raises UsageError for an unknown column.
        """
        columns = self.columns(parsed_args)
        asked = [*parsed_args.columns, *parsed_args.sort_columns]
        unknown = [name for name in asked if self._column(name, columns) not in columns]
        if unknown:
            raise UsageError(f"unknown column {', '.join(unknown)}; the columns are {', '.join(columns)}")
        parsed_args.columns = [self._column(name, columns) for name in parsed_args.columns]
        parsed_args.sort_columns = [self._column(name, columns) for name in parsed_args.sort_columns]

    def _headings_of(self, parsed_args: argparse.Namespace) -> dict[str, str]:
        """Return {column: heading} for each heading that the operator typed after ``-c``. The table prints the heading.

        A column's name after ``-c`` is no heading.
        """
        columns = self.columns(parsed_args)
        named = {typed: self._column(typed, columns) for typed in parsed_args.columns}
        return {
            name: typed.strip().upper()
            for typed, name in named.items()
            if name != typed.strip().lower().replace(" ", "_")
        }

    def _column(self, typed: str, columns: Sequence[str]) -> str:
        """Return the column's name for a typed name or heading; a word that is neither stays as it is."""
        name = typed.strip().lower().replace(" ", "_")
        return name if name in columns else self.HEADINGS.get(name, name)


#: The arguments with which an operator approves a plan.
APPROVAL = (
    argument(
        "--plan",
        metavar="DIGEST",
        help="the digest of the printed plan, at least its first 8 characters; only together with --yes",
    ),
    argument("--yes", action="store_true", help="carry out the printed plan, if --plan has its digest"),
)


def approved_digest(parsed_args: argparse.Namespace) -> str | None:
    """Return the approved plan's digest or the beginning of the digest; None if the operator approves no plan.

    Raises UsageError if only one of --plan and --yes is given, or if the beginning is too short.
    """
    digest: str | None = parsed_args.plan
    if parsed_args.yes != (digest is not None):
        raise UsageError("--plan DIGEST and --yes go together: print the plan first, then pass its digest")
    if digest is not None and len(digest) < LEAST:
        raise UsageError(f"--plan {digest}: the beginning of a digest needs at least {LEAST} characters")
    return digest


def _flat(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return the rows for a flat format: control characters in texts are escaped, an unknown value is an empty text."""
    return tuple(tuple(flat_cell(cell) for cell in row) for row in rows)
