"""Section: consumers with allocations on several hosts, put together from the reports of these hosts. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from agent.fleet.conditions import Counts
from agent.fleet.words import UNKNOWN
from agent.pages.blocks import Block, Cell, Column, Paragraph, Table
from agent.pages.fleet.facts import DELETED, FleetFacts, Spread
from agent.pages.fleet.report_file import SPREAD_CODE
from agent.pages.fleet.wording import amounts, and_more, counted, hosts, name, some, stamp_of
from agent.pages.page import Section
from agent.pages.tables import cut

MOST_LISTED = 50
_MOST_HOSTS = 6
_MOST_NAMES = 3
_HEADING = "Consumers on several hosts"


def shared_consumers(facts: FleetFacts) -> Section:
    """Return the section."""
    return Section(id="consumers", heading=_HEADING, blocks=(_block(facts),))


def _block(facts: FleetFacts) -> Block:
    if facts.details is None:
        return Paragraph(text=_only_counted(facts))
    found: dict[str, list[tuple[str, Spread]]] = defaultdict(list)
    for host, details in sorted(facts.details.items()):
        for spread in details.spread:
            found[spread.consumer_uuid].append((host, spread))
    if not found:
        return Paragraph(text="No report names a consumer with allocations on several hosts.")
    left_out = sum(details.spread_left_out for details in facts.details.values())
    return _table(found, facts, left_out)


def _only_counted(facts: FleetFacts) -> str:
    seen = [row.seen for row in facts.view.rows if row.seen]
    numbers = [(one.host, dict(one.findings or ()).get(SPREAD_CODE, 0)) for one in seen]
    affected = sorted(host for host, number in numbers if number)
    total = counted(sum(number for _, number in numbers), "finding", "findings")
    if not affected:
        return "No host reports a consumer with allocations on several hosts."
    return (
        f"{total} on {hosts(len(affected))}: {some(affected, 20)}. Messages do not name the consumers: a page that is "
        "made from reports does (stocktake report --html FILE --fleet DIR)."
    )


def _table(found: dict[str, list[tuple[str, Spread]]], facts: FleetFacts, left_out: int) -> Table:
    named = {details.provider_uuid: host for host, details in sorted((facts.details or {}).items())}
    uuids = sorted(found, key=lambda uuid: (min(spread.since for _, spread in found[uuid]), uuid))
    shown = uuids[:MOST_LISTED]
    more = f" {counted(left_out, 'finding is', 'findings are')} not in this list." if left_out else ""
    which = f"{len(shown)} of {counted(len(uuids), 'consumer', 'consumers')}, the oldest finding first"
    headings = ("consumer", "uuid", "lives on", "recorded on", "since (UTC)")
    return Table(
        id="consumers-on-several",
        caption=f"{which}. Only the allocation on the host where a consumer lives is correct.{more}",
        columns=tuple(
            Column(heading=heading, is_code=heading == "uuid", is_word=heading in ("uuid", "since (UTC)"))
            for heading in headings
        ),
        rows=tuple(_row(uuid, found[uuid], named, facts) for uuid in shown),
        foot=and_more(len(shown), len(uuids), "consumers"),
    )


def _row(
    uuid: str, reported: Sequence[tuple[str, Spread]], named: dict[str | None, str], facts: FleetFacts
) -> tuple[Cell, ...]:
    recorded = _recorded(reported, named)
    names = sorted({spread.name for _, spread in reported if spread.name})
    shown = sorted(recorded)[:_MOST_HOSTS]
    more = len(recorded) - len(shown)
    each = [f"{name(host)}: {amounts(recorded[host])}" for host in shown]
    return (
        Cell(text=cut(some(names, _MOST_NAMES)) or UNKNOWN),
        Cell(text=uuid),
        Cell(text=_home(reported)),
        Cell(text="; ".join((*each, *((f"and {more} more",) if more else ())))),
        Cell(text=stamp_of(min(spread.since for _, spread in reported), facts.at)),
    )


def _recorded(reported: Sequence[tuple[str, Spread]], named: Mapping[str | None, str]) -> dict[str, Counts]:
    """Return the consumer's recorded amounts by host, or by provider if no report tells the provider's host."""
    found: dict[str, Counts] = {}
    for _, spread in reported:
        found.update({named.get(other, f"provider {other}"): counts for other, counts in spread.elsewhere})
    # A host's own report has priority over what other hosts' reports say about it, so its amounts are merged last.
    return found | {host: spread.amounts for host, spread in reported}


def _home(reported: Sequence[tuple[str, Spread]]) -> str:
    """Return as text the host on which the cloud has the instance; allocations on every other host are wrong."""
    homes = sorted({spread.home for _, spread in reported if spread.home})
    if homes == [DELETED]:
        return "none: deleted"
    return some([name(home) for home in homes], _MOST_NAMES) or UNKNOWN
