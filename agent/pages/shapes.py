"""Make the shapes of pictures: rectangles, labels, lines. Lengths are in units; a picture is 960 units wide.

Pure: no I/O.

Only the browser knows the real width of a text, so the module uses an upper estimate: a character takes 0.62 of the
font size, and a wide East Asian character the whole font size.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from agent.pages.blocks import Meaning, Shape
from agent.text.wording import printable

WIDTH = 960.0
#: The font size of the texts in a picture, in units; no picture has a smaller font.
TYPE = 14.0
_PER_CHARACTER = 0.62
_WIDE = frozenset({"W", "F"})


class Box(NamedTuple):
    """A rectangle's place in a picture."""

    left: float
    top: float
    width: float
    height: float


def number(value: float) -> str:
    """Return a coordinate with at most two decimals."""
    return f"{round(value, 2):g}" if abs(value) < 1e5 else str(round(value))


def rectangle(meaning: Meaning, box: Box, title: str = "") -> Shape:
    """Return a rectangle in the colour and pattern for ``meaning``. ``title`` is the tooltip of the rectangle."""
    children = (Shape(tag="title", text=title),) if title else ()
    return Shape(tag="rect", attributes=(*_sides(box), ("class", meaning.value)), children=children)


def plate(box: Box) -> Shape:
    """Return a rectangle in the colour of the page, on which a label is readable."""
    return Shape(tag="rect", attributes=(*_sides(box), ("class", "plate")))


def outline(box: Box, look: str = "thin") -> Shape:
    """Return the outline of a rectangle, without a fill; ``look`` is ``thin`` or ``thick``."""
    return Shape(tag="rect", attributes=(*_sides(box), ("class", f"outline {look}")))


def label(text: str, left: float, base: float, *, anchor: str = "start", look: str = "") -> Shape:
    """Return a text whose base line is at ``base``. ``anchor`` is ``start``, ``middle`` or ``end``.

    ``look`` is "" or the name of a style: ``strong``, ``faint``, ``on-fill``.
    """
    attributes = [("x", number(left)), ("y", number(base))]
    attributes += [("text-anchor", anchor)] if anchor != "start" else []
    attributes += [("class", look)] if look else []
    return Shape(tag="text", attributes=tuple(attributes), text=printable(text))


def rule(x1: float, y1: float, x2: float, y2: float, look: str = "axis") -> Shape:
    """Return a line. ``look`` is the name of a style: ``axis``, ``tick``, ``capacity``, ``dashed``."""
    ends = (("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2))
    return Shape(tag="line", attributes=(*((name, number(value)) for name, value in ends), ("class", look)))


def text_width(text: str, size: float = TYPE) -> float:
    """Return the estimated width of a text, in the picture's units (SVG user units)."""
    wide = sum(unicodedata.east_asian_width(character) in _WIDE for character in text)
    return (wide + (len(text) - wide) * _PER_CHARACTER) * size


def fitted(text: str, width: float, size: float = TYPE) -> str:
    """Return the text, cut with ``...`` if it is wider than ``width``; "" if not even a few characters fit."""
    shown = printable(text[: int(width) + 1])
    if len(text) <= int(width) + 1 and text_width(shown, size) <= width:
        return shown
    while shown and text_width(f"{shown}...", size) > width:
        shown = shown[:-1]
    return f"{shown}..." if len(shown) > 1 else ""


def _sides(box: Box) -> tuple[tuple[str, str], ...]:
    sides = (("x", box.left), ("y", box.top), ("width", box.width), ("height", box.height))
    return tuple((name, number(value)) for name, value in sides)
