"""Picture of the capacity: three bars for each resource class.

They show the amounts in nova's database (promised), on the host (held) and in Placement (recorded). Pure: the module
uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from agent.pages.bars import BASE, HEIGHT, drawn, segments, unread_bar
from agent.pages.blocks import Cell, Column, Meaning, Picture, Shape, Table
from agent.pages.host.books import INSTANCES, MOVES, ORDER, RESERVE, UNMANAGED, WRONG, Book, ClassBooks
from agent.pages.shapes import WIDTH, Box, fitted, label, number, rule, text_width
from agent.pages.sizes import beside_its_class, with_class
from agent.pages.tables import NOT_KNOWN, amount
from agent.text.wording import NOT_COUNTED

_LEFT, _RIGHT = 92.0, 800.0
_HEAD, _ROW, _FOOT, _BETWEEN = 26.0, 28.0, 22.0, 22.0
_BLOCK = _HEAD + 3 * _ROW + _FOOT + _BETWEEN
_ROOM = 1.05
_MOST_OFFERS = 3


def capacity_picture(classes: Sequence[ClassBooks]) -> Picture:
    """Draw the bars of these resource classes."""
    shapes: list[Shape] = []
    for place, each in enumerate(classes):
        shapes.extend(_block(each, place * _BLOCK))
    return Picture(
        id="capacity-picture",
        title="Amounts of each resource class: promised by nova, held by the host, recorded in Placement. Dashed line: "
        "total x ratio",
        conclusion=" ".join(map(conclusion, classes)),
        height=max(_BLOCK * len(classes), 20.0),
        shapes=tuple(shapes),
        table=_table(classes),
        legend=(
            (Meaning.COUNTED, INSTANCES),
            (Meaning.MOVING, MOVES),
            (Meaning.RESERVED, RESERVE),
            (Meaning.FOREIGN, UNMANAGED),
            (Meaning.WRONG, WRONG),
            (Meaning.LACKING, "promised, not recorded"),
            (Meaning.UNREAD, "not read"),
        ),
    )


def conclusion(each: ClassBooks) -> str:
    """Return the sentence that ends the picture: the promised, held and recorded amounts, and the free amount."""
    name = each.resource_class
    books = ", ".join(f"{book.name} {_sum(name, book)}" for book in each.books)
    free = each.free
    wrong = max((part.amount for book in each.books for part in book.parts if part.meaning is Meaning.WRONG), default=0)
    lacking = sum(book.lacking for book in each.books)
    facts = (
        _offer(each),
        books,
        *((_free(each, free),) if free is not None else ()),
        *((f"{beside_its_class(name, wrong)} wrong",) if wrong else ()),
        *((f"{beside_its_class(name, lacking)} in nova's database, but not recorded in Placement",) if lacking else ()),
    )
    return f"{name}: {'; '.join(facts)}."


def _sum(name: str, book: Book) -> str:
    """Return a bar's total amount as text, and the host's reserve if it is a part of the total."""
    if not book.is_known:
        return _not_known(book)
    reserve = next((part.amount for part in book.parts if part.name == RESERVE), 0)
    rest = f" ({beside_its_class(name, reserve)} of it are the host's reserve)" if reserve else ""
    return f"{beside_its_class(name, book.total)}{rest}"


def _free(each: ClassBooks, free: float) -> str:
    name, whole = each.resource_class, each.whole or 0.0
    texts = (beside_its_class(name, amount) for amount in (free, whole, whole - free))
    return "free {} = {} (total x ratio) - {} (recorded)".format(*texts)


def _offer(each: ClassBooks) -> str:
    """Return the text for the dashed line: the capacity, how it is computed, and the reserved amount.

    Examples: ``192 = total 48 x ratio 4``, ``total 400 GiB, 120 GiB of it reserved``.
    """
    if each.whole is None:
        return "total not known"
    reserved = f", {beside_its_class(each.resource_class, each.reserve)} of it reserved" if each.reserve else ""
    whole = beside_its_class(each.resource_class, each.whole)
    made = _made(each)
    return f"{f'{whole} = {made}' if made else f'total {whole}'}{reserved}"


def _made(each: ClassBooks) -> str:
    """Return the formula of the capacity, for example "total 48 x ratio 4"; "" for one provider with the ratio 1."""
    offers = sorted(Counter(each.offers).items())
    if all(ratio == 1 for _, ratio in each.offers) and len(each.offers) < 2:
        return ""
    if len(offers) > _MOST_OFFERS:
        return f"sum of total x ratio of {len(each.offers)} providers"
    parts = [
        f"{f'{number} providers x ' if number > 1 else ''}total {beside_its_class(each.resource_class, total)}"
        f"{f' x ratio {ratio:g}' if ratio != 1 else ''}"
        for (total, ratio), number in offers
    ]
    return " + ".join(parts)


def scale_end(each: ClassBooks) -> float:
    """Return the amount at the right end of the x axis, at least 1."""
    return _ROOM * max(1.0, each.whole or 0, *(book.total + book.lacking for book in each.books))


def _block(each: ClassBooks, top: float) -> Iterator[Shape]:
    per_unit = (_RIGHT - _LEFT) / scale_end(each)
    bottom = top + _HEAD + 3 * _ROW
    yield label(each.resource_class, 0, top + 16, look="strong")
    for place, book in enumerate(each.books):
        yield from _row(book, each.resource_class, top + _HEAD + place * _ROW, per_unit)
    yield rule(_LEFT, bottom, _RIGHT, bottom)
    if each.whole is None:
        yield label("total not known", _RIGHT, top + 16, anchor="end")
    else:
        yield from _axis(each, each.whole, top, bottom, per_unit)


def _row(book: Book, resource_class: str, top: float, per_unit: float) -> Iterator[Shape]:
    yield label(book.name, _LEFT - 8, top + BASE, anchor="end")
    if book.unread:
        yield from unread_bar(_LEFT, top, _RIGHT - _LEFT, f"not read: {', '.join(book.unread)}")
        yield label(NOT_KNOWN, _RIGHT + 8, top + BASE)
        return
    if book.not_counted:
        yield label(NOT_COUNTED, _LEFT + 8, top + BASE, look="faint")
        return
    found = segments(book.parts, _LEFT, book.total * per_unit)
    texts = [f"{book.name}, {one.part.name}: {with_class(resource_class, one.part.amount)}" for one in found]
    yield from drawn(found, top, texts)
    end = _LEFT + book.total * per_unit
    if book.lacking:
        width = max(4.0, book.lacking * per_unit - 2)
        box = Box(end + 1, top + 1, width, HEIGHT - 2)
        yield _lacking(
            box, f"in nova's database, but not recorded in Placement: {with_class(resource_class, book.lacking)}"
        )
        end = box.left + box.width
    left = min(end, _RIGHT) + 8
    yield label(fitted(with_class(resource_class, book.total), WIDTH - left), left, top + BASE)


def _not_known(book: Book) -> str:
    return NOT_KNOWN if book.unread else NOT_COUNTED


def _lacking(box: Box, text: str) -> Shape:
    sides = (("x", box.left), ("y", box.top), ("width", box.width), ("height", box.height))
    attributes = (*((name, number(value)) for name, value in sides), ("class", Meaning.LACKING.value))
    return Shape(tag="rect", attributes=attributes, children=(Shape(tag="title", text=text),))


def _axis(each: ClassBooks, whole: float, top: float, bottom: float, per_unit: float) -> Iterator[Shape]:
    last_end = -1.0
    for quarter in range(5):
        amount_here = whole * quarter / 4
        x = _LEFT + amount_here * per_unit
        text = beside_its_class(each.resource_class, amount_here)
        yield rule(x, bottom, x, bottom + 5, "tick")
        half = text_width(text) / 2
        if x - half > last_end + 6:
            yield label(text, x, bottom + 18, anchor="middle", look="faint")
            last_end = x + half
    x = _LEFT + whole * per_unit
    text = _offer(each)
    middle = min(max(x, _LEFT + text_width(text) / 2), WIDTH - text_width(text) / 2)
    yield rule(x, top + _HEAD - 4, x, bottom, "capacity")
    yield label(text, max(middle, 200.0 + text_width(text) / 2), top + 16, anchor="middle")


def _table(classes: Sequence[ClassBooks]) -> Table:
    parts = [name for name, _ in ORDER]
    columns = ["class", "book", *parts, "sum", "promised, not recorded", "total x ratio", "reserved x ratio"]
    columns += ["ratio", "free"]
    return Table(
        id="capacity-numbers",
        caption="Amounts of each class: promised (nova's database), held (the host) and recorded (Placement). Each of "
        "the three includes the host's reserve. Free = total x ratio - recorded",
        columns=tuple(
            Column(heading=name, is_number=place > 1, is_word=place < 2) for place, name in enumerate(columns)
        ),
        rows=tuple(_cells(each, book) for each in classes for book in each.books),
    )


def _ratios(each: ClassBooks) -> str:
    return ", ".join(f"{ratio:g}" for ratio in sorted({ratio for _, ratio in each.offers})) or NOT_KNOWN


def _cells(each: ClassBooks, book: Book) -> tuple[Cell, ...]:
    name = each.resource_class
    known = [Cell(text=_not_known(book))] * (len(ORDER) + 2)
    if book.is_known:
        amounts = [part.amount for part in book.parts]
        known = [amount(name, value) for value in (*amounts, book.total, book.lacking)]
    offer = [Cell(text=NOT_KNOWN) if value is None else amount(name, value) for value in (each.whole, each.reserve)]
    free = Cell(text="") if each.free is None else amount(name, each.free)
    return (Cell(text=name), Cell(text=book.name), *known, *offer, Cell(text=_ratios(each)), free)
