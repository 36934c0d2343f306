"""Divide a bar into segments, and draw it.

A bar has one segment for each part. A segment's width is in proportion to the part's amount. If a segment would be too
narrow to be seen, it gets the minimum width, and the wider segments become narrower. The segments have the order of the
parts, do not overlap, and together fill the whole bar.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.pages.blocks import Meaning, Shape
from agent.pages.shapes import TYPE, Box, fitted, label, plate, rectangle, text_width

#: The minimum width of a segment, in SVG units.
LEAST = 3.0
#: The height of a bar, and the distance from the top of the bar to the base line of a text in the bar, in units.
HEIGHT = 22.0
BASE = 16.0
_SOLID = frozenset({Meaning.COUNTED, Meaning.WRONG})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a bar: an amount of at least 0, and its name."""

    name: str
    meaning: Meaning
    amount: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The rectangle of one part in the bar: its left edge and its width, in units."""

    part: Part
    left: float
    width: float


def segments(parts: Sequence[Part], left: float, width: float) -> tuple[Segment, ...]:
    """Divide a bar of ``width`` units, which begins at ``left``, among the parts whose amount is not zero."""
    shown = [part for part in parts if part.amount > 0]
    total = sum(part.amount for part in shown)
    if not shown or width <= 0:
        return ()
    widths = _visible([width * part.amount / total for part in shown])
    found, at = [], left
    for part, each in zip(shown, widths, strict=True):
        found.append(Segment(part=part, left=at, width=each))
        at += each
    return tuple(found)


def merged(parts: Sequence[Part], least: float) -> tuple[Part, ...]:
    """Return the parts, with small parts merged: all small parts of one meaning become one part.

    A part is small if its share of the sum is less than ``least`` (0 to 1). The large parts come first in the result.
    """
    total = sum(part.amount for part in parts)
    large = [part for part in parts if part.amount >= least * total]
    small: dict[Meaning, list[Part]] = {}
    for part in parts:
        if 0 < part.amount < least * total:
            small.setdefault(part.meaning, []).append(part)
    rest = [
        Part(name=", ".join(part.name for part in each), meaning=meaning, amount=sum(part.amount for part in each))
        for meaning, each in small.items()
    ]
    return (*large, *rest)


def drawn(found: Sequence[Segment], top: float, texts: Sequence[str], gap: float = 0.0) -> Iterator[Shape]:
    """Yield the bar's shapes.

    ``texts`` has the tooltip of each segment; ``gap`` is the empty space between segments, in units.
    """
    for segment, text in zip(found, texts, strict=True):
        width = max(1.0, segment.width - gap)
        # A segment with the meaning WRONG has an outline of 2 units. SVG draws half of it outside of the rectangle, so
        # the rectangle is made smaller by ``edge``. Otherwise the outline would reach into the next segment.
        edge = 1.0 if segment.part.meaning is Meaning.WRONG and width > 2 * LEAST else 0.0
        box = Box(segment.left + edge, top + edge, width - 2 * edge, HEIGHT - 2 * edge)
        yield rectangle(segment.part.meaning, box, text)


def names(found: Sequence[Segment], top: float, least: float) -> Iterator[Shape]:
    """Yield the names of the segments that are at least ``least`` units wide, on a readable background."""
    for segment in found:
        text = fitted(segment.part.name, segment.width - 12) if segment.width >= least else ""
        if not text:
            continue
        middle = segment.left + segment.width / 2
        if segment.part.meaning in _SOLID:
            yield label(text, middle, top + BASE, anchor="middle", look="on-fill")
        else:
            wide = min(segment.width - 6, text_width(text) + 8)
            yield plate(Box(middle - wide / 2, top + (HEIGHT - TYPE - 4) / 2, wide, TYPE + 4))
            yield label(text, middle, top + BASE, anchor="middle")


def unread_bar(left: float, top: float, width: float, text: str) -> Iterator[Shape]:
    """Yield a cross-hatched bar, which stands for an amount that was not read, with ``text`` on the bar."""
    yield rectangle(Meaning.UNREAD, Box(left, top, width, HEIGHT), text)
    shown = fitted(f"? {text}", width - 20)
    if shown:
        yield plate(Box(left + 8, top + 1, text_width(shown) + 8, HEIGHT - 2))
        yield label(shown, left + 12, top + BASE)


def _visible(widths: Sequence[float]) -> list[float]:
    """Widen each width below ``LEAST`` to ``LEAST``, and narrow the others so that the sum stays the same.

    If the bar is too short for the wider segments, return ``widths`` unchanged.
    """
    total = sum(widths)
    if total < LEAST * len(widths) * 2:
        return list(widths)
    lacking = sum(LEAST - width for width in widths if width < LEAST)
    spare = sum(width - LEAST for width in widths if width > LEAST)
    return [
        LEAST if width < LEAST else width - (width - LEAST) * lacking / spare if spare else width for width in widths
    ]
