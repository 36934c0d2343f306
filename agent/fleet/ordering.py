"""Choose the rows that ``watch`` shows, and their order. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from agent.fleet.conditions import QUIET, RANKS
from agent.fleet.view import HostRow

#: The sort key of an unknown amount, which sorts after all known amounts.
_UNKNOWN = float("inf")
_SHOWN = ("VCPU", "MEMORY_MB", "DISK_GB")
#: The fields that a word of the filter may name before a colon, as in ``sev:error``.
FIELDS = ("sev", "code", "group", "cell")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which hosts the operator wants to see, and in which order.

    ``sort`` is a key of SORTS. ``words`` are the words of the filter: a host is shown only if all words match it.
    ``with_quiet``: also show hosts in the conditions CLEAN and AWAITED (conditions.py).
    """

    sort: str = "worst"
    words: tuple[str, ...] = ()
    with_quiet: bool = False


def chosen(rows: Iterable[HostRow], choice: Choice) -> list[HostRow]:
    """Return the hosts that the operator wants to see, in the order that the operator wants."""
    matching = [row for row in rows if choice.with_quiet or row.condition not in QUIET]
    if choice.words:
        words = [word.lower() for word in choice.words]
        matching = [row for row in matching if all(_matches(row, word) for word in words)]
    return sorted(matching, key=SORTS[choice.sort])


def next_sort(sort: str) -> str:
    """Return the key of SORTS that follows ``sort``; after the last key, return the first key."""
    names = list(SORTS)
    return names[(names.index(sort) + 1) % len(names)]


def _matches(row: HostRow, word: str) -> bool:
    field, separator, value = word.partition(":")
    if not separator or field not in FIELDS:
        return word in row.host.lower() or any(word in code for code in _codes(row))
    if field == "sev":
        return value == row.condition.value or value in _severities(row)
    if field == "code":
        return value in _codes(row)
    return value == (row.group if field == "group" else row.cell).lower()


def _codes(row: HostRow) -> list[str]:
    return [code.lower() for code, number in (row.seen.findings if row.seen else None) or () if number]


def _severities(row: HostRow) -> list[str]:
    return [name for name, number in (row.seen.severities if row.seen else None) or () if number]


def _by_name(row: HostRow) -> tuple[Any, ...]:
    return row.host, row.cell


def _worst_first(row: HostRow) -> tuple[Any, ...]:
    return RANKS[row.condition], -(row.for_s or 0.0), row.host, row.cell


def _oldest_message_first(row: HostRow) -> tuple[Any, ...]:
    return -(_UNKNOWN if row.age_s is None else row.age_s), row.host, row.cell


def _most_leaked_first(row: HostRow) -> tuple[Any, ...]:
    leaked = row.seen.leaked if row.seen else None
    if leaked is None:
        return 1, 0, 0, 0, 0, row.host, row.cell
    amounts = dict(leaked)
    others = sum(amount for name, amount in leaked if name not in _SHOWN)
    return 0, *(-amounts.get(name, 0) for name in _SHOWN), -others, row.host, row.cell


def _least_free_first(row: HostRow) -> tuple[Any, ...]:
    free = (row.seen.amount(name) if row.seen else None for name in _SHOWN)
    return *(_UNKNOWN if each is None or each.free is None else each.free for each in free), row.host, row.cell


#: The sort keys by name, in the order in which the operator selects them by pressing ``s``.
SORTS: Mapping[str, Callable[[HostRow], tuple[Any, ...]]] = MappingProxyType(
    {
        "worst": _worst_first,
        "host": _by_name,
        "age": _oldest_message_first,
        "leaked": _most_leaked_first,
        "free": _least_free_first,
    }
)
