"""The blocks that make up a section of a page: frozen values that the template draws.

Texts are plain text: the template escapes them. ``kind`` names the macro of templates/blocks.html that draws the block.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar


class Meaning(Enum):
    """What a colour means. The value is the name of the style in templates/style.css.

    - COUNTED: used as it should be.
    - MOVING: used by a running move, or kept for the revert of a resize.
    - WRONG: leaked, or of an unknown owner.
    - FOREIGN: used by something outside of the cloud.
    - RESERVED: reserved amounts, image caches, or volumes of the block storage service (Cinder).
    - LACKING: promised but not recorded.
    - FREE: not in use.
    - UNREAD: not known, because the source was not read.
    """

    COUNTED = "counted"
    MOVING = "moving"
    WRONG = "wrong"
    FOREIGN = "foreign"
    RESERVED = "reserved"
    LACKING = "lacking"
    FREE = "free"
    UNREAD = "unread"

    @property
    def glyph(self) -> str:
        """The character that stands for this meaning where there is no colour, for example in a table cell."""
        return _GLYPHS[self]

    @property
    def word(self) -> str:
        """The word for this colour or pattern in the legend of a picture."""
        return _WORDS[self]


_GLYPHS = {
    Meaning.COUNTED: "=",
    Meaning.MOVING: "=",
    Meaning.WRONG: "#",
    Meaning.FOREIGN: "+",
    Meaning.RESERVED: "-",
    Meaning.LACKING: "#",
    Meaning.FREE: "",
    Meaning.UNREAD: "?",
}
_WORDS = {
    Meaning.COUNTED: "instances",
    Meaning.MOVING: "moves and holds",
    Meaning.WRONG: "wrong",
    Meaning.FOREIGN: "not the cloud's",
    Meaning.RESERVED: "reserved",
    Meaning.LACKING: "missing",
    Meaning.FREE: "free",
    Meaning.UNREAD: "not read",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """Some sentences."""

    kind: ClassVar[str] = "paragraph"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A sentence with a coloured edge and a symbol. ``meaning`` selects both."""

    kind: ClassVar[str] = "note"
    text: str
    meaning: Meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentences:
    """A list of sentences."""

    kind: ClassVar[str] = "sentences"
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One large number with its name.

    ``meaning`` selects the colour: COUNTED if nothing is wrong. ``text`` is shown below the number and says what the
    number counts, or why the number is not known. ``lines`` are further facts, such as which hosts are affected.
    """

    name: str
    amounts: tuple[str, ...]
    meaning: Meaning
    text: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Large numbers side by side."""

    kind: ClassVar[str] = "figures"
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of a table.

    ``href`` is the target of the cell's link (``#`` and an id in the page), "" without a link; ``place`` is the cell's
    own id.
    """

    text: str
    meaning: Meaning | None = None
    href: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table: its heading, and the look of its cells.

    ``is_number``: the cells are right-aligned. ``is_code``: they have a monospaced font. ``is_command``: they have a
    monospaced font, and the browser breaks them only between words. ``is_word``: the browser never breaks them.

    In any other column the browser may break a word anywhere, because a tenant may have chosen a name of 200 letters.
    """

    heading: str
    is_number: bool = False
    is_code: bool = False
    is_word: bool = False
    is_command: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table. ``search`` is the label of its search box, "" if it has none. ``foot`` says what the table leaves out.

    ``rows`` are visible without a search. ``searched`` are further rows, which the page shows only if they match the
    search. Such a row may have fewer cells than there are columns.

    The search also finds hidden text of a row, which the page does not show:
    - ``also`` has the hidden text of each row of ``rows``.
    - In a row of ``searched``, the cells beyond the last column are hidden text.
    - ``marks`` has hidden texts that many rows of ``searched`` share. ``marked`` has each row's index in ``marks``.

    ``listed`` is the heading of one column, or "". Below the table, the page lists the cells of this column for all
    rows that match the search, so that the operator can copy the list.
    """

    kind: ClassVar[str] = "table"
    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    search: str = ""
    searched: tuple[tuple[str, ...], ...] = ()
    also: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    marked: tuple[int, ...] = ()
    listed: str = ""
    foot: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A line to paste into a shell, with a button that copies the line.

    ``label`` says what the command is for, such as ``fix`` or ``inspect``.
    """

    label: str
    words: str
    line: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingBlock:
    """One finding, or a group of similar findings: what is wrong, the impact, the commands, and further effects.

    ``members`` has a line for each finding of a group. ``history`` says which repairs were made, and which of them were
    undone. ``also`` names other findings that are effects of this one.
    """

    kind: ClassVar[str] = "finding"
    id: str
    severity: str
    meaning: Meaning
    code: str
    who: str
    state: str
    short_id: str
    actual: str
    impact: str
    members: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()
    also: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One SVG element. ``tag`` and the attributes' names are constants of the code, never data; ``text`` is escaped.

    ``attributes`` are (name, value) in the order in which they are written.
    """

    tag: str
    attributes: tuple[tuple[str, str], ...] = ()
    text: str = ""
    children: tuple[Shape, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A drawing, 960 units wide and ``height`` units high.

    ``title`` says what the picture shows, ``conclusion`` states the result in a sentence with numbers. ``table`` has
    the numbers of the picture. ``legend`` has a pair for each pattern in use: the Meaning, which selects the pattern,
    and the explanation. ``role`` (ARIA) must be ``group`` if the drawing has links, because screen readers
    hide links inside an ``img``.
    """

    kind: ClassVar[str] = "picture"
    id: str
    title: str
    conclusion: str
    height: float
    shapes: tuple[Shape, ...]
    table: Table
    legend: tuple[tuple[Meaning, str], ...] = ()
    role: str = "img"


Block = Paragraph | Note | Sentences | Figures | Table | FindingBlock | Picture
