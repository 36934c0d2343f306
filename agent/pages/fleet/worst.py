"""Make the section with two tables and a search. The tables show what to do first, and the most harmful hosts.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.fleet.view import HostRow
from agent.fleet.words import free_text
from agent.pages.blocks import Cell, Column, Paragraph, Table
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.first_steps import first_steps
from agent.pages.fleet.harm import IN_WORDS, by_harm, is_calm, sold_twice_of, wasted_of
from agent.pages.fleet.kinds import kind_of
from agent.pages.fleet.looks import WORDS, state_cell
from agent.pages.fleet.shared_consumers import homes_of
from agent.pages.fleet.sums import lacks_amounts
from agent.pages.fleet.wording import about, amounts, as_of, counted, host_cell, hosts, place, since
from agent.pages.page import Section
from agent.pages.tables import NOT_KNOWN, cut

#: The maximum number of hosts that the table shows. The search finds all other hosts too.
MOST_WORST = 50
#: The maximum number of characters in the rows that only the search shows. This limit keeps the page below 1 MB.
MOST_SEARCHED = 450_000
_MOST_ABOUT = 85
_HEADING = "What to do first, the worst hosts, and a search"
_SEEN = "first seen (UTC)"
_HEADINGS = ("state", "host", "group", _SEEN, "what", "sold twice", "wasted", "free")
_OF_CALM = ("state", "host", "group")
_WORDS = frozenset({"free", _SEEN, *_OF_CALM})


def worst(facts: FleetFacts) -> Section:
    """Return the section."""
    if not facts.view.rows:
        return Section(id="worst", heading=_HEADING, blocks=(Paragraph(text="There are no hosts."),))
    blocks = (*first_steps(facts, places(facts)), _table(by_harm(facts.view.rows), facts))
    return Section(id="worst", heading=_HEADING, blocks=blocks)


def places(facts: FleetFacts) -> Mapping[tuple[str, str], str]:
    """Return for each host in the table the HTML id of its row."""
    rows = _troubled(facts, homes_of(facts))[:MOST_WORST]
    return {row.key: f"host-{number}" for number, row in enumerate(rows, start=1)}


def _troubled(facts: FleetFacts, homes: Mapping[str, str]) -> list[HostRow]:
    """Return the hosts with problems, the most harmful first.

    The hosts in ``homes`` come last. Their errors come from wrong allocations on other hosts.
    """
    rows = (row for row in by_harm(facts.view.rows) if not is_calm(row))
    return sorted(rows, key=lambda row: row.host in homes)


def _table(rows: Sequence[HostRow], facts: FleetFacts) -> Table:
    homes = homes_of(facts)
    troubled = _troubled(facts, homes)
    shown, others = troubled[:MOST_WORST], [*troubled[MOST_WORST:], *filter(is_calm, rows)]
    headings = tuple(name for name in _HEADINGS if name != "group" or any(map(place, rows)))
    made = _Made(facts=facts, headings=headings, homes=homes)
    searched = _searched(others, made)
    found, left_out = len(shown) + len(searched), len(others) - len(searched)
    with_problems = f"{counted(len(troubled), 'host has', 'hosts have')} problems, {len(shown)} shown"
    which = with_problems if troubled else "No host has a problem"
    kinds = sorted({_kind(row) for row in rows})
    return Table(
        id="worst-hosts",
        caption=f'{which}. Order: {IN_WORDS}. "First seen" is when an audit first saw the host\'s oldest finding. '
        f'The column "free" has VCPU/GiB RAM/GiB disk, without reserved amounts. Ages are as of '
        f"{facts.at:%Y-%m-%d %H:%M} UTC.",
        columns=tuple(Column(heading=heading, is_word=heading in _WORDS) for heading in headings),
        rows=tuple(_row(number, row, made) for number, row in enumerate(shown, start=1)),
        also=tuple(f"{_kind(row)} {_codes(row)}" for row in shown),
        search="Find a host, a finding's code, a host's state, an agent's version or role in "
        f"{'' if left_out else 'all '}{hosts(found)}",
        searched=searched,
        marks=tuple(kinds),
        marked=tuple(kinds.index(_kind(row)) for row in others[: len(searched)]),
        listed="host",
        foot=_foot(len(troubled) - len(shown), len(rows) - len(troubled), left_out),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """The data of the table's rows. ``homes``: a text for each host that is not at fault for its errors."""

    facts: FleetFacts
    headings: Sequence[str]
    homes: Mapping[str, str]


