"""Section: hosts whose state is unknown or only partly known, each with the reason and since when.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.fleet.conditions import RANKS, Condition
from agent.fleet.view import HostRow
from agent.pages.blocks import Cell, Column, Paragraph, Table
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.looks import state_cell
from agent.pages.fleet.sums import lacks_amounts
from agent.pages.fleet.wording import about, and_more, as_of, host_cell, hosts, since, since_codes, stamp_of
from agent.pages.fleet.worst import places
from agent.pages.page import Section
from agent.pages.tables import was_unread

MOST_LISTED = 30
_HEADING = "Hosts whose state is not fully known"
_ABSENT = frozenset({Condition.NEVER, Condition.SILENT, Condition.AWAITED})
_READ_LITTLE = frozenset({"partial", "unreadable", "crashed"})
_LOST = frozenset({"source-unavailable", "source-stale"})
_LONG = frozenset({"why", "in the sums"})


def unknown_hosts(facts: FleetFacts) -> Section:
    """Return the section."""
    rows = [row for row in facts.view.rows if is_unknown(row)]
    if not rows:
        nothing = "The state of every host is known." if facts.view.rows else "There are no hosts."
        return Section(id="unknown-hosts", heading=_HEADING, blocks=(Paragraph(text=nothing),))
    return Section(id="unknown-hosts", heading=_HEADING, blocks=(_table(rows, facts),))


def is_unknown(row: HostRow) -> bool:
    """Return whether the host sends nothing, or its last audit could not read a source."""
    return row.condition in _ABSENT or lacks_a_source(row)


def lacks_a_source(row: HostRow) -> bool:
    """Return whether the host's last audit could not read a source."""
    return row.seen is not None and (bool(row.seen.sources_lost) or row.seen.outcome in _READ_LITTLE)


def _table(rows: Sequence[HostRow], facts: FleetFacts) -> Table:
    shown = sorted(rows, key=lambda row: (RANKS[row.condition], -(row.for_s or 0.0), row.key))[:MOST_LISTED]
    known = places(facts)
    columns = ("host", "why", "since (UTC)", "last audit (UTC)", "in the sums", "state")
    return Table(
        id="unknown-host-list",
        caption=f"{len(shown)} of {hosts(len(rows))}. Ages are as of {facts.at:%Y-%m-%d %H:%M} UTC.",
        columns=tuple(Column(heading=heading, is_word=heading not in _LONG) for heading in columns),
        rows=tuple(
            (
                host_cell(row, known),
                Cell(text=_why(row, facts)),
                Cell(text=_since(row, facts)),
                Cell(text=stamp_of(row.seen.audited_at, facts.at) if row.seen else "none"),
                Cell(text=_in_sums(row)),
                state_cell(row.condition),
            )
            for row in shown
        ),
        foot=and_more(len(shown), len(rows), "hosts: the search field below finds them by their state"),
    )


def _in_sums(row: HostRow) -> str:
    """Return a text that says which of the host's numbers are in the sums: none, or all that are known."""
    if row.seen is None:
        return "none"
    known = (("wasted", row.seen.leaked), ("sold twice", row.seen.missing and row.seen.uncovered))
    lacking = [name for name, amounts in known if amounts is None]
    lacking += ["capacity and free"] if lacks_amounts(row) else []
    when = as_of(row) if row.condition is Condition.SILENT else "of the last audit"
    return f"all numbers {when}" + (f", except {', '.join(lacking)} (not known)" if lacking else "")


def _why(row: HostRow, facts: FleetFacts) -> str:
    if row.condition in _ABSENT:
        return about(row, facts)
    seen = row.seen
    lost = was_unread(seen.sources_lost) if seen and seen.sources_lost else ""
    error = seen.error if seen else None
    worst = seen.worst.headline if seen and seen.worst and seen.worst.code in _LOST else ""
    return ": ".join(part for part in (lost, error or worst) if part) or about(row, facts)


def _since(row: HostRow, facts: FleetFacts) -> str:
    return since(row, facts) if row.condition in _ABSENT else since_codes(row, _LOST, facts)
