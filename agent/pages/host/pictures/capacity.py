"""Picture of the capacity: for each resource class a bar for promised, held and recorded. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.pages.bars import BASE, HEIGHT, drawn, segments, unread_bar
from agent.pages.blocks import Cell, Column, Meaning, Picture, Shape, Table
from agent.pages.host.books import INSTANCES, MOVES, ORDER, RESERVE, UNMANAGED, WRONG, Book, ClassBooks
from agent.pages.shapes import WIDTH, Box, fitted, label, number, rule, text_width
from agent.pages.tables import NOT_KNOWN, amount
from agent.text.amounts import number_text, with_unit
from agent.text.wording import NOT_COUNTED

_LEFT, _RIGHT = 92.0, 800.0
_HEAD, _ROW, _FOOT, _BETWEEN = 26.0, 28.0, 22.0, 22.0
_BLOCK = _HEAD + 3 * _ROW + _FOOT + _BETWEEN
_ROOM = 1.05


def capacity_picture(classes: Sequence[ClassBooks]) -> Picture:
    """Return the picture of these classes."""
    shapes: list[Shape] = []
    for place, each in enumerate(classes):
        shapes.extend(_block(each, place * _BLOCK))
    return Picture(
        id="capacity-picture",
        title="Promised, held and recorded amounts of each resource class, beside the capacity",
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
    """Return one sentence about the books of a class, for the picture's conclusion."""
    name = each.resource_class
    has = "capacity not known" if each.capacity is None else f"capacity {with_unit(name, each.capacity)}"
    books = ", ".join(
        f"{book.name} {number_text(book.total) if book.is_known else _not_known(book)}" for book in each.books
    )
    free = each.free
    wrong = max((part.amount for book in each.books for part in book.parts if part.meaning is Meaning.WRONG), default=0)
    lacking = sum(book.lacking for book in each.books)
    facts = (
        has,
        books,
        *((f"free {number_text(round(free, 1))}",) if free is not None else ()),
        *((f"{number_text(wrong)} wrong",) if wrong else ()),
    )
    return f"{name}: {'; '.join((*facts, *((f'{lacking} promised but not recorded',) if lacking else ())))}."


def scale_end(each: ClassBooks) -> float:
    """Return the amount at the right end of the x axis, at least 1."""
    return _ROOM * max(1.0, each.capacity or 0, *(book.total + book.lacking for book in each.books))


def _block(each: ClassBooks, top: float) -> Iterator[Shape]:
    per_unit = (_RIGHT - _LEFT) / scale_end(each)
    bottom = top + _HEAD + 3 * _ROW
    yield label(each.resource_class, 0, top + 16, look="strong")
    for place, book in enumerate(each.books):
        yield from _row(book, each.resource_class, top + _HEAD + place * _ROW, per_unit)
    yield rule(_LEFT, bottom, _RIGHT, bottom)
    if each.capacity is None:
        yield label("capacity not known", _RIGHT, top + 16, anchor="end")
    else:
        yield from _axis(each.capacity, top, bottom, per_unit)


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
    texts = [f"{book.name}, {one.part.name}: {with_unit(resource_class, one.part.amount)}" for one in found]
    yield from drawn(found, top, texts)
    end = _LEFT + book.total * per_unit
    if book.lacking:
        width = max(4.0, book.lacking * per_unit - 2)
        box = Box(end + 1, top + 1, width, HEIGHT - 2)
        yield _lacking(box, f"promised, not recorded: {with_unit(resource_class, book.lacking)}")
        end = box.left + box.width
    left = min(end, _RIGHT) + 8
    yield label(fitted(with_unit(resource_class, book.total), WIDTH - left), left, top + BASE)


def _not_known(book: Book) -> str:
    return NOT_KNOWN if book.unread else NOT_COUNTED


def _lacking(box: Box, text: str) -> Shape:
    sides = (("x", box.left), ("y", box.top), ("width", box.width), ("height", box.height))
    attributes = (*((name, number(value)) for name, value in sides), ("class", Meaning.LACKING.value))
    return Shape(tag="rect", attributes=attributes, children=(Shape(tag="title", text=text),))


def _axis(capacity: float, top: float, bottom: float, per_unit: float) -> Iterator[Shape]:
    last_end = -1.0
    for quarter in range(5):
        amount_here = capacity * quarter / 4
        x = _LEFT + amount_here * per_unit
        text = number_text(round(amount_here, 1))
        yield rule(x, bottom, x, bottom + 5, "tick")
        half = text_width(text) / 2
        if x - half > last_end + 6:
            yield label(text, x, bottom + 18, anchor="middle", look="faint")
            last_end = x + half
    x = _LEFT + capacity * per_unit
    text = f"capacity {number_text(round(capacity, 1))}"
    middle = min(max(x, _LEFT + text_width(text) / 2), WIDTH - text_width(text) / 2)
    yield rule(x, top + _HEAD - 4, x, bottom, "capacity")
    yield label(text, max(middle, 200.0 + text_width(text) / 2), top + 16, anchor="middle")


def _table(classes: Sequence[ClassBooks]) -> Table:
    parts = [name for name, _ in ORDER]
    columns = ["class", "book", *parts, "sum", "promised, not recorded", "capacity", "free"]
    return Table(
        id="capacity-numbers",
        caption="Amounts of each class by book",
        columns=tuple(
            Column(heading=name, is_number=place > 1, is_word=place < 2) for place, name in enumerate(columns)
        ),
        rows=tuple(_cells(each, book) for each in classes for book in each.books),
    )


def _cells(each: ClassBooks, book: Book) -> tuple[Cell, ...]:
    name = each.resource_class
    known = [Cell(text=_not_known(book))] * (len(ORDER) + 2)
    if book.is_known:
        amounts = [part.amount for part in book.parts]
        known = [amount(name, value) for value in (*amounts, book.total, book.lacking)]
    capacity = Cell(text=NOT_KNOWN) if each.capacity is None else amount(name, each.capacity)
    free = Cell(text="") if each.free is None else amount(name, each.free)
    return (Cell(text=name), Cell(text=book.name), *known, capacity, free)
