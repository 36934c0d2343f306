"""Section: the map, with one square for each host. The hosts with the worst problems come first.

Up to MOST_SQUARES hosts, each square has a tooltip, and a link if the host has a row in the table of the worst hosts.
With more hosts, neighbouring squares of one condition are drawn as one shape, so that the page stays small.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from agent.fleet.conditions import Condition
from agent.fleet.view import HostRow
from agent.pages.blocks import Cell, Column, Meaning, Paragraph, Picture, Shape, Table
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.harm import IN_WORDS, by_harm
from agent.pages.fleet.looks import EXPLAINED, MEANINGS, WORDS, glyph, state_cell
from agent.pages.fleet.wording import about, hosts, place, stamp_of
from agent.pages.fleet.worst import places
from agent.pages.page import Section
from agent.pages.shapes import WIDTH, number

#: SIDE: the width of a square with its gap, in units of the picture. A_ROW: the number of squares in a row. MOST: the
#: maximum number of squares in the map.
SIDE = 15.0
A_ROW = 64
MOST = 10_000
#: Up to this number of hosts, each square is drawn separately, with a tooltip. With more hosts, squares are merged.
MOST_SQUARES = 2_000
_FILLS = {
    Meaning.COUNTED: "in-counted",
    Meaning.WRONG: "in-wrong",
    Meaning.FOREIGN: "in-foreign",
    Meaning.RESERVED: "in-reserved",
}
_MOST_TITLE = 160


def fleet_map(facts: FleetFacts) -> Section:
    """Return the section."""
    rows = by_harm(facts.view.rows)
    if not rows:
        return Section(id="map", heading="Map of the hosts", blocks=(Paragraph(text="There are no hosts."),))
    return Section(id="map", heading="Map of the hosts", blocks=(_picture(rows, facts),))


def _picture(rows: Sequence[HostRow], facts: FleetFacts) -> Picture:
    shown = rows[:MOST]
    shapes = _single(shown, facts) if len(shown) <= MOST_SQUARES else _runs(shown)
    used = [condition for condition in Condition if facts.view.counts[condition]]
    return Picture(
        id="map-picture",
        title="A square for each host, hosts with the worst problems first",
        conclusion=_conclusion(rows, used, facts),
        height=number_of_rows(len(shown)) * SIDE,
        shapes=(Shape(tag="defs", children=tuple(_pattern(each) for each in used)), *shapes),
        table=_table(used, facts),
        # A square can be a link, and links are not allowed inside an element with the ARIA role ``img``. So the role is
        # ``group``.
        role="group",
    )


def number_of_rows(squares: int) -> int:
    """Return how many rows this many squares take."""
    return -(-squares // A_ROW)


def _conclusion(rows: Sequence[HostRow], used: Sequence[Condition], facts: FleetFacts) -> str:
    parts = ", ".join(f"{facts.view.counts[each]} {WORDS[each]}{_sign(each)}" for each in used)
    more = f" The map shows the {MOST} worst hosts." if len(rows) > MOST else ""
    return f"{hosts(len(rows))}: {parts}. Order of the squares: {IN_WORDS}.{more}"


def _sign(condition: Condition) -> str:
    return f" ({glyph(condition)})" if glyph(condition) else ""


def _single(rows: Sequence[HostRow], facts: FleetFacts) -> Iterator[Shape]:
    known = places(facts)
    for place_number, row in enumerate(rows):
        yield _square(place_number, row, facts, known)


def _square(number_: int, row: HostRow, facts: FleetFacts, known: Mapping[tuple[str, str], str]) -> Shape:
    where = f" ({place(row)})" if place(row) else ""
    text = f"{row.host}{where}: {WORDS[row.condition]}"
    audited = "" if row.seen is None else f", audit of {stamp_of(row.seen.audited_at, facts.at)} UTC"
    title = Shape(tag="title", text=f"{text}{audited}. {about(row, facts)}"[:_MOST_TITLE])
    left, top = number_ % A_ROW, number_ // A_ROW
    if row.key not in known:
        return _rectangle(row.condition, left, top, 1, (title,))
    children = (title, _rectangle(row.condition, left, top, 1))
    return Shape(tag="a", attributes=(("href", f"#{known[row.key]}"),), children=children)


def _runs(rows: Sequence[HostRow]) -> Iterator[Shape]:
    for top in range(number_of_rows(len(rows))):
        at = 0
        for condition, run in groupby(rows[top * A_ROW : (top + 1) * A_ROW], key=lambda row: row.condition):
            length = sum(1 for _ in run)
            yield _rectangle(condition, at, top, length)
            at += length


def _rectangle(condition: Condition, left: int, top: int, length: int, children: tuple[Shape, ...] = ()) -> Shape:
    sides = (("x", left * SIDE), ("y", top * SIDE), ("width", length * SIDE), ("height", SIDE))
    attributes = (*((name, number(value)) for name, value in sides), ("fill", f"url(#q-{condition.value})"))
    return Shape(tag="rect", attributes=attributes, children=children)


def _pattern(condition: Condition) -> Shape:
    """Return the SVG pattern of a condition: a square with the condition's colour and glyph, and a gap around it."""
    meaning, side = MEANINGS[condition], number(SIDE)
    size = (("width", number(SIDE - 3)), ("height", number(SIDE - 3)))
    fill = _FILLS.get(meaning)
    look = fill or "outline thin"
    square = Shape(tag="rect", attributes=(("x", "1.5"), ("y", "1.5"), *size, ("class", look)))
    marks = []
    if sign := glyph(condition):
        middle = (("x", number(SIDE / 2)), ("y", "12"), ("text-anchor", "middle"))
        look = "sign on-fill" if fill else "sign"
        marks.append(Shape(tag="text", attributes=(*middle, ("class", look)), text=sign))
    attributes = (("id", f"q-{condition.value}"), ("width", side), ("height", side), ("patternUnits", "userSpaceOnUse"))
    return Shape(tag="pattern", attributes=attributes, children=(square, *marks))


def _table(used: Sequence[Condition], facts: FleetFacts) -> Table:
    return Table(
        id="map-numbers",
        caption="Hosts in each state",
        columns=(
            Column(heading="state"),
            Column(heading="sign", is_code=True),
            Column(heading="hosts", is_number=True),
            Column(heading="means"),
        ),
        rows=tuple(
            (
                state_cell(each),
                Cell(text=glyph(each)),
                Cell(text=str(facts.view.counts[each])),
                Cell(text=EXPLAINED[each]),
            )
            for each in used
        ),
    )


assert A_ROW * SIDE <= WIDTH
