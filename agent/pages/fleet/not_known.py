"""The last section: the hosts' unknown amounts, unread sources and unchecked findings.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.fleet.conditions import Condition
from agent.fleet.head import problems
from agent.fleet.view import HostRow
from agent.pages.blocks import Block, Cell, Column, Meaning, Paragraph, Sentences, Table
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.losers import lacks_sold_twice
from agent.pages.fleet.sums import class_sums, lacks_amounts
from agent.pages.fleet.wording import and_more, counted, hosts, some
from agent.pages.page import Section

MOST_FILES = 50
_MOST_NAMED = 20
_WHY_NUMBERS_DIFFER = (
    "The sentences above may name different numbers of hosts, because a host that could not read one source is missing "
    "only from the sums that need this source. Files that cannot be read as a report are not counted here."
)


def not_known_section(facts: FleetFacts) -> Section:
    """Return the section."""
    texts = _sentences(facts)
    blocks: list[Block] = [Sentences(texts=texts)] if texts else [Paragraph(text="Every host's state is known.")]
    if facts.unreadable:
        blocks.append(_files(facts))
    return Section(id="not-known", heading="What is not known", blocks=tuple(blocks))


def _sentences(facts: FleetFacts) -> tuple[str, ...]:
    view = facts.view
    texts = list(problems(view))
    texts += _hosts_without(facts)
    if texts:
        texts.append(_WHY_NUMBERS_DIFFER)
    texts += [
        f"{each.resource_class}: the inventory of {hosts(each.not_known)} is not fully known."
        for each in class_sums(view.rows)
        if each.not_known
    ]
    texts += _lost_sources(facts)
    if silent := view.counts[Condition.SILENT]:
        texts.append(
            f"{counted(silent, 'host is', 'hosts are')} silent: the sums contain the numbers of their last reports."
        )
    if stale := sum(bool(row.seen and any(n for _, n in row.seen.unknown or ())) for row in view.rows):
        texts.append(
            f"Findings that the last audit could not check are on {hosts(stale)}; the sums still count these findings."
        )
    if held := view.sums.held_back:
        texts.append(f"The agents hold back {counted(held, 'write', 'writes')} to Placement.")
    return (*texts, *_about_reports(facts))


def _lost_sources(facts: FleetFacts) -> list[str]:
    """Return a sentence for each source that hosts could not read, with the names of the hosts."""
    lost: dict[str, list[str]] = {}
    for row in facts.view.rows:
        for source in (row.seen.sources_lost if row.seen else None) or ():
            lost.setdefault(source, []).append(row.host)
    return [
        f"{counted(len(names), 'host', 'hosts')} could not read {source} in the last audit: {some(names, _MOST_NAMED)}."
        for source, names in sorted(lost.items())
    ]


def _hosts_without(facts: FleetFacts) -> Iterator[str]:
    """Yield a sentence for each kind of amount that is not known for some hosts, with the names of these hosts."""
    for what, lacks in (
        ("Wasted amounts", _lacks_leaked),
        ("Amounts that are in use but free in Placement (sold twice)", lacks_sold_twice),
        ("Capacity and free amounts", lacks_amounts),
    ):
        names = [row.host for row in facts.view.rows if lacks(row)]
        if names:
            yield f"{what} are unknown for {hosts(len(names))}: {some(names, _MOST_NAMED)}."


def _lacks_leaked(row: HostRow) -> bool:
    return row.seen is None or row.seen.leaked is None


def _about_reports(facts: FleetFacts) -> tuple[str, ...]:
    if facts.details is None:
        return (
            "The agents' messages leave out the names of consumers, the orphaned compute nodes, and the sizes of "
            "volumes and files that do not belong to the cloud. The capacity leaves out amounts of child providers.",
        )
    texts = ["The capacity leaves out amounts of child providers."]
    if left_out := sum(each.rows_left_out for each in facts.details.values()):
        rows = counted(left_out, "row of a report", "rows of reports")
        texts.append(f"{rows} could not be read. This page leaves out such rows.")
    if facts.older:
        texts.append(
            f"{counted(facts.older, 'report', 'reports')} left out, because a later report of the same host exists."
        )
    if facts.unreadable:
        whose = "its host" if len(facts.unreadable) == 1 else "their hosts"
        files = counted(len(facts.unreadable), "file is", "files are")
        texts.append(f"{files} not a report, so the sums on this page leave out {whose}.")
    return tuple(texts)


def _files(facts: FleetFacts) -> Table:
    shown = facts.unreadable[:MOST_FILES]
    return Table(
        id="unreadable-files",
        caption=f"{len(shown)} of {counted(len(facts.unreadable), 'file', 'files')} that cannot be read as a report",
        columns=(Column(heading="file"), Column(heading="why")),
        rows=tuple((Cell(text=each.file, meaning=Meaning.UNREAD), Cell(text=each.why)) for each in shown),
        foot=and_more(len(shown), len(facts.unreadable), "files"),
    )
