"""Read the rows of a file that the agent itself wrote, each row by itself, and describe the rows that are invalid.

Even the agent's own file may be invalid: a newer or older program version wrote it, the disk lost a block, or an
operator edited it. An invalid row does not affect the other rows. A number must be a whole number from 0 to 2^63 - 1
and a time must be ISO 8601 UTC, because arithmetic on anything else raises.
"""

from __future__ import annotations

import datetime
import json
import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from agent.text.numbers import finite, whole

T = TypeVar("T")
E = TypeVar("E", bound=Enum)

#: A plain JSON value.
Json = Any

# The maximum number of digits of a number that is parsed. Longer numbers stay text: Python raises on a number of 4301
# digits, and the whole file would be unreadable.
_MOST_DIGITS = 19
_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|\+00:00)", re.ASCII)
# A message about invalid rows describes at most this number of problems one by one.
_NAMED = 5
# A message shows at most this number of characters of an invalid value.
_SHOWN = 60
# The maximum number of nested levels. The agent's own documents have at most ten levels. Copying or printing a document
# of 500 levels exhausts the stack.
_MOST_LEVELS = 64
TOO_DEEP = "nested too deep"


class BadRow(ValueError):
    """One row, or the whole file, is invalid. The module that reads the file catches this exception."""


@dataclass(frozen=True, slots=True)
class Rows(Generic[T]):
    """The valid rows, in the order of the file, and one sentence for each invalid row."""

    good: tuple[T, ...] = ()
    problems: tuple[str, ...] = ()


def parse(text: str) -> Json:
    """Return the JSON value of a text. Raises BadRow if the text is not JSON.

    A number with too many digits stays text, so that only its row becomes invalid. An error here would reject all rows.
    """
    try:
        return json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise BadRow("not a JSON document") from error


def read_rows(name: str, rows: Json, read: Callable[[Json], T]) -> Rows[T]:
    """Convert each row of the list with ``read``. If ``read`` raises BadRow, leave the row out and add a problem."""
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
    """Keep only the first of several valid rows that have the same key, and add a problem for each later row."""
    first: dict[str, T] = {}
    repeated = [key(row) for row in rows.good if first.setdefault(key(row), row) is not row]
    return Rows(tuple(first.values()), (*rows.problems, *(f"{name}: repeats {one!r:.{_SHOWN}}" for one in repeated)))


def text_of(row: Json, name: str | int) -> str:
    """Return the text in the field ``name``. Raises BadRow if the field is missing or is not text."""
    value = _at(row, name)
    if not isinstance(value, str):
        raise BadRow(f"{name} is not text: {_shown(value)}")
    return value


def utc_time_of(row: Json, name: str) -> str:
    """Return the time in the field ``name``, unchanged. Raises BadRow if it is not an ISO 8601 time in UTC."""
    value = _at(row, name)
    if not is_utc_time(value):
        raise BadRow(f"{name} is not an ISO 8601 UTC time: {_shown(value)}")
    return str(value)


def uuid_of(row: Json, name: str | int) -> str:
    """Return the uuid in the field ``name``, unchanged. Raises BadRow if it is not a uuid."""
    value = text_of(row, name)
    try:
        uuid.UUID(value)
    except ValueError as error:
        raise BadRow(f"{name} is not a uuid: {_shown(value)}") from error
    return value


def count_of(row: Json, name: str | int) -> int:
    """Return the whole number in the field ``name``. Raises BadRow if it is not a whole number from 0 to 2^63 - 1."""
    value = _at(row, name)
    number = whole(value)
    if number is None or number < 0:
        raise BadRow(f"{name} is not a whole number from 0 to 2^63 - 1: {_shown(value)}")
    return number


def object_of(value: Json) -> dict[str, Json]:
    """Return the value. Raises BadRow unless it is a JSON object."""
    if not isinstance(value, dict):
        raise BadRow(f"not an object: {_shown(value)}")
    return value


def list_of(value: Json, read: Callable[[Json], T]) -> tuple[T, ...]:
    """Return what ``read`` returns for each item. Raises BadRow if the value is not a list or an item is invalid."""
    if not isinstance(value, list):
        raise BadRow(f"not a list: {_shown(value)}")
    return tuple(read(each) for each in value)


def plain_text(value: Json) -> str:
    """Return the value. Raises BadRow unless it is text."""
    if not isinstance(value, str):
        raise BadRow(f"not text: {_shown(value)}")
    return value


def text_or_none(row: Json, name: str) -> str | None:
    """Return the text in the field ``name``, None if the field is missing or null. Raises BadRow on anything else."""
    return None if object_of(row).get(name) is None else text_of(row, name)


def member_of(kind: type[E], value: Json) -> E:
    """Return the member of the enumeration with this value. Raises BadRow if there is no such member."""
    found = next((member for member in kind if member.value == value), None)
    if found is None:
        raise BadRow(f"there is no {kind.__name__} {_shown(value)}")
    return found


def number_of(row: Json, name: str) -> float:
    """Return the number in the field ``name``. Raises BadRow if the field is missing or is not a finite number."""
    number = finite(_at(row, name))
    if number is None:
        raise BadRow(f"{name} is not a number: {_shown(row[name])}")
    return number


def amount_of(row: Json, name: str) -> int | None:
    """Return the whole number in the field ``name``, None if it is null. Raises BadRow on anything else."""
    value = _at(row, name)
    number = whole(value)
    if number is None and value is not None:
        raise BadRow(f"{name} is not a whole number: {_shown(value)}")
    return number


def is_too_deep(document: Json) -> bool:
    """Return whether the document has more nested levels than any document that the agent writes."""
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
    """Return whether the value is text like ``2026-11-21T10:00:00.000Z`` and names an existing date and time."""
    if not isinstance(value, str) or not _UTC.fullmatch(value):
        return False
    try:
        datetime.datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def in_few_words(problems: tuple[str, ...]) -> str:
    """Return the first problems in one line, with the number of further problems."""
    more = len(problems) - _NAMED
    return "; ".join(problems[:_NAMED]) + (f"; and {more} more problems" if more > 0 else "")


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits.lstrip("-")) <= _MOST_DIGITS else digits


def _at(row: Json, name: str | int) -> Json:
    is_there = name in row if isinstance(row, dict) else isinstance(row, list) and name in range(len(row))
    if not is_there:
        raise BadRow(f"{name} is missing in {_shown(row)}")
    return row[name]


def _shown(value: Json) -> str:
    """Return the beginning of a value as ASCII JSON, so that it fits into one log line."""
    try:
        text = json.dumps(value)
    except RecursionError:
        # json.dumps needs stack for each nested level. Less stack may be left here than when json.loads read the
        # value, so json.dumps may fail on a value that json.loads could read.
        return TOO_DEEP
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
