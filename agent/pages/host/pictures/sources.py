"""Picture of the sources: how long each read took.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.model.report import SourceStatus
from agent.pages.bars import BASE, HEIGHT, unread_bar
from agent.pages.blocks import Cell, Column, Meaning, Picture, Shape, Table
from agent.pages.shapes import WIDTH, Box, label, rectangle, rule
from agent.pages.tables import NOT_KNOWN, cut
from agent.text.amounts import age_text

_LEFT, _RIGHT = 130.0, WIDTH - 110.0
_ROW = 30.0
_MOST_CHARACTERS = 80


def sources_picture(sources: Sequence[SourceStatus]) -> Picture:
    """Return the picture of the sources, in the order in which the audit read them."""
    longest = max([1.0, *(source.duration_ms for source in sources if source.ok)])
    shapes: list[Shape] = []
    for place, source in enumerate(sources):
        shapes.extend(_row(source, place * _ROW, (_RIGHT - _LEFT) / longest))
    bottom = len(sources) * _ROW + 2
    shapes.append(rule(_LEFT, bottom, _RIGHT, bottom))
    if any(source.ok for source in sources):
        shapes.append(label("0 ms", _LEFT, bottom + 18, look="faint"))
        shapes.append(label(ms_text(longest), _RIGHT, bottom + 18, anchor="end", look="faint"))
    return Picture(
        id="sources-picture",
        title="Time to read each source",
        conclusion=_conclusion(sources),
        height=bottom + 26,
        shapes=tuple(shapes),
        table=_table(sources),
        legend=((Meaning.COUNTED, "read"), (Meaning.UNREAD, "not read")),
    )


def ms_text(duration_ms: float) -> str:
    """Return the duration as a text in ms, with one decimal if it is below 10 ms."""
    return f"{duration_ms:.0f} ms" if duration_ms >= 10 else f"{duration_ms:.1f} ms"


def why_unread(source: SourceStatus) -> str:
    """Return the reason why the audit could not read the source."""
    if not source.asked:
        return f"not asked: {why_not_asked(source)}"
    return source.error or "no answer"


def why_not_asked(source: SourceStatus) -> str:
    """Return the reason why the audit did not try to read the source. Reports of older agents do not have it."""
    return source.not_asked_because or "another source could not be read"


def _row(source: SourceStatus, top: float, per_ms: float) -> Iterator[Shape]:
    yield label(cut(source.name, 14), _LEFT - 8, top + BASE, anchor="end")
    if source.ok:
        width = max(2.0, source.duration_ms * per_ms)
        text = f"{source.name}: {ms_text(source.duration_ms)}"
        yield rectangle(Meaning.COUNTED, Box(_LEFT, top, width, HEIGHT), text)
        yield label(ms_text(source.duration_ms), _LEFT + width + 8, top + BASE)
    else:
        yield from unread_bar(_LEFT, top, _RIGHT - _LEFT, cut(why_unread(source), _MOST_CHARACTERS))
        yield label("not read", _RIGHT + 8, top + BASE)


def _conclusion(sources: Sequence[SourceStatus]) -> str:
    unread = [source for source in sources if not source.ok]
    read = [source for source in sources if source.ok]
    slowest = max(read, key=lambda source: source.duration_ms, default=None)
    took = f"; of these, {slowest.name} took longest, {ms_text(slowest.duration_ms)}" if slowest else ""
    not_read = f"; not read: {', '.join(map(_given_up, unread))}" if unread else ""
    return f"{len(read)} of {len(sources)} sources were read{took}{not_read}."


def _given_up(source: SourceStatus) -> str:
    return f"{source.name} (given up after {ms_text(source.duration_ms)})" if source.asked else source.name


def _table(sources: Sequence[SourceStatus]) -> Table:
    columns = ("source", "result", "duration", "last read", "error")
    return Table(
        id="sources-numbers",
        caption="How this audit read each source",
        columns=tuple(Column(heading=name, is_number=name == "duration", is_word=name == "result") for name in columns),
        rows=tuple(_cells(source) for source in sources),
    )


def _cells(source: SourceStatus) -> tuple[Cell, ...]:
    how = f"read ({source.read})" if source.read else "read"
    result = Cell(text=how, meaning=Meaning.COUNTED) if source.ok else Cell(text="not read", meaning=Meaning.UNREAD)
    age = source.age_s
    last = "never" if age is None else "in this audit" if source.ok else f"age {age_text(age)}"
    duration = ms_text(source.duration_ms) if source.asked else NOT_KNOWN
    why = "" if source.ok else cut(why_unread(source))
    return (Cell(text=cut(source.name)), result, Cell(text=duration), Cell(text=last), Cell(text=why))
