"""Section: the cloud's capacity by resource class, now and after heal. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from agent.pages.blocks import Cell, Column, Meaning, Paragraph, Picture, Shape, Table
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.sums import ClassSums, class_sums, without_amounts
from agent.pages.fleet.wording import hosts, share
from agent.pages.page import Section
from agent.pages.shapes import WIDTH, Box, label, rectangle, rule, text_width
from agent.text.amounts import number_text

#: How many classes the picture shows; the table has all of them.
MOST_PICTURED = 8
MOST_LISTED = 60
_LEFT, _RIGHT = 92.0, 770.0
_HEAD, _ROW, _FOOT, _BETWEEN = 26.0, 28.0, 22.0, 20.0
_BAR, _BASE = 22.0, 16.0
_BLOCK = _HEAD + 2 * _ROW + _FOOT + _BETWEEN
_LEAST = 3.0
#: An amount of at least this many GiB is written in TiB.
_TIB = 8192
_GIB = {"MEMORY_MB": (1024.0, "GiB"), "DISK_GB": (1.0, "GiB")}
_HEADING = "The cloud's capacity"
_HEADINGS = (
    "hosts", "capacity", "recorded", "wasted", "wasted share", "free", "free after heal", "hosts over capacity",
    "unknown for",
)  # fmt: skip


def capacity(facts: FleetFacts) -> Section:
    """Return the section."""
    sums = class_sums(facts.view.rows)
    unknown = without_amounts(facts.view.rows) + len(facts.unreadable)
    rest = f"The inventory of {hosts(unknown)} is not known, and in no sum." if unknown else ""
    if not sums:
        return Section(id="capacity", heading=_HEADING, blocks=(Paragraph(text=rest or "There is no inventory."),))
    intro = (Paragraph(text=rest),) if rest else ()
    return Section(id="capacity", heading=_HEADING, blocks=(*intro, _picture(sums)))


def _picture(sums: Sequence[ClassSums]) -> Picture:
    shown = sums[:MOST_PICTURED]
    shapes = [shape for place, each in enumerate(shown) for shape in _block(each, place * _BLOCK)]
    return Picture(
        id="capacity-picture",
        title="Recorded, wasted and free amounts of each resource class, now and after heal",
        conclusion=" ".join(map(conclusion, shown)),
        height=_BLOCK * len(shown),
        shapes=tuple(shapes),
        table=_table(sums),
        legend=(
            (Meaning.COUNTED, "recorded and used"),
            (Meaning.WRONG, "recorded and wasted"),
            (Meaning.FREE, "free"),
        ),
    )


def conclusion(each: ClassSums) -> str:
    """Return one sentence about the sums of a class, for the picture's conclusion."""
    name = each.resource_class
    parts = [f"{_text(name, each.used)} of {_text(name, each.capacity)} recorded"]
    if each.wasted:
        parts.append(f"{_text(name, each.wasted)} of them wasted")
        parts.append(f"free {_text(name, each.free)} now, {_text(name, each.free_after)} after heal")
    else:
        parts.append(f"free {_text(name, each.free)}")
    if each.over:
        parts.append(f"{hosts(each.over)} over capacity by {_text(name, each.excess)}")
    return f"{name}: {', '.join(parts)}."


def _text(name: str, amount: float) -> str:
    divisor, unit = _GIB.get(name, (1.0, ""))
    value = amount / divisor
    if unit and abs(value) >= _TIB:
        return f"{value / 1024:.1f} TiB"
    shown = number_text(round(value)) if value >= 10 else number_text(round(value, 1))
    return f"{shown} {unit}".strip()


def _block(each: ClassSums, top: float) -> Iterator[Shape]:
    right = max(0.0, each.used - each.wasted)
    widest = max(1.0, each.capacity, each.used + each.free, right + each.free_after)
    per_unit = (_RIGHT - _LEFT) / (1.05 * widest)
    name, bottom = each.resource_class, top + _HEAD + 2 * _ROW
    yield label(name, 0, top + 16, look="strong")
    now = ((Meaning.COUNTED, right), (Meaning.WRONG, each.wasted), (Meaning.FREE, each.free))
    after = ((Meaning.COUNTED, right), (Meaning.FREE, each.free_after))
    for place, (words, parts, free) in enumerate((("now", now, each.free), ("after heal", after, each.free_after))):
        yield from _bar(words, parts, f"free {_text(name, free)}", top + _HEAD + place * _ROW, per_unit)
    yield rule(_LEFT, bottom, _RIGHT, bottom)
    yield from _capacity_line(each, top, bottom, per_unit)


def _bar(
    words: str, parts: Sequence[tuple[Meaning, float]], end_text: str, top: float, per_unit: float
) -> Iterator[Shape]:
    yield label(words, _LEFT - 8, top + _BASE, anchor="end")
    at = _LEFT
    for meaning, amount in parts:
        if amount <= 0:
            continue
        width = max(_LEAST, amount * per_unit)
        yield rectangle(meaning, Box(at, top, width, _BAR), f"{words}: {number_text(math.floor(amount))}")
        at += width
    yield label(end_text, min(at, _RIGHT) + 8, top + _BASE)


def _capacity_line(each: ClassSums, top: float, bottom: float, per_unit: float) -> Iterator[Shape]:
    x = _LEFT + each.capacity * per_unit
    text = f"capacity {_text(each.resource_class, each.capacity)}"
    middle = min(x, WIDTH - text_width(text) / 2)
    yield rule(x, top + _HEAD - 4, x, bottom, "capacity")
    yield label(text, max(middle, 260.0), top + 16, anchor="middle")
    for quarter in range(5):
        at = _LEFT + each.capacity * quarter / 4 * per_unit
        yield rule(at, bottom, at, bottom + 5, "tick")
        text = _text(each.resource_class, each.capacity * quarter / 4)
        yield label(text, at, bottom + 18, anchor="middle", look="faint")


def _table(sums: Sequence[ClassSums]) -> Table:
    return Table(
        id="capacity-numbers",
        caption="Sums over the hosts whose inventory is known",
        columns=(Column(heading="class"), *(Column(heading=heading, is_number=True) for heading in _HEADINGS)),
        rows=tuple(_cells(each) for each in sums[:MOST_LISTED]),
        foot=f"and {len(sums) - MOST_LISTED} more classes" if len(sums) > MOST_LISTED else "",
    )


def _cells(each: ClassSums) -> tuple[Cell, ...]:
    name = each.resource_class
    numbers = (each.capacity, each.used, each.wasted)
    over = f"{each.over} (by {_text(name, each.excess)})" if each.over else "0"
    return (
        Cell(text=name),
        Cell(text=str(each.hosts)),
        *(Cell(text=_text(name, number)) for number in numbers),
        Cell(text=share(each.wasted, each.capacity)),
        Cell(text=_text(name, each.free)),
        Cell(text=_text(name, each.free_after)),
        Cell(text=over),
        Cell(text=hosts(each.not_known) if each.not_known else "-"),
    )
