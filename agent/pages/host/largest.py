"""A short table for the section Ledger: the consumers that have the most VCPU on the host.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from agent.model.report import LedgerRow
from agent.pages.blocks import Cell, Column, Table
from agent.pages.host.facts import HostFacts
from agent.pages.sizes import listed
from agent.pages.tables import NOT_KNOWN, cut
from agent.render.reading_order import names_of

MOST = 5
#: The classes that count as CPUs of a consumer.
CPUS = ("VCPU", "PCPU")


class _Owner(NamedTuple):
    """A consumer and its amounts by class.

    ``recorded`` are the amounts in Placement. ``most`` has, for each class, the largest of three amounts: promised by
    nova, held on the host, and recorded in Placement.
    """

    uuid: str
    recorded: dict[str, int]
    most: dict[str, int]


def largest(facts: HostFacts) -> tuple[Table, ...]:
    """Return the table of the consumers with the most CPUs; () if no consumer has VCPU or PCPU."""
    rows: dict[str, list[LedgerRow]] = defaultdict(list)
    for row in facts.report.ledger:
        if row.consumer_uuid and not row.outside_tree:
            rows[row.consumer_uuid].append(row)
    found = [owner for uuid, each in rows.items() if _cpus((owner := _owner(uuid, each)).most)]
    if not found:
        return ()
    shown = sorted(found, key=lambda owner: (-_cpus(owner.most), owner.uuid))[:MOST]
    names = names_of(facts.report)
    is_unread = bool(facts.missing("placement"))
    table = Table(
        id="largest-consumers",
        caption=f"The {len(shown)} of {len(found)} consumers with the most VCPU and PCPU. "
        'The column "largest amount" has the highest of three amounts: of the flavor in nova, of the guest on the '
        "host, and of the allocation in Placement",
        columns=(
            Column(heading="consumer"),
            Column(heading="uuid", is_code=True),
            Column(heading="largest amount"),
            Column(heading="recorded by Placement"),
        ),
        rows=tuple(
            (
                Cell(text=cut(names.get(owner.uuid, "")) or NOT_KNOWN),
                Cell(text=owner.uuid),
                Cell(text=", ".join(listed(owner.most))),
                Cell(text=NOT_KNOWN if is_unread else ", ".join(listed(owner.recorded)) or "nothing"),
            )
            for owner in shown
        ),
    )
    return (table,)


def _owner(uuid: str, rows: list[LedgerRow]) -> _Owner:
    recorded: dict[str, int] = defaultdict(int)
    most: dict[str, int] = defaultdict(int)
    for row in rows:
        recorded[row.resource_class] += row.recorded or 0
        most[row.resource_class] += max(row.promised or 0, row.held or 0, row.recorded or 0)
    return _Owner(uuid, recorded, most)


def _cpus(amounts: dict[str, int]) -> int:
    return sum(amounts.get(name, 0) for name in CPUS)
