"""Picture of the time line: a bar for each finding of the report, and a mark for each change of the journal.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.model.finding import FindingState, SeenFinding
from agent.pages.blocks import Cell, Column, Meaning, Picture, Shape, Table
from agent.pages.host.facts import Change
from agent.pages.host.findings import MEANINGS, who
from agent.pages.shapes import WIDTH, Box, fitted, label, rectangle, rule, text_width
from agent.pages.tables import NOT_KNOWN, cut
from agent.pages.times import moment_of, utc

MOST_DAYS = 30
MOST_ROWS = 40
_LEFT, _RIGHT = 320.0, WIDTH - 12.0
_ROW, _BAR, _LANE = 22.0, 12.0, 20.0
_MOST_LANES = 3
_MARKS = {"heal": "▲", "undo": "▼", "adopt": "◆"}
_LEGEND = ((Meaning.WRONG, "error"), (Meaning.FOREIGN, "warning"), (Meaning.RESERVED, "info"))
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The x axis: the left edge of the picture is the moment ``start``, the right edge the moment ``end``."""

    start: datetime.datetime
    end: datetime.datetime

    def x(self, moment: datetime.datetime) -> float:
        """Return the moment's x coordinate in units; a moment outside of the axis is at the nearer edge."""
        length = (self.end - self.start).total_seconds()
        share = (moment - self.start).total_seconds() / length if length > 0 else 1.0
        return _LEFT + min(1.0, max(0.0, share)) * (_RIGHT - _LEFT)


def timeline_picture(
    found: Sequence[SeenFinding], changes: Sequence[Change], names: Mapping[str, str], now: str
) -> Picture:
    """Return the picture with a bar for each finding, in the given order, and the marks of the journal's changes."""
    shown = found[:MOST_ROWS]
    scale = scale_of([seen.first_seen_at for seen in found] or [change.at for change in changes], now)
    marks = list(_changes(changes, scale))
    shapes: list[Shape] = [shape for _, shape in marks]
    top = max((lane + 1 for lane, _ in marks), default=0) * _LANE + 4
    for place, seen in enumerate(shown):
        shapes.extend(_finding(seen, names, scale, top + place * _ROW))
    bottom = top + len(shown) * _ROW + 4
    shapes.extend(_axis(scale, bottom))
    return Picture(
        id="timeline-picture",
        title="When an audit first saw each finding, and which changes were made",
        conclusion=_conclusion(found, changes, scale),
        height=bottom + 26,
        shapes=tuple(shapes),
        table=_table(shown, names),
        legend=_LEGEND if shown else (),
    )


def scale_of(times: Sequence[str], now: str) -> Scale:
    """Return the time axis from the earliest of ``times`` until ``now``. The axis is 1 minute to 30 days long."""
    end = moment_of(now) or datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    moments = [moment for text in times if (moment := moment_of(text)) is not None]
    start = min((*moments, end - datetime.timedelta(minutes=1)))
    return Scale(start=max(start, end - datetime.timedelta(days=MOST_DAYS)), end=end)


def _finding(seen: SeenFinding, names: Mapping[str, str], scale: Scale, top: float) -> Iterator[Shape]:
    finding = seen.finding
    begin, last = moment_of(seen.first_seen_at), moment_of(seen.last_seen_at)
    yield label(fitted(f"{finding.code} {_short(seen, names)}", _LEFT - 16), 0, top + 13)
    if begin is None:
        yield label("first seen: not known", _LEFT + 4, top + 13, look="faint")
        return
    left = scale.x(begin)
    is_lost = seen.state is FindingState.UNKNOWN
    right = scale.x(last) if is_lost and last is not None else _RIGHT
    words = f"{finding.code}: first seen {utc(seen.first_seen_at)}, last checked {utc(seen.last_seen_at) or 'never'}"
    yield rectangle(MEANINGS[finding.severity], Box(left, top + 2, max(3.0, right - left), _BAR), words)
    if is_lost:
        yield rule(max(right, left + 3), top + 2 + _BAR / 2, _RIGHT, top + 2 + _BAR / 2, "dashed")
    if begin < scale.start:
        yield label("◀", _LEFT - 4, top + 13, anchor="end")


