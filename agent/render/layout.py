"""The values from which a command's text output is drawn: lines of words, and tables. Pure: no I/O.

The functions that compose a text return these values. ``agent/render/draw.py`` wraps, aligns and colours them for one
terminal. A plain ``str`` is also accepted as a line that may be wrapped.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from agent.model.finding import FindingState, Severity
from agent.model.report import Outcome, Verdict

# The lines of a finding begin with a label of this width. The label is right-aligned; a colon and a blank follow it.
LABEL_WIDTH = 5
MARGIN = LABEL_WIDTH + 2

#: The width in terminal columns for output to a pipe or a file, where nothing is wrapped or cut.
UNLIMITED = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one output stream can show.

    ``width`` is the number of terminal columns. If it is None, nothing is wrapped or cut.
    """

    width: int | None = None
    colour: bool = False
    encoding: str = "utf-8"


PLAIN = Look()


class Tone(enum.Enum):
    """How good or bad a status word in the output is. A terminal shows each tone in its own colour.

    Without colour, the word itself must say the same.
    """

    PLAIN = "plain"
    BAD = "bad"
    DOUBTFUL = "doubtful"
    NOTE = "note"
    GOOD = "good"
    UNKNOWN = "unknown"


_TONES = {
    Severity.ERROR.value: Tone.BAD,
    Severity.WARNING.value: Tone.DOUBTFUL,
    Severity.INFO.value: Tone.NOTE,
    FindingState.SEEN.value: Tone.NOTE,
    FindingState.CONFIRMED.value: Tone.BAD,
    FindingState.UNKNOWN.value: Tone.UNKNOWN,
    Outcome.CLEAN.value: Tone.GOOD,
    Outcome.FINDINGS.value: Tone.DOUBTFUL,
    Outcome.PARTIAL.value: Tone.UNKNOWN,
    Outcome.REFUSED.value: Tone.BAD,
    Outcome.UNREADABLE.value: Tone.BAD,
    Outcome.CRASHED.value: Tone.BAD,
    Verdict.AGREED.value: Tone.GOOD,
    Verdict.RESERVED.value: Tone.NOTE,
    Verdict.UNMANAGED.value: Tone.NOTE,
    Verdict.SETTLING.value: Tone.NOTE,
    Verdict.OTHER_SERVICE.value: Tone.NOTE,
    Verdict.ALLOCATION_LEAKED.value: Tone.BAD,
    Verdict.ALLOCATION_STALE_MOVE.value: Tone.BAD,
    Verdict.ALLOCATION_MISSING.value: Tone.BAD,
    Verdict.ALLOCATION_DIFFERS.value: Tone.BAD,
    Verdict.GUEST_MISSING.value: Tone.BAD,
    Verdict.GUEST_UNKNOWN.value: Tone.BAD,
    Verdict.CONSUMER_UNKNOWN.value: Tone.DOUBTFUL,
    Verdict.USAGE_UNLISTED.value: Tone.DOUBTFUL,
    "not-compared": Tone.UNKNOWN,
    "ok": Tone.GOOD,
    "fails": Tone.BAD,
}


def tone_of(word: str) -> Tone:
    """Return the tone (colour) of a status word, such as a severity or an outcome; PLAIN for any other word."""
    return _TONES.get(word.lower(), Tone.PLAIN)


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text in one tone (colour by meaning)."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text, wrapped at blanks on a narrow terminal, with ``hang`` blanks before each further line.

    A ``whole`` line is never wrapped, because the operator copies the line.
    """

    spans: tuple[Span, ...]
    hang: int = 0
    whole: bool = False

    @property
    def text(self) -> str:
        """The text without tones."""
        return "".join(span.text for span in self.spans)


class Kind(enum.Enum):
    """How a column of a table is made narrower. Columns of the kinds WORD and NUMBER keep their width.

    UUID: a uuid is shortened to its first 8 digits. NAME: a name is cut in its middle. TEXT: a text is wrapped at its
    blanks. CUT: a text is cut at its end. A NUMBER is aligned to the right.
    """

    WORD = "word"
    NUMBER = "number"
    UUID = "uuid"
    NAME = "name"
    TEXT = "text"
    CUT = "cut"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table. ``name`` is the column's name for ``-c``.

    ``toned``: the cells are words that get a colour by their meaning (Tone).

    ``readable`` is the least width at which the column is readable; 0 means the usual width for the kind. If the column
    would become narrower, the table leaves out another column instead.
    """

    name: str
    heading: str
    kind: Kind = Kind.WORD
    toned: bool = False
    readable: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table.

    ``leave_out`` names the columns that a narrow table may leave out. The column that is named first is left out first.
    ``hint`` says how to get the columns that were left out, such as ``-c shows them``.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    leave_out: tuple[str, ...] = ()
    hint: str = "-c shows them"
    indent: int = 0


Block = str | Line | Grid


def toned(word: str, shown: str = "") -> Span:
    """Return the text ``shown`` in the colour of the status word ``word``. If ``shown`` is empty, return the word."""
    return Span(shown or word, tone_of(word))


def line(*parts: str | Span, hang: int = 0) -> Line:
    """Return a line that may be wrapped."""
    return Line(tuple(part if isinstance(part, Span) else Span(part) for part in parts), hang)


def labelled(label: str, text: str) -> Line:
    """Return ``label: text`` as a line of a finding.

    The texts of all labels are aligned, and the text may be wrapped.
    """
    return Line((Span(f"{label:>{LABEL_WIDTH}}: {text}"),), MARGIN)


def copyable(label: str, command: str) -> Line:
    """Return ``label: command`` as one line that is never wrapped, so that the operator can copy the command."""
    return Line((Span(f"{label:>{LABEL_WIDTH}}: {command}"),), whole=True)
