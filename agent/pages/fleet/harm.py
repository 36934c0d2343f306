"""Sort the hosts by harm: a host whose resources are sold twice comes before every host that only has warnings.

``stocktake watch`` sorts by the condition of the host instead: there, a silent host comes first.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agent.fleet.conditions import RANKS, Condition
from agent.fleet.view import HostRow
from agent.pages.sizes import FIRST_CLASSES

#: A text that describes the order of ``by_harm``, for the captions of the page.
IN_WORDS = (
    "1. hosts with amounts sold twice (in use, but free in Placement), 2. hosts with errors or wasted amounts (largest "
    "amounts first), 3. hosts in an unknown state, 4. hosts with warnings"
)
#: The conditions of hosts whose state is unknown or only partly known.
NOT_KNOWN = frozenset({Condition.NEVER, Condition.SILENT, Condition.UNREADABLE, Condition.PARTIAL})
_BAD = frozenset({Condition.ERROR, Condition.CRASHED, Condition.REFUSED})
_CALM = frozenset({Condition.CLEAN, Condition.AWAITED})


def by_harm(rows: Iterable[HostRow]) -> list[HostRow]:
    """Return the rows in the order of ``IN_WORDS``: the worst hosts first, and equally bad hosts by name."""
    return sorted(rows, key=_place)


def is_calm(row: HostRow) -> bool:
    """Return whether the host needs no attention.

    Either its last audit found nothing, or its agent has just started and need not have sent a message yet. In both
    cases, none of the host's resources may be sold twice or wasted.
    """
    return row.condition in _CALM and not sold_twice_of(row) and not wasted_of(row)


def sold_twice_of(row: HostRow) -> Mapping[str, int]:
    """Return, for each class, the amount that is sold twice: it is in use, but Placement counts it as free.

    An instance without an allocation uses the amount, or a guest or volume that is unknown to nova and that no
    ``reserved`` amount covers.
    """
    if row.seen is None:
        return {}
    found: dict[str, int] = {}
    for name, amount in (*(row.seen.missing or ()), *(row.seen.uncovered or ())):
        if amount:
            found[name] = found.get(name, 0) + amount
    return found


def wasted_of(row: HostRow) -> Mapping[str, int]:
    """Return the host's wasted amounts by class: what Placement counts for consumers that use nothing.

    Zeros are left out.
    """
    return {name: amount for name, amount in (row.seen.leaked if row.seen else None) or () if amount}


def most_first(amounts: Mapping[str, int]) -> tuple[float, ...]:
    """Return a key that sorts the largest amounts first: by VCPU, PCPU, RAM and disk, then by the sum of all others."""
    others = sum(amount for name, amount in amounts.items() if name not in FIRST_CLASSES)
    return *(-amounts.get(name, 0) for name in FIRST_CLASSES), -others


def _place(row: HostRow) -> tuple[Any, ...]:
    sold, wasted = sold_twice_of(row), wasted_of(row)
    if sold:
        group = 0
    elif wasted or row.condition in _BAD:
        group = 1
    elif row.condition in NOT_KNOWN:
        group = 2
    else:
        group = 3
    # Sort hosts with equal amounts (sold twice and wasted) by name in every table of the page: ignore the condition.
    has_amounts = bool(sold or wasted)
    urgency = (0, 0, 0.0) if has_amounts else (RANKS[row.condition], -_errors(row), -(row.for_s or 0.0))
    return group, *most_first(sold), *most_first(wasted), *urgency, row.host, row.cell


def _errors(row: HostRow) -> int:
    return dict(row.seen.severities or ()).get("error", 0) if row.seen else 0