def _short(seen: SeenFinding, names: Mapping[str, str]) -> str:
    """Return the consumer's name or the first digits of its uuid; without a consumer, the finding's subject."""
    consumer = seen.finding.consumer_uuid
    return who(seen, names) if consumer is None else names.get(consumer) or consumer[:8]


def _changes(changes: Sequence[Change], scale: Scale) -> Iterator[tuple[int, Shape]]:
    """Yield (index of a lane, mark) for each change. A lane is a row of marks above the bars.

    There are three lanes; lane 0 is the highest. A change gets no mark if it is older than the axis, or if no lane has
    room.
    """
    ends = [0.0] * _MOST_LANES
    for change in sorted(changes, key=lambda each: each.at):
        moment = moment_of(change.at)
        if moment is None or moment < scale.start:
            continue
        mark, digits = _MARKS[change.kind], change.id[:4]
        x = scale.x(moment)
        text = f"{mark} {digits}"
        left = min(x, WIDTH - text_width(text))
        lane = next((lane for lane, end in enumerate(ends) if end + 4 <= left), None)
        if lane is None:
            continue
        ends[lane] = left + text_width(text)
        yield lane, label(text, left, 15 + lane * _LANE)


def _axis(scale: Scale, bottom: float) -> Iterator[Shape]:
    yield rule(_LEFT, bottom, _RIGHT, bottom)
    day = scale.start.astimezone(datetime.UTC).replace(hour=0, minute=0, second=0, microsecond=0) + _DAY
    end = _RIGHT - text_width("now") / 2 - 30
    yield label("now", _RIGHT, bottom + 18, anchor="end", look="faint")
    start = f"{scale.start.astimezone(datetime.UTC):%m-%d %H:%M}"
    yield label(start, _LEFT, bottom + 18, look="faint")
    last = _LEFT + text_width(start) + 8
    while day <= scale.end:
        x = scale.x(day)
        yield rule(x, bottom, x, bottom + 5, "tick")
        text = f"{day:%m-%d}"
        half = text_width(text) / 2
        if last < x - half and x + half < end:
            yield label(text, x, bottom + 18, anchor="middle", look="faint")
            last = x + half + 8
        day += _DAY


def _conclusion(found: Sequence[SeenFinding], changes: Sequence[Change], scale: Scale) -> str:
    oldest = min((seen.first_seen_at for seen in found if seen.first_seen_at), default="")
    since = f"the oldest was first seen at {utc(oldest)}" if oldest else "first seen at an unknown time"
    count = f"{len(found)} finding{'' if len(found) == 1 else 's'}" if found else "No finding"
    made = f"{len(changes)} change{'' if len(changes) == 1 else 's'} in {MOST_DAYS} days"
    more = f" The picture shows the {MOST_ROWS} most urgent findings." if len(found) > MOST_ROWS else ""
    earlier = sum((moment := moment_of(change.at)) is not None and moment < scale.start for change in changes)
    before = f", {earlier} of them before the time that the picture shows" if earlier else ""
    return f"{count}{f', {since}' if found else ''}; {made}{before}.{more}"


def _table(found: Sequence[SeenFinding], names: Mapping[str, str]) -> Table:
    columns = ("severity", "code", "about", "state", "began", "first seen", "last checked")
    return Table(
        id="timeline-numbers",
        caption="When each finding began, was first seen and was last checked",
        columns=tuple(Column(heading=name, is_word=name != "about") for name in columns),
        rows=tuple(
            (
                Cell(text=seen.finding.severity.value, meaning=MEANINGS[seen.finding.severity]),
                *(Cell(text=cut(text)) for text in (seen.finding.code, who(seen, names), seen.state.value)),
                *(
                    Cell(text=utc(text) if text else NOT_KNOWN)
                    for text in (seen.finding.began_at, seen.first_seen_at, seen.last_seen_at)
                ),
            )
            for seen in found
        ),
    )
