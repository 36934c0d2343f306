"""Sections: the worst hosts and what is wrong with them; the hosts with the most wasted and twice-sold resources.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.fleet.conditions import Counts
from agent.fleet.ordering import Choice, chosen
from agent.fleet.view import HostRow
from agent.fleet.words import free_text
from agent.model.finding import LEAKING
from agent.pages.blocks import Block, Cell, Column, Paragraph, Table
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.looks import state_cell
from agent.pages.fleet.sums import class_order
from agent.pages.fleet.wording import (
    about,
    amounts,
    and_more,
    host_cell,
    hosts,
    place,
    since,
)
from agent.pages.page import Section

#: The most hosts in the table of the worst hosts, and in each table of amounts.
MOST_WORST = 50
MOST_LISTED = 20
_WORDS = frozenset({"free", "state", "host", "group", "since (UTC)"})
_MISSING = frozenset({"allocation-missing"})


def worst(facts: FleetFacts) -> Section:
    """Return the section of the worst hosts."""
    rows = chosen(facts.view.rows, Choice())
    if not rows:
        text = "No host needs a look." if facts.view.rows else "There are no hosts."
        return Section(id="worst", heading="Worst hosts", blocks=(Paragraph(text=text),))
    return Section(id="worst", heading="Worst hosts", blocks=(_worst_table(rows, facts),))


def wasted(facts: FleetFacts) -> Section:
    """Return the section of the hosts that waste the most resources."""
    block = _amount_table(facts, "wasted", LEAKING)
    return Section(id="wasted", heading="Hosts that waste most", blocks=(block,))


def sold_twice(facts: FleetFacts) -> Section:
    """Return the section of the hosts whose resources may be sold twice."""
    block = _amount_table(facts, "sold twice", _MISSING)
    return Section(id="sold-twice", heading="Hosts that sell twice", blocks=(block,))


def places(facts: FleetFacts) -> Mapping[tuple[str, str], str]:
    """Return, for each host in the table of the worst hosts, the HTML id of its row."""
    rows = chosen(facts.view.rows, Choice())[:MOST_WORST]
    return {row.key: f"host-{number}" for number, row in enumerate(rows, start=1)}


def _worst_table(rows: Sequence[HostRow], facts: FleetFacts) -> Table:
    shown, has_places = rows[:MOST_WORST], any(place(row) for row in facts.view.rows)
    headings = ["state", "host", *(("group",) if has_places else ()), "since (UTC)", "what"]
    headings += ["wasted", "sold twice", "free"]
    caption = f"{len(shown)} of {hosts(len(rows))} that are not clean, the worst first"
    return Table(
        id="worst-hosts",
        caption=f"{caption}; free are VCPU/GiB RAM/GiB disk",
        columns=tuple(Column(heading=heading, is_word=heading in _WORDS) for heading in headings),
        rows=tuple(_worst_row(number, row, facts, has_places) for number, row in enumerate(shown, start=1)),
        search=f"Find a host, a code or a state in these {len(shown)} rows",
        foot=and_more(len(shown), len(rows), "hosts that are not clean; stocktake watch shows all of them"),
    )


def _worst_row(number: int, row: HostRow, facts: FleetFacts, has_places: bool) -> tuple[Cell, ...]:  # noqa: FBT001
    seen = row.seen
    name = host_cell(row)
    return (
        state_cell(row.condition),
        Cell(text=name.text, place=f"host-{number}"),
        *((Cell(text=place(row)),) if has_places else ()),
        Cell(text=since(row, facts)),
        Cell(text=about(row, facts)),
        Cell(text=amounts(seen.leaked if seen else None)),
        Cell(text=amounts(seen.missing if seen else None)),
        Cell(text=free_text(seen)),
    )


def _amount_table(facts: FleetFacts, words: str, codes: frozenset[str]) -> Block:
    rows = sorted((row for row in facts.view.rows if _sum(row, words)), key=lambda row: _most_first(row, words))
    unknown = facts.view.sums.not_known
    rest = f" Not known of {hosts(unknown)}." if unknown else ""
    if not rows:
        return Paragraph(text=f"Nothing that is known is {words}.{rest}")
    known, shown = places(facts), rows[:MOST_LISTED]
    columns = ("host", words, "findings", "since (UTC)", "state")
    return Table(
        id=f"{words.replace(' ', '-')}-hosts",
        caption=f"{len(shown)} of {hosts(len(rows))}, the largest amount first.{rest}",
        columns=tuple(Column(heading=heading, is_word=heading in _WORDS) for heading in columns),
        rows=tuple(
            (
                host_cell(row, known),
                Cell(text=amounts(_sum(row, words))),
                Cell(text=_codes(row, codes)),
                Cell(text=since(row, facts)),
                state_cell(row.condition),
            )
            for row in shown
        ),
        foot=and_more(len(shown), len(rows), "hosts"),
    )


def _sum(row: HostRow, words: str) -> Counts:
    found = (row.seen.leaked if words == "wasted" else row.seen.missing) if row.seen else None
    return tuple((name, number) for name, number in found or () if number)


def _most_first(row: HostRow, words: str) -> tuple[object, ...]:
    found = dict(_sum(row, words))
    names = sorted(found, key=class_order)
    first = tuple(-found.get(name, 0) for name in ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB"))
    return *first, -sum(found[name] for name in names), row.host, row.cell


def _codes(row: HostRow, codes: frozenset[str]) -> str:
    found = dict(row.seen.findings or ()) if row.seen else {}
    return ", ".join(f"{code} x{found[code]}" for code in sorted(codes) if found.get(code)) or "?"
