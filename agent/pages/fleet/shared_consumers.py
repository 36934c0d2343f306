"""Section: consumers with allocations on several hosts, put together from the reports of these hosts.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.fleet.conditions import Counts
from agent.fleet.words import UNKNOWN
from agent.pages.blocks import Block, Cell, Column, Paragraph, Table
from agent.pages.fleet.facts import DELETED, FleetFacts, Spread
from agent.pages.fleet.report_file import SPREAD_CODE
from agent.pages.fleet.wording import amounts, and_more, counted, hosts, marked_names, name, some, stamp_of
from agent.pages.page import Section
from agent.pages.tables import cut

MOST_LISTED = 50
_MOST_HOSTS = 6
_MOST_NAMES = 3
_HEADING = "Consumers on several hosts"
_HEADINGS = ("consumer", "uuid", "lives on", "surplus allocation on", "repair", "first seen (UTC)")
_WORDS = frozenset({"uuid", "lives on", "first seen (UTC)"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """One consumer with allocations on several hosts.

    ``home`` is the host on which the instance is according to nova's database. It is DELETED if nova has deleted the
    instance, and "" if the reports do not name a host or name different hosts. ``recorded`` has the consumer's
    allocations by host, or by the text ``provider UUID`` if no report tells the provider's host. A host may report in
    a finding that its allocations of this consumer are wasted (not needed). ``wasted_by`` maps such a host to the
    finding's code.
    """

    uuid: str
    names: tuple[str, ...]
    home: str
    recorded: Mapping[str, Counts]
    wasted_by: Mapping[str, str]
    since: str

    @property
    def surplus(self) -> Mapping[str, Counts]:
        """The allocations on all hosts except the instance's own host, ``home``; all if that host is not known."""
        return {host: counts for host, counts in self.recorded.items() if host != self.home}


def shared_consumers(facts: FleetFacts) -> Section:
    """Return the section."""
    return Section(id="consumers", heading=_HEADING, blocks=_blocks(facts))


def shared_of(facts: FleetFacts) -> list[Shared]:
    """Return the consumers that have allocations on several hosts, sorted by when the finding was first seen.

    These details are in report files only. For a page made from the agents' messages, the result is [].
    """
    found: dict[str, list[tuple[str, Spread]]] = defaultdict(list)
    for host, details in sorted((facts.details or {}).items()):
        for spread in details.spread:
            found[spread.consumer_uuid].append((host, spread))
    named = {details.provider_uuid: host for host, details in sorted((facts.details or {}).items())}
    shared = (_shared(uuid, reported, named) for uuid, reported in found.items())
    return sorted(shared, key=lambda each: (each.since, each.uuid))


def homes_of(facts: FleetFacts) -> Mapping[str, str]:
    """Return the hosts that have errors but are not at fault, each with a text for the table of the worst hosts.

    A host is not at fault if each error is about a consumer that runs on this host but also has allocations on other
    hosts.
    """
    living: dict[str, list[Shared]] = defaultdict(list)
    for each in shared_of(facts):
        if each.home in each.recorded:
            living[each.home].append(each)
    errors = {row.host: dict(row.seen.severities or ()).get("error", 0) for row in facts.view.rows if row.seen}
    return {host: _not_here(found) for host, found in living.items() if errors.get(host) == len(found)}


def _not_here(found: Sequence[Shared]) -> str:
    others = sorted({host for each in found for host in each.surplus})
    who = counted(len(found), "consumer", "consumers")
    where = some([name(host) for host in others], _MOST_NAMES)
    return f"this host is not at fault: its errors are about {who} with surplus allocations on {where}"


def not_in_wasted(facts: FleetFacts) -> tuple[int, Counter[str]]:
    """Return (number of consumers, sum by class) of the surplus allocations that the page does not count as wasted.

    An allocation is surplus if its consumer runs on another host. Consumers whose host is not known are left out.
    """
    number, sums = 0, Counter[str]()
    for each in shared_of(facts):
        left = [counts for host, counts in each.surplus.items() if each.home and host not in each.wasted_by]
        number += bool(left)
        for counts in left:
            sums.update(dict(counts))
    return number, sums


def _blocks(facts: FleetFacts) -> tuple[Block, ...]:
    if facts.details is None:
        return (Paragraph(text=_only_counted(facts)),)
    found = shared_of(facts)
    if not found:
        return (Paragraph(text="No report names a consumer with allocations on several hosts."),)
    left_out = sum(details.spread_left_out for details in facts.details.values())
    in_sums = (
        'The table marks a surplus allocation with "(in wasted)" if this page counts the allocation as wasted.'
        if any(each.wasted_by for each in found)
        else "This page does not count surplus allocations (on hosts where the consumer does not live) as wasted."
    )
    said = (
        "Each host on which such a consumer has allocations reports the consumer as an error. The allocations on the "
        f"host where the consumer lives are correct, all others are surplus. {in_sums} Repair only the hosts that "
        'the column "repair" names: then all other hosts stop reporting the consumer, too.'
    )
    return (Paragraph(text=said), _table(found, facts, left_out))


