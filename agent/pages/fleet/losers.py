"""Two sections: hosts with amounts that are sold twice, and hosts with wasted amounts.

Each section lists the amounts of each host, with dates.

Sold twice: in use or promised, but Placement may allocate the amount again. Wasted: allocated, but not in use.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agent.fleet.host import HostSeen
from agent.fleet.view import HostRow
from agent.model.finding import LEAKING
from agent.pages.blocks import Block, Cell, Column, Paragraph, Table
from agent.pages.codes import MISSING, UNKNOWN_USE
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.harm import by_harm, most_first, sold_twice_of, wasted_of
from agent.pages.fleet.looks import state_cell
from agent.pages.fleet.wording import (
    NONE,
    amounts,
    and_more,
    began_codes,
    host_cell,
    hosts,
    hosts_and_files,
    since_codes,
)
from agent.pages.fleet.worst import places
from agent.pages.page import Section

#: The maximum number of hosts in each table. The page's search finds the other hosts.
MOST_LISTED = 40
_SEEN = '"First seen" is when an audit first saw the oldest finding of the row.{} Ages are as of {} UTC.'
_BEGAN = ' "Began" is when the oldest of these faults began according to nova\'s database ("?" if not known).'
_FIRST_SEEN, _BEGAN_HEADING = "first seen (UTC)", "began (UTC)"
_WORDS = frozenset({"host", "state", _FIRST_SEEN, _BEGAN_HEADING})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loss:
    """One of two tables: amounts that are sold twice (in use, but Placement offers them), or amounts that are wasted.

    ``name``: "sold twice" or "wasted". ``codes``: the codes of the findings about such amounts. ``of`` returns a host's
    amounts by class. ``is_known`` returns whether the last message of the host's agent has these amounts.
    """

    id: str
    heading: str
    name: str
    of: Callable[[HostRow], Mapping[str, int]]
    is_known: Callable[[HostSeen], bool]
    codes: frozenset[str]
    more_columns: tuple[str, ...] = ()


_SOLD_TWICE = _Loss(
    id="sold-twice",
    heading="Hosts with amounts sold twice (used, but free in Placement)",
    name="sold twice",
    of=sold_twice_of,
    is_known=lambda seen: seen.missing is not None and seen.uncovered is not None,
    codes=MISSING | UNKNOWN_USE,
    more_columns=("promised, not recorded", "used, but unknown to the cloud"),
)
_WASTED = _Loss(
    id="wasted",
    heading="Hosts with wasted amounts (allocated, but not used)",
    name="wasted",
    of=wasted_of,
    is_known=lambda seen: seen.leaked is not None,
    codes=LEAKING,
)


def sold_twice(facts: FleetFacts) -> Section:
    """Return the section of the hosts with amounts that are in use, but that Placement may allocate again."""
    return _section(facts, _SOLD_TWICE)


def wasted(facts: FleetFacts) -> Section:
    """Return the section of the hosts whose resources are wasted."""
    return _section(facts, _WASTED)


def unknown_of(facts: FleetFacts, is_known: Callable[[HostSeen], bool]) -> int:
    """Return the number of hosts about which nothing is known, or for which ``is_known`` returns False."""
    return sum(_lacks(row, is_known) for row in facts.view.rows)


def sold_twice_unknown(facts: FleetFacts) -> int:
    """Return the number of hosts for which it is unknown how much is sold twice."""
    return unknown_of(facts, _SOLD_TWICE.is_known)


def lacks_sold_twice(row: HostRow) -> bool:
    """Return whether it is unknown how much of the host is sold twice."""
    return _lacks(row, _SOLD_TWICE.is_known)


def _lacks(row: HostRow, is_known: Callable[[HostSeen], bool]) -> bool:
    return row.seen is None or not is_known(row.seen)


def _section(facts: FleetFacts, loss: _Loss) -> Section:
    return Section(id=loss.id, heading=loss.heading, blocks=(_block(facts, loss),))


def _block(facts: FleetFacts, loss: _Loss) -> Block:
    # Python's sort is stable. So hosts with equal amounts keep the order of ``by_harm``: the worst host comes first.
    rows = sorted(filter(loss.of, by_harm(facts.view.rows)), key=lambda row: most_first(loss.of(row)))
    unknown = hosts_and_files(unknown_of(facts, loss.is_known), facts)
    rest = f" Unknown for {unknown}." if unknown else ""
    if not rows:
        return Paragraph(text=f"No amount is known to be {loss.name}.{rest}")
    known, shown = places(facts), rows[:MOST_LISTED]
    began = () if facts.details is None else (_BEGAN_HEADING,)
    columns = ("host", loss.name, *began, _FIRST_SEEN, *loss.more_columns, "findings", "state")
    times = _SEEN.format(_BEGAN if began else "", f"{facts.at:%Y-%m-%d %H:%M}")
    which = f"{len(shown)} of {hosts(len(rows))}" if len(shown) < len(rows) else f"All {hosts(len(rows))}"
    return Table(
        id=f"{loss.id}-hosts",
        caption=f"{which}, the most VCPU first, then RAM and disk. {times}{rest}",
        columns=tuple(Column(heading=heading, is_word=heading in _WORDS) for heading in columns),
        rows=tuple(_row(row, loss, facts, known) for row in shown),
        foot=and_more(len(shown), len(rows), "hosts: the search field below finds each of them"),
    )


def _row(row: HostRow, loss: _Loss, facts: FleetFacts, known: Mapping[tuple[str, str], str]) -> tuple[Cell, ...]:
    more = (row.seen.missing, row.seen.uncovered) if loss.more_columns and row.seen else ()
    return (
        host_cell(row, known),
        Cell(text=amounts(loss.of(row))),
        *(() if facts.details is None else (Cell(text=began_codes(row, loss.codes, facts)),)),
        Cell(text=since_codes(row, loss.codes, facts)),
        *(Cell(text=amounts(each)) for each in more),
        Cell(text=_codes(row, loss.codes)),
        state_cell(row.condition),
    )


def _codes(row: HostRow, codes: frozenset[str]) -> str:
    found = dict(row.seen.findings or ()) if row.seen else {}
    return ", ".join(f"{code} x{found[code]}" for code in sorted(codes) if found.get(code)) or NONE
