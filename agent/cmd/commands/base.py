"""What the commands share: how a document, and how a list, is printed for people and for programs.

stdout is the answer and nothing else. cliff's scans of installed distributions
(formatters, the epilog of help) are left out: they cost more than a whole ``status``.
"""

from __future__ import annotations

import argparse
import json
import sys
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cliff.command import Command
from cliff.formatters.base import ListFormatter
from cliff.formatters.commaseparated import CSVLister
from cliff.formatters.json_format import JSONFormatter
from cliff.formatters.table import TableFormatter
from cliff.formatters.value import ValueFormatter
from cliff.formatters.yaml_format import YAMLFormatter
from cliff.lister import Lister

from agent.text.wording import printable
from agent.usage_error import UsageError

TEXT = "text"
JSON = "json"
TABLE = "table"
VALUE = "value"
# These are read line by line, or off a terminal; the others have an escape for every character.
FOR_EYES = (TABLE, VALUE)
Row = Sequence[Any]


class Listing(NamedTuple):
    """Columns and rows. ``people`` is the short form for a terminal; ``foot`` are lines below its table.

    A cell for people may have line ends; names in it must have been made ``printable``.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    people_columns: tuple[str, ...]
    people_rows: tuple[Row, ...]
    foot: tuple[str, ...] = ()


class DocumentCommand(Command):
    """A command that answers with one document: text for people, or ``-f json``."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Arguments of the command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "-f", "--format", choices=(TEXT, JSON), default=TEXT, help="text for people (the default), or one object"
        )
        return parser

    def get_epilog(self) -> str:
        """Nothing; cliff would scan every distribution."""
        return ""

    def answer(self, form: str, lines: Sequence[str], document: Mapping[str, Any]) -> None:
        """Print the one or the other."""
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


class _Formatters:
    """cliff's formatters of lists, by name, without the scan that usually finds them."""

    def __init__(self, formatters: Mapping[str, ListFormatter]) -> None:
        self._formatters = formatters

    def names(self) -> list[str]:
        return list(self._formatters)

    def __getitem__(self, name: str) -> _Formatter:
        return _Formatter(name, self._formatters[name])

    def __iter__(self) -> Iterator[_Formatter]:
        return (_Formatter(*item) for item in self._formatters.items())


class ListCommand(Lister):
    """A command that answers with rows, in cliff's formats; ``-f json`` is a bare list.

    A terminal gets a shorter table with units, unless columns or an order are asked for.
    """

    COLUMNS: tuple[str, ...] = ()

    def _load_formatter_plugins(self) -> Any:  # noqa: ANN401 - stands for stevedore's manager
        return _Formatters(FORMATTERS)

    def get_epilog(self) -> str:
        """Nothing; cliff would scan every distribution."""
        return ""

    def columns(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:  # noqa: ARG002 - for those that choose
        """The columns that there are with these arguments."""
        return self.COLUMNS

    @abstractmethod
    def listing(self, parsed_args: argparse.Namespace) -> tuple[Listing | None, int]:
        """What to print, None where there is nothing to print from, and the exit code."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Row]]:
        """The rows as programs get them."""
        found, _ = self.listing(parsed_args)
        return (found.columns, found.rows) if found else (self.COLUMNS, ())

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Print the list; gives the exit code."""
        self._refuse_unknown_columns(parsed_args)
        found, code = self.listing(parsed_args)
        if found is None:
            return code
        self.formatter = FORMATTERS[parsed_args.formatter]
        if parsed_args.formatter not in FOR_EYES:
            self.produce_output(parsed_args, found.columns, found.rows)
        elif parsed_args.formatter == VALUE or parsed_args.columns or parsed_args.sort_columns:
            self.produce_output(parsed_args, found.columns, _on_one_line(found.rows))
            self._foot(parsed_args, found)
        else:
            self._table(parsed_args, found)
            self._foot(parsed_args, found)
        return code

    def _table(self, parsed_args: argparse.Namespace, found: Listing) -> None:
        if found.people_rows:
            self.produce_output(parsed_args, found.people_columns, found.people_rows)

    def _foot(self, parsed_args: argparse.Namespace, found: Listing) -> None:
        if parsed_args.formatter == TABLE:
            self.app.stdout.write("".join(f"{printable(line)}\n" for line in found.foot))

    def _refuse_unknown_columns(self, parsed_args: argparse.Namespace) -> None:
        columns = self.columns(parsed_args)
        known = {self._normalize_column_name(name) for name in columns}
        asked = [*parsed_args.columns, *parsed_args.sort_columns]
        unknown = [name for name in asked if self._normalize_column_name(name) not in known]
        if unknown:
            raise UsageError(f"no column {', '.join(unknown)}; there are {', '.join(columns)}")


def _on_one_line(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Cells without control characters, line ends included."""
    return tuple(tuple(printable(cell) if isinstance(cell, str) else cell for cell in row) for row in rows)


def terminal_width() -> int:
    """Columns of the terminal, or of $COLUMNS; 120 where there is none."""
    import shutil

    return shutil.get_terminal_size((120 if not sys.stdout.isatty() else 80, 24)).columns
