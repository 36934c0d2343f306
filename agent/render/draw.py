"""Draw lines and tables with the library rich, in the width, the colours and the encoding of one terminal.

Only the commands import this module, and only for text: rich takes 40 ms to import. The result is a text without blanks
at the ends of its lines. Everything that a terminal would interpret (escape sequences, line ends and bidirectional
marks in the names that tenants chose) is escaped here, whatever the caller passes.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterable, Iterator

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from agent.render.layout import PLAIN, UNLIMITED, Block, Column, Grid, Kind, Line, Look, Span, Tone, tone_of
from agent.render.table_fit import GAP, Fitted, fitted
from agent.text.wording import printable

# Matches phrases that must stay on one line: `a command`, "[group] option = value", "--option value", a finding's code
# with its id, "confirmed, 5 minutes", "max_unit 48", "4 -> 8", "8 VCPU".
_GLUED = re.compile(
    r"""`[^`]*`|"(?:stocktake|openstack)\ [^"]*"|\[[A-Za-z0-9_.-]+\]\ [a-z0-9_]+(?:\ =\ \S+)?|--[a-z][a-z-]*\ (?!--)\S+
    |[a-z-]+\ \[[0-9a-f]{8}\]|(?:seen|confirmed|unknown),\ (?:new|\d+\ [a-z]+)|\b[a-z]+_[a-z]+\ -?\d[\d.]*|\S+\ ->\ \S+
    |\b\d+\ [A-Za-z][A-Za-z0-9_]*\b""",
    re.VERBOSE,
)
# While a line is wrapped, this character stands for each blank inside a phrase that _GLUED matches, so that the line
# does not break there. No text has this character itself, because ``printable`` escapes it.
_GLUE = "\ue000"
_STYLES = {
    Tone.PLAIN: "",
    Tone.BAD: "bold red",
    Tone.DOUBTFUL: "yellow",
    Tone.NOTE: "cyan",
    Tone.GOOD: "green",
    Tone.UNKNOWN: "magenta",
}


def drawn(blocks: Iterable[Block], look: Look = PLAIN) -> str:
    """Return the text of the blocks, each line with its line end."""
    pen = _Pen(look)
    return "".join(f"{text}\n" for block in blocks for text in pen.lines_of(block))


class _Pen:
    """Draws blocks into a string, with the class ``Console`` of the library ``rich``."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._mark = "\u2026" if _has(look.encoding, "\u2026") else "..."
        self._console = Console(
            file=io.StringIO(),
            width=UNLIMITED,
            color_system="standard" if look.colour else None,
            force_terminal=look.colour,
            no_color=not look.colour,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
            _environ={},
        )

    def lines_of(self, block: Block) -> Iterator[str]:
        match block:
            case Grid():
                yield from self._grid(block)
            case Line():
                yield from self._line(block)
            case str():
                # If a plain line is wrapped, its further lines are indented GAP blanks more than the first.
                hang = len(block) - len(block.lstrip(" ")) + GAP
                yield from self._line(Line((Span(block),), hang))

    def _line(self, line: Line) -> Iterator[str]:
        text = self._text(line.spans)
        width = self._look.width
        if line.whole or width is None or text.cell_len <= width:
            return self._shown(text)
        return (shown for piece in self._wrapped(text, width, line.hang) for shown in self._shown(piece))

    def _text(self, spans: Iterable[Span]) -> Text:
        listed = [Span(self._clean(span.text), span.tone) for span in spans]
        glued = _glued("".join(span.text for span in listed))
        text, at = Text(), 0
        for span in listed:
            text.append(glued[at : at + len(span.text)], style=_STYLES[span.tone])
            at += len(span.text)
        return text

    def _clean(self, text: str) -> str:
        return _encodable(printable(text), self._look.encoding)

    def _wrapped(self, text: Text, width: int, hang: int) -> Iterator[Text]:
        """Yield the lines. A word that is longer than a line stays whole, because the word may be a uuid or a path."""
        room, indent = width, ""
        while text.plain.strip():
            # A word that is longer than the line stays whole, see _cell.
            text.overflow = "ignore"
            first = text.wrap(self._console, room)[0]
            yield Text(indent) + first
            rest = text.plain[len(first.plain) :]
            skipped = len(first.plain) + len(rest) - len(rest.lstrip(" "))
            text, room, indent = text[skipped:], max(1, width - hang), " " * hang

    def _grid(self, grid: Grid) -> Iterator[str]:
        rows = tuple(tuple(self._clean(cell) for cell in row) for row in grid.rows)
        cleaned = Grid(columns=grid.columns, rows=rows, leave_out=grid.leave_out, hint=grid.hint, indent=grid.indent)
        fit = fitted(cleaned, self._look.width, cell_len, lambda cell: _glued(cell).split(), self._mark)
        for shown in self._rows(fit):
            yield f"{' ' * grid.indent}{shown}"
        if fit.left_out:
            yield from self.lines_of(f"{' ' * grid.indent}left out: {', '.join(fit.left_out)} ({grid.hint})")

    def _rows(self, fit: Fitted) -> Iterator[str]:
        headings = tuple(column.heading for column in fit.columns)
        if any(headings):
            yield from self._row(fit, tuple(Text(heading) for heading in headings))
        for row in fit.rows:
            yield from self._row(fit, tuple(map(_cell, fit.columns, row)))

    def _row(self, fit: Fitted, cells: tuple[Text, ...]) -> Iterator[str]:
        """Yield the lines of one row: more than one if a text is wrapped."""
        parts = (
            (cell,) if cell.cell_len <= width else cell.wrap(self._console, width)
            for cell, width in zip(cells, fit.widths, strict=True)
        )
        for line in itertools.zip_longest(*parts, fillvalue=Text()):
            text = Text()
            for column, width, part in zip(fit.columns, fit.widths, line, strict=True):
                blanks = " " * (width - part.cell_len)
                text.append(blanks if column.kind is Kind.NUMBER else "").append_text(part)
                text.append(("" if column.kind is Kind.NUMBER else blanks) + " " * GAP)
            yield from self._shown(text)

    def _shown(self, text: Text) -> Iterator[str]:
        if not self._look.colour:
            # Without colours, rich would return the same text. rich is not used here, because it takes ten times as
            # long, and an audit of a host with many leaks has thousands of lines.
            yield text.plain.replace(_GLUE, " ").rstrip(" ")
            return
        text.rstrip()
        with self._console.capture() as capture:
            self._console.print(text, crop=False, overflow="ignore", no_wrap=True)
        yield capture.get().replace(_GLUE, " ").removesuffix("\n")


def _cell(column: Column, cell: str) -> Text:
    style = _STYLES[tone_of(cell)] if column.toned else ""
    # With overflow="ignore", rich shows a word whole even if the word is longer than its column. The Text object must
    # have this setting. If rich's method ``wrap`` got it as an argument, rich would not wrap any text.
    return Text.assemble((_glued(cell), style), overflow="ignore")


def _glued(text: str) -> str:
    """Replace each blank by _GLUE inside the phrases that _GLUED matches, so that each phrase stays on one line."""
    return _GLUED.sub(lambda found: found[0].replace(" ", _GLUE), text)


def _encodable(text: str, encoding: str) -> str:
    """Return the text with escapes in place of the characters that the stream cannot show.

    An escape is longer than its character, so this comes before the alignment.
    """
    return text if text.isascii() else text.encode(encoding, "backslashreplace").decode(encoding)


def _has(encoding: str, character: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
