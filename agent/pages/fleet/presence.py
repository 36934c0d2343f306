"""Sections: silent and never seen hosts, how old the data of each host is, and the agents' versions and roles.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agent.fleet.conditions import Condition
from agent.fleet.view import HostRow
from agent.pages.blocks import Block, Cell, Column, Paragraph, Table
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.kinds import hosts_by_kind
from agent.pages.fleet.looks import state_cell
from agent.pages.fleet.wording import (
    NONE,
    and_more,
    host_cell,
    hosts,
    place,
    share,
    short_age,
    some,
    stamp_of,
    state_age_s,
)
from agent.pages.page import Section

MOST_LISTED = 40
MOST_OLDEST = 20
MOST_AGENTS = 60
MOST_NAMED = 12
#: The age groups in the section about ages, as pairs: the greatest age in seconds, and the group's name.
AGES = ((60, "up to 1 min"), (300, "1 to 5 min"), (900, "5 to 15 min"), (3600, "15 to 60 min"), (86_400, "1 to 24 h"))
_OLDER = "more than 24 h"
_NOTHING = "nothing has come"
_AGES = "Age of each host's state"
_MISSING = (Condition.NEVER, Condition.SILENT, Condition.AWAITED)


def presence(facts: FleetFacts) -> Section:
    """Return the section about hosts that are silent, were never seen, or may still send a first message (awaited)."""
    rows = [row for kind in _MISSING for row in facts.view.rows if row.condition is kind]
    blocks: list[Block] = [Paragraph(text=_expected(facts))]
    if rows:
        blocks.append(_absent(rows, facts))
    strangers = sorted(row.host for row in facts.view.rows if row.is_expected is False)
    if strangers:
        blocks.append(Paragraph(text=f"Not in the list of expected hosts: {some(strangers, MOST_LISTED)}."))
    return Section(id="presence", heading="Silent and never seen hosts", blocks=tuple(blocks))


def ages(facts: FleetFacts) -> Section:
    """Return the section that shows how old the data of each host is."""
    if not facts.view.rows:
        return Section(id="ages", heading=_AGES, blocks=(Paragraph(text="There are no hosts."),))
    found = Counter(_age_name(state_age_s(row, facts)) for row in facts.view.rows)
    total = len(facts.view.rows)
    names = [*(name for _, name in AGES), _OLDER, _NOTHING]
    table = Table(
        id="state-ages",
        caption="Number of hosts by the age of their data (the last audit of each host). Ages are as of "
        f"{facts.at:%Y-%m-%d %H:%M} UTC.",
        columns=(
            Column(heading="age"),
            Column(heading="hosts", is_number=True),
            Column(heading="share", is_number=True),
        ),
        rows=tuple(
            (Cell(text=name), Cell(text=str(found[name])), Cell(text=share(found[name], total)))
            for name in names
            if found[name]
        ),
    )
    return Section(id="ages", heading=_AGES, blocks=(table, *_oldest(facts)))


def agents(facts: FleetFacts) -> Section:
    """Return the section that counts the agents of each version and role."""
    found = Counter((row.seen.agent_version, row.seen.role) for row in facts.view.rows if row.seen)
    silent = sum(row.seen is None for row in facts.view.rows)
    rest = f"Version and role are unknown for {hosts(silent)}: no message or report has come." if silent else ""
    if not found:
        return Section(id="agents", heading="Agents", blocks=(Paragraph(text=rest or "There are no agents."),))
    pairs = sorted(found, key=lambda pair: (-found[pair], pair))
    names = hosts_by_kind(facts)
    shown = pairs[:MOST_AGENTS]
    table = Table(
        id="agent-versions",
        caption="Number of hosts by the agent's version and role ([agent] role), the largest number first. To list the "
        "hosts of a row, type the row's version and role into the search field above the table of the worst hosts.",
        columns=(
            Column(heading="version"),
            Column(heading="role"),
            Column(heading="hosts", is_number=True),
            Column(heading="which hosts"),
        ),
        rows=tuple(
            (
                Cell(text=version),
                Cell(text=role),
                Cell(text=str(found[version, role])),
                Cell(text=some(names[version, role], MOST_NAMED)),
            )
            for version, role in shown
        ),
        foot=" ".join(part for part in (and_more(len(shown), len(pairs), "kinds"), rest) if part),
    )
    return Section(id="agents", heading="Agents", blocks=(table,))


def _expected(facts: FleetFacts) -> str:
    counts = facts.view.counts
    absent = f"{counts[Condition.SILENT]} silent, {counts[Condition.NEVER]} never seen"
    absent += f", {counts[Condition.AWAITED]} awaited" if counts[Condition.AWAITED] else ""
    if facts.view.expected is None:
        return f"{absent}. No list of expected hosts is known, so a host that never sent anything is not in this page."
    heard = sum(row.seen is not None and bool(row.is_expected) for row in facts.view.rows)
    return f"{absent}. Messages or reports have come from {heard} of {facts.view.expected} expected hosts."


def _absent(rows: Sequence[HostRow], facts: FleetFacts) -> Table:
    shown = rows[:MOST_LISTED]
    return Table(
        id="absent-hosts",
        caption=f"{len(shown)} of {hosts(len(rows))} without a current message or report",
        columns=_columns("state", "host", "group", "last audit (UTC)"),
        rows=tuple(
            (
                state_cell(row.condition),
                host_cell(row),
                Cell(text=place(row) or NONE),
                Cell(text=stamp_of(row.seen.audited_at, facts.at) if row.seen else _NOTHING),
            )
            for row in shown
        ),
        foot=and_more(len(shown), len(rows), "hosts"),
    )


def _oldest(facts: FleetFacts) -> tuple[Table, ...]:
    known = [(age, row) for row in facts.view.rows if (age := state_age_s(row, facts)) is not None]
    old = sorted((pair for pair in known if pair[0] > AGES[1][0]), key=lambda pair: (-pair[0], pair[1].key))
    if not old:
        return ()
    shown = old[:MOST_OLDEST]
    return (
        Table(
            id="oldest-states",
            caption=f"The oldest states: {len(shown)} of {hosts(len(old))} with a state older than 5 min",
            columns=_columns("host", "state", "age", "last audit (UTC)"),
            rows=tuple(
                (
                    host_cell(row),
                    state_cell(row.condition),
                    Cell(text=short_age(age)),
                    Cell(text=stamp_of(row.seen.audited_at if row.seen else "", facts.at)),
                )
                for age, row in shown
            ),
            foot=and_more(len(shown), len(old), "hosts"),
        ),
    )


def _columns(*headings: str) -> tuple[Column, ...]:
    return tuple(Column(heading=heading, is_word=True) for heading in headings)


def _age_name(age_s: float | None) -> str:
    if age_s is None:
        return _NOTHING
    return next((name for bound, name in AGES if age_s <= bound), _OLDER)
