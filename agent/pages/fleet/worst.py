"""Section: the hosts with the most harm: what, how much, since when; and a search that finds every host. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from agent.fleet.details import commands
from agent.fleet.view import HostRow
from agent.fleet.words import free_text
from agent.pages.blocks import Cell, Column, Paragraph, Table
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.harm import IN_WORDS, by_harm, is_calm, sold_twice_of, wasted_of
from agent.pages.fleet.kinds import Kind, kind_of, rare_kinds
from agent.pages.fleet.looks import WORDS, state_cell
from agent.pages.fleet.wording import about, amounts, counted, host_cell, hosts, place, since
from agent.pages.page import Section
from agent.pages.tables import cut

#: The maximum number of hosts that the table shows. The search finds all other hosts too.
MOST_WORST = 50
#: The maximum number of characters in the rows that only the search shows: the page must stay below 1 MB.
MOST_SEARCHED = 450_000
#: The maximum number of hosts for which the page names commands.
MOST_STEPS = 8
_MOST_ABOUT = 90
#: The codes whose findings heal repairs, and the roles in which heal repairs them.
_REPAIRED = frozenset({"allocation-leaked", "allocation-stale-move", "allocation-missing"})
_HEALERS = frozenset({"owner", "companion"})
_HEADING = "Worst hosts, and a search"
_HEADINGS = ("state", "host", "group", "since (UTC)", "what", "sold twice", "wasted", "free")
_OF_CALM = ("state", "host", "group")
_WORDS = frozenset({"free", "since (UTC)", *_OF_CALM})


def worst(facts: FleetFacts) -> Section:
    """Return the section."""
    if not facts.view.rows:
        return Section(id="worst", heading=_HEADING, blocks=(Paragraph(text="There are no hosts."),))
    return Section(id="worst", heading=_HEADING, blocks=(*_first_steps(facts), _table(by_harm(facts.view.rows), facts)))


def _first_steps(facts: FleetFacts) -> tuple[Table, ...]:
    """Return the table of the commands to run on the most harmful hosts; () if no host needs attention."""
    rows = [row for row in by_harm(facts.view.rows) if not is_calm(row)][:MOST_STEPS]
    if not rows:
        return ()
    table = Table(
        id="first-steps",
        caption=f"What to run on the first {hosts(len(rows))}; every command runs on that host and changes nothing",
        columns=(Column(heading="host", is_word=True), Column(heading="commands", is_code=True)),
        rows=tuple((host_cell(row, places(facts)), Cell(text="; ".join(_steps(row)))) for row in rows),
    )
    return (table,)


def _steps(row: HostRow) -> tuple[str, ...]:
    """Return the commands of ``stocktake watch`` for the host, and the command that prints the plan of a repair."""
    found = dict(row.seen.findings or ()) if row.seen else {}
    is_healer = row.seen is not None and row.seen.role in _HEALERS
    repaired = sorted(code for code in _REPAIRED if found.get(code) and is_healer)
    return (*commands(row), *(f"stocktake heal --code {code}" for code in repaired))


def places(facts: FleetFacts) -> Mapping[tuple[str, str], str]:
    """Return for each host in the table the HTML id of its row."""
    rows = [row for row in by_harm(facts.view.rows) if not is_calm(row)][:MOST_WORST]
    return {row.key: f"host-{number}" for number, row in enumerate(rows, start=1)}


def _table(rows: Sequence[HostRow], facts: FleetFacts) -> Table:
    troubled = [row for row in rows if not is_calm(row)]
    shown, others = troubled[:MOST_WORST], [*troubled[MOST_WORST:], *filter(is_calm, rows)]
    headings = tuple(name for name in _HEADINGS if name != "group" or any(map(place, rows)))
    searched, rare = _searched(others, headings, facts), rare_kinds(facts)
    found, left_out = len(shown) + len(searched), len(others) - len(searched)
    which = f"{len(shown)} of {hosts(len(troubled))} that are not clean" if troubled else "No host has a problem"
    return Table(
        id="worst-hosts",
        caption=f"{which}. Order: {IN_WORDS}. Free are VCPU/GiB RAM/GiB disk.",
        columns=tuple(Column(heading=heading, is_word=heading in _WORDS) for heading in headings),
        rows=tuple(_row(number, row, headings, facts) for number, row in enumerate(shown, start=1)),
        also=tuple(_kind(row, rare) for row in shown),
        search=f"Find a host, a code or a state in {'' if left_out else 'all '}{hosts(found)}",
        searched=searched,
        foot=_foot(len(troubled) - len(shown), len(rows) - len(troubled), left_out),
    )


def _foot(troubled: int, calm: int, left_out: int) -> str:
    """Return a sentence about the hosts that the table does not show: ``troubled`` hosts and ``calm`` hosts.

    ``left_out`` is the number of hosts among them that the search does not find either.
    """
    parts = [f"{counted(troubled, 'more host', 'more hosts')} that are not clean"] if troubled else []
    parts += [f"{counted(calm, 'host', 'hosts')} without a problem"] if calm else []
    if not parts:
        return ""
    rest = f" The search leaves out {hosts(left_out)}: stocktake watch shows all." if left_out else ""
    found = "The search above finds each of these hosts if the browser runs scripts."
    return f"Not shown: {' and '.join(parts)}. {found}{rest}"


def _row(number: int, row: HostRow, headings: Sequence[str], facts: FleetFacts) -> tuple[Cell, ...]:
    texts = _texts(row, facts)
    known = {"state": state_cell(row.condition), "host": Cell(text=texts["host"], place=f"host-{number}")}
    return tuple(known.get(heading) or Cell(text=texts[heading]) for heading in headings)


def _kind(row: HostRow, rare: Collection[Kind]) -> str:
    """Return the version and the role of the host's agent if few hosts have this kind of agent, else ""."""
    kind = kind_of(row)
    return " ".join(kind) if kind in rare and kind else ""


def _texts(row: HostRow, facts: FleetFacts) -> Mapping[str, str]:
    """Return the host's text for each column, by the column's heading."""
    return {
        "state": WORDS[row.condition],
        "host": host_cell(row).text,
        "group": place(row),
        "since (UTC)": since(row, facts),
        "what": about(row, facts),
        "sold twice": _amounts(row, "missing", sold_twice_of(row)),
        "wasted": _amounts(row, "leaked", wasted_of(row)),
        "free": free_text(row.seen),
    }


def _amounts(row: HostRow, name: str, found: Mapping[str, int]) -> str:
    is_known = row.seen is not None and getattr(row.seen, name) is not None
    return amounts(found if found or is_known else None)


def _searched(rows: Sequence[HostRow], headings: Sequence[str], facts: FleetFacts) -> tuple[tuple[str, ...], ...]:
    """Return the cells of the rows that only the search shows, as many rows as MOST_SEARCHED allows.

    The row of a calm host has only the columns state, host and group. A rare kind of agent follows the last column.
    """
    found: list[tuple[str, ...]] = []
    room, rare = MOST_SEARCHED, rare_kinds(facts)
    for row in rows:
        texts = _texts(row, facts)
        shown = [name for name in headings if name in _OF_CALM] if is_calm(row) else headings
        cells = tuple(cut(texts[name], _MOST_ABOUT) for name in shown)
        if kind := _kind(row, rare):
            cells = (*cells, *("",) * (len(headings) - len(cells)), cut(kind, _MOST_ABOUT))
        room -= sum(map(len, cells)) + 3 * len(cells) + 2
        if room < 0:
            break
        found.append(cells)
    return tuple(found)