def _only_counted(facts: FleetFacts) -> str:
    seen = [row.seen for row in facts.view.rows if row.seen]
    numbers = [(one.host, dict(one.findings or ()).get(SPREAD_CODE, 0)) for one in seen]
    affected = sorted(host for host, number in numbers if number)
    total = counted(sum(number for _, number in numbers), "finding", "findings")
    if not affected:
        return "No host reports a consumer with allocations on several hosts."
    return (
        f"{total} on {hosts(len(affected))}: {some(affected, 20)}. If a consumer has allocations on several hosts, "
        "each of these hosts reports the consumer. Not every host needs a repair: on each host, the command "
        "'stocktake explain CONSUMER' says whether the host's allocation is wrong. The agents' messages do not contain "
        "the consumers. To see the consumers, make this page from report files: "
        "stocktake report --html FILE --fleet DIR."
    )


def _table(found: Sequence[Shared], facts: FleetFacts, left_out: int) -> Table:
    shown = found[:MOST_LISTED]
    more = f" {counted(left_out, 'finding is', 'findings are')} not in this list." if left_out else ""
    which = f"{len(shown)} of {counted(len(found), 'consumer', 'consumers')}, the oldest finding first"
    names = marked_names(facts)
    return Table(
        id="consumers-on-several",
        caption=f"{which}.{more}",
        columns=tuple(
            Column(
                heading=heading,
                is_code=heading == "uuid",
                is_command=heading == "repair",
                is_word=heading in _WORDS,
            )
            for heading in _HEADINGS
        ),
        rows=tuple(_row(each, names, facts) for each in shown),
        foot=and_more(len(shown), len(found), "consumers"),
    )


def _row(each: Shared, names: Mapping[str, str], facts: FleetFacts) -> tuple[Cell, ...]:
    surplus = sorted(each.surplus)
    marks = {host: " (in wasted)" for host in each.wasted_by}
    texts = [
        f"{names.get(host) or name(host)}: {amounts(each.recorded[host])}{marks.get(host, '')}"
        for host in surplus[:_MOST_HOSTS]
    ]
    more = (f"and {len(surplus) - _MOST_HOSTS} more",) if len(surplus) > _MOST_HOSTS else ()
    living = {DELETED: "nowhere: deleted", "": "not known"}.get(each.home) or names.get(each.home) or name(each.home)
    return (
        Cell(text=cut(some(each.names, _MOST_NAMES)) or UNKNOWN),
        Cell(text=each.uuid),
        Cell(text=living),
        Cell(text="; ".join((*texts, *more))),
        Cell(text=_repair(each, surplus)),
        Cell(text=stamp_of(each.since, facts.at)),
    )


def _repair(each: Shared, surplus: Sequence[str]) -> str:
    """Return the text in the table's column "repair": the hosts, and the command to run there.

    If the consumer's own host is not known, the text instead says how to find this host and which hosts to repair.
    """
    if not each.home:
        look = f"; to see where it runs: openstack server show {each.uuid}" if is_uuid(each.uuid) else ""
        return f"repair every listed host on which the consumer does not run{look}"
    by_code: dict[str, list[str]] = defaultdict(list)
    for host in surplus:
        by_code[each.wasted_by.get(host, SPREAD_CODE)].append(name(host))
    texts = (f"on {some(found, _MOST_NAMES)}: stocktake heal --code {code}" for code, found in sorted(by_code.items()))
    return "; ".join(texts)


def is_uuid(text: str) -> bool:
    """Return whether the text has the form of a uuid.

    The text comes from another host's report, so only a uuid is safe in a command for the operator.
    """
    return re.fullmatch(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}", text) is not None


def _shared(uuid: str, reported: Sequence[tuple[str, Spread]], named: Mapping[str | None, str]) -> Shared:
    homes = sorted({spread.home for _, spread in reported if spread.home})
    return Shared(
        uuid=uuid,
        names=tuple(sorted({spread.name for _, spread in reported if spread.name})),
        home=homes[0] if len(homes) == 1 else "",
        recorded=_recorded(reported, named),
        wasted_by={host: spread.wasted_by for host, spread in reported if spread.wasted_by},
        since=min(spread.since for _, spread in reported),
    )


def _recorded(reported: Sequence[tuple[str, Spread]], named: Mapping[str | None, str]) -> dict[str, Counts]:
    """Return the consumer's recorded amounts by host, or by provider if no report tells the provider's host."""
    found: dict[str, Counts] = {}
    for _, spread in reported:
        found.update({named.get(other, f"provider {other}"): counts for other, counts in spread.elsewhere})
    # Several reports may state the allocations on one host. Here the report of that host itself replaces the others.
    return found | {host: spread.amounts for host, spread in reported}
