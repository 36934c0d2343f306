"""Section: a table with the number of affected hosts for each finding code (rows) and each group of hosts (columns).

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agent.fleet.table import middle_cut
from agent.fleet.view import HostRow
from agent.pages.blocks import Cell, Column, Paragraph, Table
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.wording import MOST_NAME, hosts
from agent.pages.page import Section

#: The maximum number of columns. Each group of hosts has a column; if there are too many, small groups share the last.
MOST_GROUPS = 14
MOST_CODES = 60
NONE = "\u00b7"
_OTHERS = "other groups"
_HEADING = "Findings by code and group of hosts"


def matrix(facts: FleetFacts) -> Section:
    """Return the section."""
    found: dict[str, Counter[str]] = {}
    sizes = Counter(map(group_of, facts.view.rows))
    columns = _columns(sizes)
    for row in facts.view.rows:
        for code, number in (row.seen.findings if row.seen else None) or ():
            if number:
                found.setdefault(code, Counter())[_column(group_of(row), columns)] += 1
    unknown = sum(row.seen is None or row.seen.findings is None for row in facts.view.rows)
    rest = f" The findings of {hosts(unknown)} are not known." if unknown else ""
    if not found:
        return Section(id="codes", heading=_HEADING, blocks=(Paragraph(text=f"No finding is known.{rest}"),))
    return Section(id="codes", heading=_HEADING, blocks=(_table(found, columns, sizes, rest),))


def group_of(row: HostRow) -> str:
    """Return the name of the host's group, or of the host's nova cell if the host has no group."""
    return row.group or row.cell


def _columns(sizes: Counter[str]) -> tuple[str, ...]:
    named = sorted(sizes)
    if len(named) <= MOST_GROUPS:
        return tuple(named)
    largest = sorted(named, key=lambda name: (-sizes[name], name))[: MOST_GROUPS - 1]
    return (*sorted(largest), _OTHERS)


def _column(group: str, columns: Sequence[str]) -> str:
    return group if group in columns else _OTHERS


def _table(found: dict[str, Counter[str]], columns: Sequence[str], sizes: Counter[str], rest: str) -> Table:
    codes = sorted(found, key=lambda code: (-sum(found[code].values()), code))
    headings = tuple(_heading(name, sizes) for name in columns) if len(columns) > 1 else ()
    return Table(
        id="code-matrix",
        caption=f"Number of hosts with each finding code, the largest number first.{rest}",
        columns=(
            Column(heading="code", is_code=True, is_word=True),
            Column(heading="all", is_number=True),
            *(Column(heading=heading, is_number=True) for heading in headings),
        ),
        rows=tuple(_row(code, found[code], columns if headings else ()) for code in codes[:MOST_CODES]),
        foot=f"and {len(codes) - MOST_CODES} more codes" if len(codes) > MOST_CODES else "",
    )


def _heading(name: str, sizes: Counter[str]) -> str:
    number = sizes.get(name)
    shown = middle_cut(name, MOST_NAME) or "no group"
    return shown if number is None else f"{shown} ({number})"


def _row(code: str, numbers: Counter[str], columns: Sequence[str]) -> tuple[Cell, ...]:
    return (
        Cell(text=code),
        Cell(text=str(sum(numbers.values()))),
        *(Cell(text=str(numbers[name]) if numbers[name] else NONE) for name in columns),
    )
