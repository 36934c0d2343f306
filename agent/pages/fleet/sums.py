"""Sum the amounts of all hosts for each resource class: capacity, used, wasted, missing, free, and free after heal.

A host whose numbers are not known is left out of the sum and counted in ``not_known``. The sums contain only root
providers. Child providers are left out, because the agents' messages do not say whether two child providers can serve
one request together.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from agent.fleet.host import RootAmount
from agent.fleet.view import HostRow
from agent.pages.sizes import class_place


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSums:
    """One resource class, summed over ``hosts`` hosts, in the unit of the class.

    - ``total`` and ``reserved``: as in the inventories.
    - ``ratios``: the hosts' different allocation ratios.
    - ``capacity``: the sum of (total - reserved) x ratio.
    - ``used``: the amount that Placement counts as allocated.
    - ``wasted``: the leaked part of ``used``.
    - ``missing``: the amount that the cloud uses and Placement does not count.
    - ``free``: the amount that the scheduler can still allocate. A host over its capacity adds 0.
    - ``over``: the number of hosts over their capacity.
    - ``excess``: the amount by which these hosts exceed their capacity.
    - ``free_after``: ``free`` after a heal that removes the ``wasted`` amounts and records the ``missing`` amounts.
    - ``not_known``: the number of hosts that have the class and whose numbers are not known.
    """

    resource_class: str
    total: float = 0.0
    reserved: float = 0.0
    ratios: frozenset[float] = frozenset()
    capacity: float = 0.0
    used: float = 0.0
    wasted: float = 0.0
    missing: float = 0.0
    free: float = 0.0
    free_after: float = 0.0
    excess: float = 0.0
    over: int = 0
    hosts: int = 0
    not_known: int = 0

    def plus(self, amount: RootAmount, leaked: int, missing: int) -> ClassSums:
        """Return the sums with one more host; ``leaked`` and ``missing`` are amounts of this host."""
        total, reserved, ratio, used = amount.total, amount.reserved, amount.ratio, amount.used
        if total is None or reserved is None or ratio is None or used is None:
            return replace(self, not_known=self.not_known + 1)
        capacity = (total - reserved) * ratio
        rest = capacity - used
        return replace(
            self,
            total=self.total + total,
            reserved=self.reserved + reserved,
            ratios=self.ratios | {ratio},
            capacity=self.capacity + capacity,
            used=self.used + used,
            wasted=self.wasted + leaked,
            missing=self.missing + missing,
            free=self.free + max(0.0, rest),
            free_after=self.free_after + max(0.0, rest + leaked - missing),
            excess=self.excess + max(0.0, -rest),
            over=self.over + (rest < 0),
            hosts=self.hosts + 1,
        )


def class_sums(rows: Iterable[HostRow]) -> tuple[ClassSums, ...]:
    """Return the sums of each class: VCPU, PCPU, MEMORY_MB, DISK_GB, then the others by name."""
    found: dict[str, ClassSums] = {}
    for row in rows:
        seen = row.seen
        leaked = dict(seen.leaked or ()) if seen else {}
        missing = dict(seen.missing or ()) if seen else {}
        for amount in (seen.amounts if seen else None) or ():
            name = amount.resource_class
            found[name] = found.get(name, ClassSums(resource_class=name)).plus(
                amount, leaked.get(name, 0), missing.get(name, 0)
            )
    return tuple(sorted(found.values(), key=lambda each: class_place(each.resource_class)))


def largest_share(leaked: Mapping[str, int], sums: Iterable[ClassSums]) -> tuple[str, float, float] | None:
    """Return (class, leaked amount, capacity) of the class that leaks the largest share of its capacity.

    None if no class leaks.
    """
    shares = [
        (leaked[each.resource_class] / each.capacity, each)
        for each in sums
        if leaked.get(each.resource_class) and each.capacity > 0
    ]
    if not shares:
        return None
    _, worst = max(shares, key=lambda pair: pair[0])
    return worst.resource_class, leaked[worst.resource_class], worst.capacity


def without_amounts(rows: Iterable[HostRow]) -> int:
    """Return the number of hosts whose inventory is not known."""
    return sum(map(lacks_amounts, rows))


def lacks_amounts(row: HostRow) -> bool:
    """Return whether the host's inventory is not known.

    An empty inventory counts as not known if the audit could not read a source.
    """
    return row.seen is None or row.seen.amounts is None or (not row.seen.amounts and bool(row.seen.sources_lost))
