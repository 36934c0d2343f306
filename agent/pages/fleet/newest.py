"""Section: the newest findings of the fleet, which show what changed last.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.pages.blocks import Block, Cell, Column, Paragraph, Table
from agent.pages.fleet.facts import FleetFacts, NewFinding
from agent.pages.fleet.first_steps import severities
from agent.pages.fleet.looks import severity_cell
from agent.pages.fleet.wording import marked_names, oldest, stamp_of
from agent.pages.page import Section
from agent.pages.tables import cut

MOST_LISTED = 12
_HEADING = "What changed last"
_REPAIRS = (
    "Repairs (by the commands heal, undo and adopt) are not here. To see the repairs on a host, run stocktake report "
    "--html FILE there and read the section Journal of that page."
)
_OF_REPORTS = f"These are the newest findings of all hosts. {_REPAIRS}"
_OF_MESSAGES = (
    "This list comes from the hosts' messages. A message names only the oldest finding of each code, so a later "
    "finding of the same code is not here. Messages do not contain repairs. To see the repairs by heal, undo and "
    "adopt, make the host's own page (stocktake report --html FILE on that host) and read its section Journal."
)


def newest(facts: FleetFacts) -> Section:
    """Return the section."""
    found = sorted(_found(facts), key=lambda pair: (pair[1].first_seen, pair[0]), reverse=True)[:MOST_LISTED]
    said = Paragraph(text=_OF_MESSAGES if facts.details is None else _OF_REPORTS)
    blocks: tuple[Block, ...] = (said, _table(found, facts)) if found else (Paragraph(text="No finding is known."),)
    return Section(id="newest", heading=_HEADING, blocks=blocks)


def _found(facts: FleetFacts) -> Iterator[tuple[str, NewFinding]]:
    """Yield (host, finding) for the findings that can be among the newest.

    A host's report has the newest findings of the host. A host's message has only the oldest finding of each code. If
    there are only messages, the function yields these oldest findings.
    """
    if facts.details is not None:
        yield from ((host, each) for host, details in facts.details.items() for each in details.newest)
        return
    known = severities(facts)
    for row in facts.view.rows:
        for code, when in oldest(row).items():
            yield row.host, NewFinding(first_seen=when, code=code, severity=known.get(code, ""), headline="")


def _table(found: list[tuple[str, NewFinding]], facts: FleetFacts) -> Table:
    names = marked_names(facts)
    is_short = facts.details is None
    columns = ("first seen (UTC)", "host", "severity", "finding", *(() if is_short else ("what",)))
    return Table(
        id="newest-findings",
        caption=f"The {len(found)} newest findings, the newest first. Ages are as of {facts.at:%Y-%m-%d %H:%M} UTC.",
        columns=tuple(
            Column(heading=heading, is_word=heading != "what", is_code=heading == "finding") for heading in columns
        ),
        rows=tuple(
            (
                Cell(text=stamp_of(each.first_seen, facts.at)),
                Cell(text=names.get(host, host)),
                severity_cell(each.severity),
                Cell(text=each.code),
                *(() if is_short else (Cell(text=cut(each.headline)),)),
            )
            for host, each in found
        ),
    )
