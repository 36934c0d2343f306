"""Decide which of the conditions for ``stocktake watch --once --fail-on`` hold. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Iterable

from agent.fleet.conditions import Condition
from agent.fleet.host import HostSeen
from agent.fleet.view import HostRow

#: The words that ``--fail-on`` accepts.
FAIL_ON = ("error", "warning", "partial", "silent", "never", "held-back")


def holding(rows: Iterable[HostRow]) -> frozenset[str]:
    """Return the conditions of FAIL_ON that hold for at least one host.

    For a silent host, ``silent`` holds, and also the conditions that its last message meets.
    """
    held: set[str] = set()
    for row in rows:
        if row.condition in (Condition.NEVER, Condition.SILENT):
            held.add(row.condition.value)
        if row.seen is not None:
            held |= _told_words(row.seen)
    return frozenset(held)


def _told_words(seen: HostSeen) -> set[str]:
    numbers = dict(seen.severities or ())
    held = {severity for severity in ("error", "warning") if numbers.get(severity)}
    if seen.told in (Condition.CRASHED, Condition.REFUSED):
        held.add("error")
    if seen.told is Condition.UNRATED:
        held.add("warning")
    if seen.outcome in ("partial", "unreadable") or seen.sources_lost:
        held.add("partial")
    if seen.held_back:
        held.add("held-back")
    return held
