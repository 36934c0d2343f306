"""Make the lines of the live screen and of ``watch --once``: head, table, details and the line with the keys.

Each line fits the width, so that the terminal wraps no line; only lines with a command to copy may be longer.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from agent.cmd.watching.ui import Ui, selected_row
from agent.fleet.conditions import GLYPHS, QUIET, Condition
from agent.fleet.details import RUN_THERE, details
from agent.fleet.head import counts, problems, sums, title
from agent.fleet.strip import strip
from agent.fleet.table import CUT, GAP, HEAD, LEAST_WHAT, Cells, cells_of, columns_for
from agent.fleet.view import FleetView, HostRow
from agent.render.layout import Line, Span, Tone

#: The width in columns of the heat strip (one character for each host) if the width of the output is unknown.
USUAL_STRIP = 80
#: The maximum number of problems (such as an unreachable broker) that the screen's head lists. Others are counted.
MOST_PROBLEMS = 3
#: The maximum number of columns for the filter's text in the screen's last line, which also explains the keys.
MOST_FILTER = 24
#: The number of table rows that stay visible if the screen is too low for the whole head.
LEAST_ROWS = 3

TONES = {
    Condition.NEVER: Tone.BAD,
    Condition.SILENT: Tone.UNKNOWN,
    Condition.CRASHED: Tone.BAD,
    Condition.REFUSED: Tone.BAD,
    Condition.ERROR: Tone.BAD,
    Condition.UNREADABLE: Tone.UNKNOWN,
    Condition.PARTIAL: Tone.UNKNOWN,
    Condition.UNRATED: Tone.DOUBTFUL,
    Condition.WARNING: Tone.DOUBTFUL,
    Condition.INFO: Tone.NOTE,
    Condition.AWAITED: Tone.PLAIN,
    Condition.CLEAN: Tone.GOOD,
}
_RIGHT = frozenset({"for_s"})
_LABEL = max(len(name) for name in ("condition", "confirmed", RUN_THERE, "MEMORY_MB")) + GAP


class Size(NamedTuple):
    """The size of a terminal, in columns and lines."""

    columns: int
    lines: int


def page_of(view: FleetView, size: Size) -> int:
    """Return the number of table rows that fit on the screen below the head."""
    return max(1, size.lines - len(_screen_head(view, size)) - 2)


def screen_lines(view: FleetView, ui: Ui, rows: Sequence[HostRow], size: Size) -> tuple[Line, ...]:
    """Return the lines of the live screen. ``ui`` must be the result of ``placed`` (ui.py) for these rows."""
    row = selected_row(ui, rows)
    if ui.detail_top is not None and row is not None:
        body = _details_page(row, ui.detail_top, view, size)
    else:
        shown = rows[ui.top : ui.top + page_of(view, size)]
        body = [
            *_screen_head(view, size),
            *_table(view, shown, size.columns, ui.index - ui.top),
            *_none(view, ui, rows),
        ]
    body = body[: size.lines - 1]
    blank = [_plain("")] * (size.lines - 1 - len(body))
    return (*body, *blank, _plain(_fit(_foot(ui, rows, page_of(view, size)), size.columns)))


def report_lines(view: FleetView, rows: Sequence[HostRow], width: int | None) -> tuple[Line, ...]:
    """Return the lines of ``watch --once``: the head and all rows. If ``width`` is None, no line is cut."""
    return (*_head(view, width), *_table(view, rows, width, None))


def _screen_head(view: FleetView, size: Size) -> list[Line]:
    """Return the head of the screen; on a screen with few lines, the last lines of the head are left out."""
    return _head(view, size.columns)[: max(1, size.lines - 2 - LEAST_ROWS)]


def _head(view: FleetView, width: int | None) -> list[Line]:
    found = problems(view)
    more = [f"and {len(found) - MOST_PROBLEMS} more problems"] if len(found) > MOST_PROBLEMS else []
    return [
        _plain(_fit(title(view), width)),
        *(Line((Span(_fit(text, width), Tone.UNKNOWN),)) for text in (*found[:MOST_PROBLEMS], *more)),
        _strip_line(view, width or USUAL_STRIP),
        *map(_plain, (*_wrapped(counts(view), width), *_wrapped(sums(view), width))),
    ]


def _strip_line(view: FleetView, width: int) -> Line:
    return Line(tuple(Span(GLYPHS[condition], TONES[condition]) for condition in strip(view.rows, width)))


def _table(view: FleetView, rows: Sequence[HostRow], width: int | None, selected: int | None) -> Iterator[Line]:
    """Yield the table's head and rows. If ``selected`` is a row's index, an extra first column marks this row."""
    margin = 0 if selected is None else 1
    room = None if width is None else width - margin
    cells = [cells_of(row, view.moment.at, room) for row in rows]
    widths = {name: max(cell_len(getattr(each, name)) for each in (HEAD, *cells)) for name in Cells._fields}
    columns = columns_for(room, widths, cells=len(view.cells))
    if room is not None:
        others = sum(widths[name] for name in columns if name != "what") + GAP * (len(columns) - 1)
        widths["what"] = min(widths["what"], max(LEAST_WHAT, room - others))
    for number, (each, row) in enumerate(zip((HEAD, *cells), (None, *rows), strict=True)):
        mark = ">" if selected is not None and number == selected + 1 else " " * margin
        texts = [_padded(getattr(each, name), widths[name], right=name in _RIGHT) for name in columns]
        sev, rest = texts[0], (" " * GAP).join(("", *texts[1:])).rstrip()
        # ``columns_for`` leaves out columns if the terminal is narrow, but some columns are always shown. The line is
        # cut only if even these columns are too wide.
        rest = _fit(rest, None if room is None else room - len(sev))
        yield Line((Span(mark), Span(sev, TONES[row.condition] if row else Tone.PLAIN), Span(rest)))


def _none(view: FleetView, ui: Ui, rows: Sequence[HostRow]) -> Iterator[Line]:
    """Yield a line that says why the table is empty; yield nothing if the table has rows."""
    if rows:
        return
    quiet = sum(view.counts[condition] for condition in QUIET)
    hidden = (
        f"; press a to show {quiet} hosts that are clean or have not reported yet"
        if quiet and not ui.choice.with_quiet
        else ""
    )
    filtered = f" that matches the filter {' '.join(ui.choice.words)}" if ui.choice.words else ""
    yield _plain(f" no host{filtered}{hidden}")


def _details_page(row: HostRow, top: int, view: FleetView, size: Size) -> list[Line]:
    lines = [line for name, text in details(row, view.moment.at) for line in _detail(name, text, size.columns)]
    room = max(1, size.lines - 2)
    top = min(top, max(0, len(lines) - room))
    return [_plain(_fit(title(view), size.columns)), *lines[top : top + room]]


def _detail(name: str, text: str, width: int) -> Iterator[Line]:
    label = f"{name:<{_LABEL}}"
    if name == RUN_THERE:
        yield Line((Span(f"{label}{text}"),), whole=True)
        return
    for number, piece in enumerate(_folded(text, max(1, width - _LABEL))):
        yield _plain(_fit((label if number == 0 else " " * _LABEL) + piece, width))


def _folded(text: str, width: int) -> list[str]:
    """Return the text in lines of at most ``width`` columns; a longer word is continued in the next line."""
    return [piece.plain.rstrip() for piece in Text(text).wrap(Console(width=width), width, overflow="fold")] or [""]


def _foot(ui: Ui, rows: Sequence[HostRow], page: int) -> str:
    if ui.typed is not None:
        return f"filter: {ui.typed}_   (text, sev:error, code:X, group:G; Enter applies, Esc cancels)"
    if ui.message:
        return ui.message
    if ui.detail_top is not None:
        return "Enter closes  arrows scroll  u starts an audit  q quits"
    filtered = f": {_fit(' '.join(ui.choice.words), MOST_FILTER)}" if ui.choice.words else ""
    every = "not clean" if ui.choice.with_quiet else "all"
    place = f"{ui.top + 1}-{min(ui.top + page, len(rows))} of {len(rows)}  " if rows else ""
    return f"{place}s sort: {ui.choice.sort}  f filter{filtered}  a {every}  Enter details  u audit  q quit"


def _wrapped(text: str, width: int | None) -> Iterable[str]:
    return [text] if width is None else textwrap.wrap(text, max(1, width), break_on_hyphens=False)


def _fit(text: str, width: int | None) -> str:
    """Return the text. If the text is wider than ``width``, cut its end and add CUT, which marks a cut text."""
    if width is None or cell_len(text) <= width:
        return text
    return (set_cell_size(text, width - len(CUT)) + CUT) if width > 0 else ""


def _padded(text: str, width: int, *, right: bool) -> str:
    fitted = _fit(text, width)
    blanks = " " * (width - cell_len(fitted))
    return blanks + fitted if right else fitted + blanks


def _plain(text: str) -> Line:
    return Line((Span(text),))
