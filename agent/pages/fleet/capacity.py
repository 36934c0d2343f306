"""Section: the cloud's capacity by resource class, now and after heal.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agent.fleet.conditions import Condition
from agent.pages.blocks import Cell, Column, Meaning, Paragraph, Picture, Shape, Table
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.shared_consumers import not_in_wasted
from agent.pages.fleet.sums import ClassSums, class_sums, without_amounts
from agent.pages.fleet.wording import counted, hosts, hosts_and_files, share
from agent.pages.page import Section
from agent.pages.shapes import WIDTH, Box, label, rectangle, rule, text_width
from agent.pages.sizes import beside_its_class, listed

#: The picture shows at most MOST_PICTURED classes; the table with the picture's numbers lists at most MOST_LISTED.
MOST_PICTURED = 8
MOST_LISTED = 60
_LEFT, _RIGHT = 92.0, 770.0
_HEAD, _ROW, _FOOT, _BETWEEN = 26.0, 28.0, 22.0, 20.0
_BAR, _BASE = 22.0, 16.0
_BLOCK = _HEAD + 2 * _ROW + _FOOT + _BETWEEN
_LEAST = 3.0
HEADING = "The cloud's capacity"
_AFTER_HEAL = (
    "A host's capacity is (total - reserved) x ratio: for example, 48 CPUs with ratio 4 are 192 VCPU. The bars show "
    'the sums of all hosts, without reserved amounts. The bars "after heal" show the sums after stocktake heal has '
    "repaired every host: no amount is wasted, and Placement records every amount that nova has promised to instances. "
    "These bars include the hosts whose agent only observes now. heal does not change guests and volumes that nova "
    "does not know."
)
_HEADINGS = (
    "hosts", "total", "reserved", "ratio", "capacity", "recorded", "wasted", "wasted share",
    "promised, not recorded", "free", "free after heal",
    "hosts over capacity", "unknown for",
)  # fmt: skip


class _Bar(NamedTuple):
    """One bar of the picture: its name, its parts from left to right, and the free amount beside it."""

    words: str
    parts: tuple[tuple[Meaning, float], ...]
    free: float


def capacity(facts: FleetFacts) -> Section:
    """Return the section."""
    sums = class_sums(facts.view.rows)
    lacking = without_amounts(facts.view.rows)
    unknown = hosts_and_files(lacking, facts)
    texts = [f"No sum contains the inventory of {unknown}, because that inventory is not known."] if unknown else []
    if silent := facts.view.counts[Condition.SILENT]:
        texts.append(
            f"The sums contain the last reported numbers of {counted(silent, 'host', 'hosts')} that went silent."
        )
    number, surplus = not_in_wasted(facts)
    if number:
        who = counted(number, "consumer has", "consumers have")
        texts.append(f"{who} surplus allocations on a second host ({', '.join(listed(surplus))}).")
        texts.append('The column "free after heal" still counts these surplus amounts as used.')
    rest = " ".join(texts)
    if not sums:
        return Section(id="capacity", heading=HEADING, blocks=(Paragraph(text=rest or "There is no inventory."),))
    intro = (Paragraph(text=_AFTER_HEAL), *((Paragraph(text=rest),) if rest else ()))
    return Section(id="capacity", heading=HEADING, blocks=(*intro, _picture(sums, lacking)))


def _picture(sums: Sequence[ClassSums], lacking: int) -> Picture:
    shown = sums[:MOST_PICTURED]
    shapes = [shape for place, each in enumerate(shown) for shape in _block(each, place * _BLOCK)]
    return Picture(
        id="capacity-picture",
        title="Amounts of each resource class now and after heal: recorded, wasted (recorded but unused) and free",
        conclusion=" ".join(map(conclusion, shown)),
        height=_BLOCK * len(shown),
        shapes=tuple(shapes),
        table=_table(sums, lacking),
        legend=(
            (Meaning.COUNTED, "recorded and used"),
            (Meaning.WRONG, "recorded and wasted"),
            (Meaning.LACKING, "promised by nova, not yet recorded in Placement"),
            (Meaning.FREE, "free"),
        ),
    )


def conclusion(each: ClassSums) -> str:
    """Return one sentence about the sums of a class, for the text beside the picture."""
    name = each.resource_class
    parts = [f"{beside_its_class(name, each.used)} of {beside_its_class(name, each.capacity)} recorded in Placement"]
    if each.wasted:
        parts.append(f"{beside_its_class(name, each.wasted)} recorded but unused")
    if each.missing:
        parts.append(f"{beside_its_class(name, each.missing)} promised by nova, but not recorded in Placement")
    if each.wasted or each.missing:
        parts.append(
            f"{beside_its_class(name, each.free)} free now, {beside_its_class(name, each.free_after)} free after heal"
        )
    else:
        parts.append(f"{beside_its_class(name, each.free)} free")
    if each.over:
        parts.append(f"{hosts(each.over)} over capacity by {beside_its_class(name, each.excess)} in total")
    return f"{name}: {', '.join(parts)}."


def _block(each: ClassSums, top: float) -> Iterator[Shape]:
    right = max(0.0, each.used - each.wasted)
    widest = max(1.0, each.capacity, each.used + each.free, right + each.missing + each.free_after)
    per_unit = (_RIGHT - _LEFT) / (1.05 * widest)
    name, bottom = each.resource_class, top + _HEAD + 2 * _ROW
    yield label(name, 0, top + 16, look="strong")
    now = ((Meaning.COUNTED, right), (Meaning.WRONG, each.wasted), (Meaning.FREE, each.free))
    after = ((Meaning.COUNTED, right), (Meaning.LACKING, each.missing), (Meaning.FREE, each.free_after))
    bars = (_Bar("now", now, each.free), _Bar("after heal", after, each.free_after))
    for place, bar in enumerate(bars):
        yield from _bar(name, bar, top + _HEAD + place * _ROW, per_unit)
    yield rule(_LEFT, bottom, _RIGHT, bottom)
    yield from _capacity_line(each, top, bottom, per_unit)


def _bar(name: str, bar: _Bar, top: float, per_unit: float) -> Iterator[Shape]:
    yield label(bar.words, _LEFT - 8, top + _BASE, anchor="end")
    at = _LEFT
    parts = [(meaning, amount) for meaning, amount in bar.parts if amount > 0]
    for (meaning, amount), width in zip(parts, _widths([amount * per_unit for _, amount in parts]), strict=True):
        yield rectangle(meaning, Box(at, top, width, _BAR), f"{bar.words}: {beside_its_class(name, amount)}")
        at += width
    yield label(f"free {beside_its_class(name, bar.free)}", min(at, _RIGHT) + 8, top + _BASE)


def _widths(exact: Sequence[float]) -> list[float]:
    """Return the widths of a bar's parts.

    A part that would be too narrow to see gets the width _LEAST. The widest part loses the width that these
    parts gain, so the bar keeps its width.
    """
    widths = [max(_LEAST, width) for width in exact]
    if widths:
        widest = widths.index(max(widths))
        widths[widest] = max(_LEAST, widths[widest] - (sum(widths) - sum(exact)))
    return widths


def _capacity_line(each: ClassSums, top: float, bottom: float, per_unit: float) -> Iterator[Shape]:
    x = _LEFT + each.capacity * per_unit
    text = f"capacity {beside_its_class(each.resource_class, each.capacity)}"
    middle = min(x, WIDTH - text_width(text) / 2)
    yield rule(x, top + _HEAD - 4, x, bottom, "capacity")
    yield label(text, max(middle, 260.0), top + 16, anchor="middle")
    for quarter in range(5):
        at = _LEFT + each.capacity * quarter / 4 * per_unit
        yield rule(at, bottom, at, bottom + 5, "tick")
        text = beside_its_class(each.resource_class, each.capacity * quarter / 4)
        yield label(text, at, bottom + 18, anchor="middle", look="faint")


def _table(sums: Sequence[ClassSums], lacking: int) -> Table:
    return Table(
        id="capacity-numbers",
        caption="Sums over the hosts whose inventory is known",
        columns=(Column(heading="class"), *(Column(heading=heading, is_number=True) for heading in _HEADINGS)),
        rows=tuple(_cells(each, lacking) for each in sums[:MOST_LISTED]),
        foot=f"and {len(sums) - MOST_LISTED} more classes" if len(sums) > MOST_LISTED else "",
    )


def _cells(each: ClassSums, lacking: int) -> tuple[Cell, ...]:
    """Return the table row of a class. ``lacking`` is the number of hosts without a known inventory.

    Such a host may offer any class, so the row of each class counts these hosts as unknown.
    """
    name = each.resource_class
    numbers = (each.capacity, each.used, each.wasted)
    ratios = sorted(each.ratios)
    over = f"{each.over} (by {beside_its_class(name, each.excess)})" if each.over else "0"
    return (
        Cell(text=name),
        Cell(text=str(each.hosts)),
        Cell(text=beside_its_class(name, each.total)),
        Cell(text=beside_its_class(name, each.reserved)),
        Cell(text=f"{ratios[0]:g} to {ratios[-1]:g}" if len(ratios) > 1 else f"{ratios[0]:g}" if ratios else "-"),
        *(Cell(text=beside_its_class(name, number)) for number in numbers),
        Cell(text=share(each.wasted, each.capacity)),
        Cell(text=beside_its_class(name, each.missing)),
        Cell(text=beside_its_class(name, each.free)),
        Cell(text=beside_its_class(name, each.free_after)),
        Cell(text=over),
        Cell(text=hosts(each.not_known + lacking) if each.not_known + lacking else "-"),
    )
