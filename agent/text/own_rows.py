"""Read the rows of a file that the agent itself wrote, each row by itself, and say what is wrong with the others.

What surprises: such a file may come from a newer or an older program, from a disk that
lost a block, or from an editor. A bad row costs itself and no other row. A number is a
whole number from 0 to 2^63 - 1, a time is ISO 8601 UTC: arithmetic on anything else raises.
"""

from __future__ import annotations

import datetime
import json
import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from agent.text.numbers import whole

T = TypeVar("T")

#: A plain JSON value.
Json = Any

# So many digits are read as a number at all: Python refuses 4301 of them for the whole file.
_MOST_DIGITS = 19
_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|\+00:00)", re.ASCII)
# So many problems are worth their own sentence.
_NAMED = 5
# So much of a bad value is shown.
_SHOWN = 60
# Our documents have ten levels; copying and printing run out of stack at 500.
_MOST_LEVELS = 64
TOO_DEEP = "nested too deep"


class BadRow(ValueError):
    """What is wrong with one row, or with a file as a whole; never leaves the module that reads the file."""


@dataclass(frozen=True, slots=True)
class Rows(Generic[T]):
    """The rows that can be used, in the order of the file, and one sentence for each row that cannot."""

    good: tuple[T, ...] = ()
    problems: tuple[str, ...] = ()


def parse(text: str) -> Json:
    """The JSON value of a text; a number of too many digits stays a text, so that only its own row is bad.

    Raises BadRow where the text as a whole is no JSON.
    """
    try:
        return json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise BadRow("not a JSON document") from error


def read_rows(name: str, rows: Json, read: Callable[[Json], T]) -> Rows[T]:
    """Every row of the list ``name`` that ``read`` takes; ``read`` raises BadRow for the others."""
    if not isinstance(rows, list):
        return Rows(problems=(f"{name} is not a list",))
    good: list[T] = []
    problems: list[str] = []
    for number, row in enumerate(rows):
        try:
            good.append(read(row))
        except BadRow as error:
            problems.append(f"{name}[{number}]: {error}")
    return Rows(tuple(good), tuple(problems))


def without_repeats(name: str, rows: Rows[T], key: Callable[[T], str]) -> Rows[T]:
    """The rows with the first of each key; a repeated key is a problem too."""
    first: dict[str, T] = {}
    repeated = [key(row) for row in rows.good if first.setdefault(key(row), row) is not row]
    return Rows(tuple(first.values()), (*rows.problems, *(f"{name}: repeats {one!r:.{_SHOWN}}" for one in repeated)))


def text_of(row: Json, name: str | int) -> str:
    """The text at that place. Raises BadRow."""
    value = _at(row, name)
    if not isinstance(value, str):
        raise BadRow(f"{name} is no text: {_shown(value)}")
    return value


def utc_time_of(row: Json, name: str) -> str:
    """The time at that place, as it is written. Raises BadRow where it is not ISO 8601 UTC."""
    value = _at(row, name)
    if not is_utc_time(value):
        raise BadRow(f"{name} is no ISO 8601 UTC time: {_shown(value)}")
    return str(value)


def uuid_of(row: Json, name: str | int) -> str:
    """The uuid at that place, as it is written. Raises BadRow."""
    value = text_of(row, name)
    try:
        uuid.UUID(value)
    except ValueError as error:
        raise BadRow(f"{name} is no uuid: {_shown(value)}") from error
    return value


def count_of(row: Json, name: str | int) -> int:
    """The whole number at that place. Raises BadRow where it is below 0 or above 2^63 - 1, or no whole number."""
    value = _at(row, name)
    number = whole(value)
    if number is None or number < 0:
        raise BadRow(f"{name} is no whole number from 0 to 2^63 - 1: {_shown(value)}")
    return number


def is_too_deep(document: Json) -> bool:
    """Whether it is nested deeper than any document of ours, so that whatever copies or prints it may fail."""
    level = [document]
    for _ in range(_MOST_LEVELS):
        level = [each for value in level for each in _members(value)]
        if not level:
            return False
    return True


def _members(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def is_utc_time(value: Json) -> bool:
    """Whether this is a text like ``2026-11-21T10:00:00.000Z``, of a moment that there is."""
    if not isinstance(value, str) or not _UTC.fullmatch(value):
        return False
    try:
        datetime.datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def in_few_words(problems: tuple[str, ...]) -> str:
    """The first problems, and how many more there are."""
    more = len(problems) - _NAMED
    return "; ".join(problems[:_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits.lstrip("-")) <= _MOST_DIGITS else digits


def _at(row: Json, name: str | int) -> Json:
    is_there = name in row if isinstance(row, dict) else isinstance(row, list) and name in range(len(row))
    if not is_there:
        raise BadRow(f"{name} is missing in {_shown(row)}")
    return row[name]


def _shown(value: Json) -> str:
    """The beginning of a value as JSON, in ASCII: it goes into one line of the log."""
    try:
        text = json.dumps(value)
    except RecursionError:
        # Written by a deeper call than the one that read it, where less of the stack is left.
        return TOO_DEEP
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
