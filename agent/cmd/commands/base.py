"""Provide the base classes of the commands, which print a document or a list for people and for programs.

stdout has only the document or list. A command without a document raises an error (agent/cmd/command_line/failures.py);
with ``-f json`` an error object takes the document's place. cliff itself scans the installed distributions for
formatters and for the epilog of the help. The base classes avoid these scans, which would take longer than a whole
``stocktake status``.
"""

from __future__ import annotations

import argparse
import json
import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cliff.display import DisplayCommandBase
from cliff.formatters.base import ListFormatter
from cliff.formatters.commaseparated import CSVLister
from cliff.formatters.json_format import JSONFormatter
from cliff.formatters.table import TableFormatter
from cliff.formatters.value import ValueFormatter
from cliff.formatters.yaml_format import YAMLFormatter
from cliff.lister import Lister

from agent.cmd.command_line.parser import ParserOwner
from agent.text.wording import printable
from agent.usage_error import UsageError

TEXT = "text"
JSON = "json"
TABLE = "table"
VALUE = "value"
# People and scripts read these formats line by line, so the commands escape line ends in cells. The other formats have
# their own escapes.
FOR_EYES = (TABLE, VALUE)
Row = Sequence[Any]


class Listing(NamedTuple):
    """The columns and rows of a list. ``people_columns`` and ``people_rows`` are the short form for a terminal.

    ``foot`` are the lines below the table. A cell for people may contain line ends; the caller must pass names in such
    a cell through ``printable``.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    people_columns: tuple[str, ...]
    people_rows: tuple[Row, ...]
    foot: tuple[str, ...] = ()


# Names and options of an argument, for ``ArgumentParser.add_argument``.
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


class DocumentCommand(BaseCommand):
    """A command that prints one document: text for people, or JSON with ``-f json``."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser with ``-f`` and the arguments of the command."""
        parser = super().get_parser(prog_name)
        what = "text for people (the default), or one JSON object"
        parser.add_argument("-f", "--format", choices=(TEXT, JSON), default=TEXT, help=what)
        return parser

    def answer(self, form: str, lines: Sequence[str], document: Mapping[str, Any]) -> None:
        """Print ``document`` if ``form`` is JSON, else ``lines``."""
        if form == JSON:
            self.app.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")
        else:
            self.app.stdout.write("".join(f"{printable(line)}\n" for line in lines))


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
    """cliff's list formatters, loaded without cliff's scan of distributions."""

    __slots__ = ()

    def names(self) -> list[str]:
        return [each.name for each in self]


class ListCommand(BaseCommand, Lister, DisplayCommandBase, ParserOwner):  # type: ignore[type-arg]  # not generic in older cliff
    """A command that prints rows in cliff's formats; ``-f json`` prints a bare list.

    The table format prints ``people_rows``, a short form with units, unless the operator selects or sorts columns.
    """

    COLUMNS: tuple[str, ...] = ()

    def _load_formatter_plugins(self) -> Any:  # noqa: ANN401 - stands for stevedore's manager
        return _Formatters(_Formatter(*item) for item in FORMATTERS.items())

    def columns(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:  # noqa: ARG002 - for subclasses
        """Return the columns that the list has with these arguments."""
        return self.COLUMNS

    @abstractmethod
    def listing(self, parsed_args: argparse.Namespace) -> tuple[Listing, int]:
        """Return the listing and the exit code. Raises NoDocument if too little could be read."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Row]]:
        """Return all columns and rows. cliff requires this method, but ``run`` of this class does not call it."""
        found, _ = self.listing(parsed_args)
        return found.columns, found.rows

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Print the list and return the exit code. Raises UsageError on an unknown column."""
        self._refuse_unknown_columns(parsed_args)
        found, code = self.listing(parsed_args)
        self.formatter = FORMATTERS[parsed_args.formatter]
        if parsed_args.formatter not in FOR_EYES:
            self.produce_output(parsed_args, found.columns, found.rows)
        elif parsed_args.formatter == VALUE or parsed_args.columns or parsed_args.sort_columns:
            self.produce_output(parsed_args, found.columns, _on_one_line(found.rows))
        elif found.people_rows:
            self.produce_output(parsed_args, found.people_columns, found.people_rows)
        if parsed_args.formatter == TABLE:
            self.app.stdout.write("".join(f"{printable(line)}\n" for line in found.foot))
        return code

    def _refuse_unknown_columns(self, parsed_args: argparse.Namespace) -> None:
        columns = self.columns(parsed_args)
        known = {self._normalize_column_name(name) for name in columns}
        asked = [*parsed_args.columns, *parsed_args.sort_columns]
        unknown = [name for name in asked if self._normalize_column_name(name) not in known]
        if unknown:
            raise UsageError(f"unknown column {', '.join(unknown)}; the columns are {', '.join(columns)}")


#: The arguments with which an operator approves a plan.
APPROVAL = (
    argument("--plan", metavar="DIGEST", help="the digest of the printed plan; only together with --yes"),
    argument("--yes", action="store_true", help="carry out exactly the plan with this digest"),
)


def approved_digest(parsed_args: argparse.Namespace) -> str | None:
    """Return the digest of the approved plan, or None. Raises UsageError if only one of --plan and --yes is given."""
    if parsed_args.yes != (parsed_args.plan is not None):
        raise UsageError("--plan DIGEST and --yes go together: print the plan first, then pass its digest")
    digest: str | None = parsed_args.plan
    return digest


def _on_one_line(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return the rows with control characters, including line ends, escaped in every cell."""
    return tuple(tuple(printable(cell) if isinstance(cell, str) else cell for cell in row) for row in rows)


def terminal_width() -> int:
    """Return $COLUMNS, or else the terminal's width; 120 if stdout is not a terminal."""
    import shutil

    return shutil.get_terminal_size((120 if not sys.stdout.isatty() else 80, 24)).columns
