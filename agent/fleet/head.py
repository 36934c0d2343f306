"""Make the lines above the table of hosts. Pure: no I/O.

The lines show nova's cells, how many hosts have errors, are silent and so on, and what is unknown.
"""

from __future__ import annotations

from agent.fleet.conditions import Condition
from agent.fleet.view import CellSeen, FleetView
from agent.fleet.words import amounts_text, clock
from agent.text.wording import printable

_FINDINGS = (Condition.ERROR, Condition.UNRATED, Condition.WARNING, Condition.INFO)
_WORDS = (
    (Condition.PARTIAL, "partial"),
    (Condition.UNREADABLE, "unreadable"),
    (Condition.REFUSED, "refused"),
    (Condition.CRASHED, "crashed"),
    (Condition.SILENT, "silent"),
    (Condition.NEVER, "never seen"),
    (Condition.AWAITED, "awaited"),
)


def title(view: FleetView) -> str:
    """Return the first line: the cells, the number of hosts, and the time in UTC."""
    names = [cell.name for cell in view.cells if cell.name]
    cells = f"{len(names)} cells" if len(names) > 1 else "".join(names)
    parts = ("Stocktake fleet", cells, _hosts(view), view.moment.at.strftime("%Y-%m-%d %H:%M:%S UTC"))
    return "  ".join(part for part in parts if part)


def problems(view: FleetView) -> tuple[str, ...]:
    """Return one line for each unreachable broker, and one for each list of expected hosts that could not be read."""
    away = tuple(_away(cell, view) for cell in view.cells if cell.away)
    lists = tuple(f"the list of expected hosts was not read: {printable(problem)}" for problem in view.problems)
    odd, left_out = (sum(getattr(cell, name) for cell in view.cells) for name in ("odd", "left_out"))
    more = []
    if odd:
        more.append(f"{_number(odd, 'host sends', 'hosts send')} messages that this program cannot read")
    if left_out:
        more.append(f"{_number(left_out, 'host is', 'hosts are')} left out: too many hosts for this program")
    return (*away, *lists, *more)


def counts(view: FleetView) -> str:
    """Return the number of hosts in each condition, as text: ``794 clean, 3 findings, 1 partial, 2 never seen``."""
    found = sum(view.counts[condition] for condition in _FINDINGS)
    parts = [f"{view.counts[Condition.CLEAN]} clean"]
    parts += [f"{found} findings"] if found else []
    parts += [f"{view.counts[condition]} {words}" for condition, words in _WORDS if view.counts[condition]]
    return ", ".join(parts)


def sums(view: FleetView) -> str:
    """Return as text the fleet's leaked and missing allocations, and the number of hosts whose numbers are unknown."""
    found = view.sums
    parts = [f"leaked {amounts_text(found.leaked) or 'nothing'}"]
    if missing := amounts_text(found.missing):
        parts.append(f"missing {missing}")
    if found.held_back:
        parts.append(f"{_number(found.held_back, 'write', 'writes')} held back")
    if found.not_known:
        parts.append(f"unknown for {_number(found.not_known, 'host', 'hosts')}")
    return "; ".join(parts)


def _hosts(view: FleetView) -> str:
    heard = [row for row in view.rows if row.seen is not None]
    if view.expected is None:
        return _number(len(heard), "host", "hosts")
    strangers = sum(row.is_expected is False for row in heard)
    known = f"{len(heard) - strangers} of {view.expected} expected hosts seen"
    return f"{known}, {_number(strangers, 'unexpected host', 'unexpected hosts')}" if strangers else known


def _away(cell: CellSeen, view: FleetView) -> str:
    assert cell.away is not None
    name = f"{cell.name}: " if cell.name else ""
    return f"{name}broker unreachable since {clock(cell.away.since, view.moment.at)}: {printable(cell.away.error)}"


def _number(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
