"""Make the texts of one row in the table of hosts, and decide which columns fit. Pure: no I/O.

If the columns do not fit, the column FREE is left out; all other columns stay. The column WHAT takes the remaining
width.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import NamedTuple

from agent.fleet.conditions import Condition
from agent.fleet.host import HostSeen
from agent.fleet.view import HostRow
from agent.fleet.words import ABSENT, UNKNOWN, amount_texts, clock, clock_of, duration, free_text

#: The maximum number of characters of a host's name in a table with a limited width.
HOST_WIDTH = 24
CUT = "~"
GAP = 2
#: The column WHAT needs this width, or less if all its texts are shorter. A table that is too narrow for this width has
#: no column FREE.
WHAT_NEEDS = 34
#: The smallest width of the column WHAT, unless all its texts are shorter.
LEAST_WHAT = 10
#: In a table of at least this many characters, the column LEAKED shows every resource class; in a narrower table, only
#: the first.
WIDE = 160

LABELS = {
    Condition.NEVER: "NEVER",
    Condition.SILENT: "SILENT",
    Condition.CRASHED: "CRASHED",
    Condition.REFUSED: "REFUSED",
    Condition.ERROR: "ERROR",
    Condition.UNREADABLE: "UNREAD",
    Condition.PARTIAL: "PARTIAL",
    Condition.UNRATED: "FOUND",
    Condition.WARNING: "WARNING",
    Condition.INFO: "INFO",
    Condition.AWAITED: "AWAITED",
    Condition.CLEAN: "CLEAN",
}


class Cells(NamedTuple):
    """The cells of one row, in the order of the columns."""

    sev: str
    cell: str
    host: str
    for_s: str
    what: str
    leaked: str
    free: str


HEAD = Cells("SEV", "CELL", "HOST", "FOR", "WHAT", "LEAKED", "FREE")


def cells_of(row: HostRow, at: datetime.datetime, width: int | None) -> Cells:
    """Return the cells of a row for a table of ``width`` characters; if ``width`` is None, no text is cut."""
    return Cells(
        sev=LABELS[row.condition],
        cell=row.cell or ABSENT,
        host=row.host if width is None else middle_cut(row.host, HOST_WIDTH),
        for_s=_for(row),
        what=what(row, at),
        leaked=_leaked(row.seen, width),
        free=free_text(row.seen),
    )


def columns_for(width: int | None, widths: Mapping[str, int], *, cells: int) -> tuple[str, ...]:
    """Return the names of the columns (fields of Cells) that fit into ``width`` characters.

    ``widths`` has the length of the longest text of each column. ``cells`` is the number of nova's cells: if there is
    at most one cell, there is no column CELL.
    """
    names = tuple(name for name in Cells._fields if name != "cell" or cells > 1)
    if width is None:
        return names
    needed = sum(widths[name] for name in names if name != "what") + GAP * (len(names) - 1)
    fits = needed + min(WHAT_NEEDS, widths["what"]) <= width
    return names if fits else tuple(name for name in names if name != "free")


def middle_cut(text: str, most: int) -> str:
    """Return the text, cut in its middle if it is longer than ``most`` characters: many names differ at their ends."""
    if len(text) <= most:
        return text
    tail = (most - len(CUT)) // 2
    return text[: most - len(CUT) - tail] + CUT + text[len(text) - tail :]


def what(row: HostRow, at: datetime.datetime) -> str:
    """Return what is wrong with the host, in words."""
    mark = "(disabled) " if row.disabled else ""
    if row.seen is None:
        return f"{mark}expected host, no message since {clock(row.began, at)}"
    told = _told(row.seen, at)
    if row.condition is Condition.SILENT:
        last = at - datetime.timedelta(seconds=row.age_s or 0.0)
        due = f"last message {clock(last, at)}, due every {row.seen.interval_s:g} s"
        return f"{mark}{due}" + (f"; before: {told}" if row.seen.told is not Condition.CLEAN else "")
    return mark + told


def _told(seen: HostSeen, at: datetime.datetime) -> str:
    causes = _causes(seen, at)
    if seen.told in (Condition.CRASHED, Condition.UNREADABLE) or not causes:
        lost = f"{', '.join(seen.sources_lost)} not read" if seen.sources_lost else ""
        found = [part for part in (seen.error, causes, lost) if part]
        return "; ".join(found) or (ABSENT if seen.told is Condition.CLEAN else seen.outcome)
    return causes


def _causes(seen: HostSeen, at: datetime.datetime) -> str:
    """Return a text about the host's findings: ``CODE xNUMBER (+OTHERS), NUMBER not known: HEADLINE``.

    CODE is the worst code. Findings that result from other findings do not count. "not known" are the findings that the
    last audit could not check.
    """
    if seen.worst is None:
        return ", ".join(_times(code, number) for code, number in seen.findings or () if number)
    causes = dict(seen.causes or seen.findings or ())
    same = causes.get(seen.worst.code, 1)
    others = sum(causes.values()) - same
    more = f" (+{others})" if others > 0 else ""
    headline = f": {seen.worst.headline}" if seen.worst.headline else ""
    return _times(seen.worst.code, same) + more + _not_known(seen, at) + headline


def _times(code: str, number: int) -> str:
    return f"{code} x{number}" if number > 1 else code


def _not_known(seen: HostSeen, at: datetime.datetime) -> str:
    number = sum(count for _, count in seen.unknown or ())
    if not number:
        return ""
    every = number == sum(count for _, count in seen.findings or ())
    since = f" since {clock_of(seen.unknown_since, at)}" if seen.unknown_since else ""
    return f", {'' if every else f'{number} '}not known{since}"


def _for(row: HostRow) -> str:
    if row.for_s is None:
        return ABSENT
    return f"{'>' if row.for_at_least else ''}{duration(row.for_s)}"


def _leaked(seen: HostSeen | None, width: int | None) -> str:
    if seen is None:
        return ABSENT
    if seen.leaked is None:
        return UNKNOWN
    parts = amount_texts(dict(seen.leaked)) or [ABSENT]
    return ", ".join(parts) if width is None or width >= WIDE else parts[0]
