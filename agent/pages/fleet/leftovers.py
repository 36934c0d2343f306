"""Sections: orphaned providers and compute nodes, and volumes and files that do not belong to the cloud.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections import Counter

from agent.fleet.view import HostRow
from agent.fleet.words import UNKNOWN
from agent.pages.blocks import Block, Cell, Column, Meaning, Paragraph, Table
from agent.pages.codes import ORPHANS
from agent.pages.fleet.facts import FleetFacts, HostDetails, Orphan, Stranger
from agent.pages.fleet.wording import and_more, counted, hosts, marked_names, name, some, stamp_of
from agent.pages.page import Section
from agent.pages.sizes import size_text

MOST_LISTED = 50
_FROM_REPORTS = "To get these details, make the page from report files: stocktake report --html FILE --fleet DIR."
_STRANGE_CODES = ("volume-foreign", "volume-orphaned", "image-leftover", "guest-unknown")
_PROVIDER = "provider-orphaned"
_KINDS = {_PROVIDER: "provider", "compute-node-orphaned": "compute node"}
_MEANINGS = {"unknown": Meaning.WRONG}


def orphans(facts: FleetFacts) -> Section:
    """Return the section of orphaned providers and compute nodes."""
    heading = "Orphaned providers and nodes"
    if facts.details is None:
        text = _counted(
            facts,
            tuple(sorted(ORPHANS)),
            "No host reports an orphaned provider or node.",
            "The agents' messages do not name the orphaned providers and nodes.",
        )
        return Section(id="orphans", heading=heading, blocks=(Paragraph(text=text),))
    found = sorted(
        ((host, each) for host, details in facts.details.items() for each in details.orphans),
        key=lambda pair: (pair[1].since, pair[0], pair[1].code, pair[1].what),
    )
    left_out = sum(details.orphans_left_out for details in facts.details.values())
    if not found:
        return Section(
            id="orphans", heading=heading, blocks=(Paragraph(text="The reports list no orphaned provider or node."),)
        )
    total, names = len(found) + left_out, marked_names(facts)
    table = Table(
        id="orphan-list",
        caption=f"{min(len(found), MOST_LISTED)} of {counted(total, 'orphan', 'orphans')}, the oldest finding first",
        columns=(
            Column(heading="host", is_word=True),
            Column(heading="kind", is_word=True),
            Column(heading="name"),
            Column(heading="uuid", is_code=True),
            Column(heading="amounts it claims"),
            Column(heading="allocated there"),
            Column(heading="first seen (UTC)", is_word=True),
        ),
        rows=tuple(
            (
                Cell(text=names.get(host) or name(host)),
                Cell(text=_KINDS.get(each.code, each.code)),
                Cell(text=each.what or UNKNOWN),
                Cell(text=each.uuid or UNKNOWN),
                Cell(text=each.offers or UNKNOWN),
                Cell(text=_held(each)),
                Cell(text=stamp_of(each.since, facts.at)),
            )
            for host, each in found[:MOST_LISTED]
        ),
        foot=and_more(min(len(found), MOST_LISTED), total, "orphans"),
    )
    return Section(id="orphans", heading=heading, blocks=(table,))


def _held(orphan: Orphan) -> str:
    """Return the orphan's allocations as text. A finding about a compute node does not list them: return ``?``."""
    if orphan.holds:
        return orphan.holds
    return "nothing" if orphan.code == _PROVIDER else UNKNOWN


def strangers(facts: FleetFacts) -> Section:
    """Return the section of volumes and files that do not belong to the cloud, or whose owner is not known."""
    heading = "Volumes and files that do not belong to the cloud"
    if facts.details is None:
        text = _counted(
            facts,
            _STRANGE_CODES,
            "No host reports a volume or file that does not belong to the cloud.",
            "The agents' messages do not have the sizes of these volumes and files.",
        )
        return Section(id="strangers", heading=heading, blocks=(Paragraph(text=text),))
    return Section(id="strangers", heading=heading, blocks=_strangers(facts, list(facts.details.values())))


def _strangers(facts: FleetFacts, details: list[HostDetails]) -> tuple[Block, ...]:
    unread = sum(bool(each.stores_unread) for each in details)
    rest = f" The disk storage of {hosts(unread)} could not be read completely." if unread else ""
    found = sorted(
        ((host, each) for host, one in (facts.details or {}).items() for each in one.strangers),
        key=lambda pair: (-pair[1].size_bytes, pair[0], pair[1].store, pair[1].owner, pair[1].kind),
    )
    if not found:
        return (Paragraph(text=f"All volumes and files that were found belong to the cloud.{rest}"),)
    names = marked_names(facts)
    by_kind: Counter[str] = Counter()
    for one in details:
        by_kind.update(dict(one.stranger_bytes))
    kinds = ", ".join(f"{kind} {size_text(number)}" for kind, number in sorted(by_kind.items()))
    total = len(found) + sum(one.strangers_left_out for one in details)
    return (
        Paragraph(text=f"Together {size_text(by_kind.total())}: {kinds}.{rest}"),
        Table(
            id="stranger-list",
            caption=f"{min(len(found), MOST_LISTED)} of {counted(total, 'volume or file', 'volumes and files')}, the "
            f"largest first",
            columns=(
                Column(heading="size", is_number=True),
                Column(heading="kind"),
                Column(heading="host", is_word=True),
                Column(heading="owner"),
                Column(heading="store"),
            ),
            rows=tuple(_stranger_row(names.get(host) or name(host), each) for host, each in found[:MOST_LISTED]),
            foot=and_more(min(len(found), MOST_LISTED), total, "volumes and files"),
        ),
    )


def _stranger_row(host: str, each: Stranger) -> tuple[Cell, ...]:
    return (
        Cell(text=size_text(each.size_bytes)),
        Cell(text=each.kind, meaning=_MEANINGS.get(each.kind, Meaning.FOREIGN)),
        Cell(text=host),
        Cell(text=each.owner),
        Cell(text=each.store),
    )


def _counted(facts: FleetFacts, codes: tuple[str, ...], none: str, lacks: str) -> str:
    """Return a sentence with the number of findings of these codes.

    The page has this sentence if it is made from the hosts' messages. Messages, unlike reports, have no details.
    """
    parts = []
    for code in codes:
        affected = [(row.host, number) for row in facts.view.rows if (number := _number(row, code))]
        if affected:
            names = some([host for host, _ in affected], 20)
            parts.append(f"{code}: {sum(number for _, number in affected)} on {hosts(len(affected))} ({names})")
    return f"{'; '.join(parts)}. {lacks} {_FROM_REPORTS}" if parts else none


def _number(row: HostRow, code: str) -> int:
    return dict(row.seen.findings or ()).get(code, 0) if row.seen else 0