def _foot(troubled: int, calm: int, left_out: int) -> str:
    """Return a sentence about the hosts that the table does not show.

    Of these hosts, ``troubled`` have problems and ``calm`` have none. The page's search does not find ``left_out`` of
    these hosts.
    """
    parts = [f"{counted(troubled, 'more host', 'more hosts')} with problems"] if troubled else []
    parts += [f"{counted(calm, 'host', 'hosts')} without a problem"] if calm else []
    if not parts:
        return ""
    rest = f" But the search leaves out {hosts(left_out)}: stocktake watch --all shows all hosts." if left_out else ""
    found = "The search above finds these hosts if the browser runs scripts."
    return f"Not shown: {' and '.join(parts)}. {found}{rest}"


def _row(number: int, row: HostRow, made: _Made) -> tuple[Cell, ...]:
    texts = _texts(row, made)
    known = {"state": state_cell(row.condition), "host": Cell(text=texts["host"], place=f"host-{number}")}
    return tuple(known.get(heading) or Cell(text=texts[heading]) for heading in made.headings)


def _kind(row: HostRow) -> str:
    """Return the version and the role of the host's agent, "" if nothing has come from the host."""
    return cut(" ".join(kind_of(row) or ()), _MOST_ABOUT)


def _codes(row: HostRow) -> str:
    """Return the codes of all findings of the host, for the search. The column ``what`` has only the worst finding."""
    return " ".join(code for code, number in (row.seen.findings if row.seen else None) or () if number)


def _texts(row: HostRow, made: _Made) -> Mapping[str, str]:
    """Return the host's text for each column, by the column's heading."""
    return {
        "state": WORDS[row.condition],
        "host": host_cell(row).text,
        "group": place(row),
        _SEEN: f"{'last report ' if as_of(row) else ''}{since(row, made.facts)}",
        "what": made.homes.get(row.host) or about(row, made.facts),
        "sold twice": _amounts(row, "missing", sold_twice_of(row)),
        "wasted": _amounts(row, "leaked", wasted_of(row)),
        "free": NOT_KNOWN if lacks_amounts(row) else free_text(row.seen),
    }


def _amounts(row: HostRow, name: str, found: Mapping[str, int]) -> str:
    is_known = row.seen is not None and getattr(row.seen, name) is not None
    return amounts(found if found or is_known else None)


def _searched(rows: Sequence[HostRow], made: _Made) -> tuple[tuple[str, ...], ...]:
    """Return the table rows that only the search shows, as many as MOST_SEARCHED allows.

    If a host needs no attention, its row has only the columns state, host and group. Every other row ends with hidden
    text: the codes of findings that are not in the column ``what``.
    """
    found: list[tuple[str, ...]] = []
    room = MOST_SEARCHED
    for row in rows:
        texts = _texts(row, made)
        if is_calm(row):
            cells = tuple(cut(texts[name], _MOST_ABOUT) for name in made.headings if name in _OF_CALM)
        else:
            cells = tuple(cut(texts[name], _MOST_ABOUT) for name in made.headings)
            others = " ".join(code for code in _codes(row).split() if code not in texts["what"])
            cells = (*cells, cut(others)) if others else cells
        room -= sum(map(len, cells)) + 3 * len(cells) + 4
        if room < 0:
            break
        found.append(cells)
    return tuple(found)
