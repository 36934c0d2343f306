"""over-capacity: the usage exceeds a provider's capacity, or a CPU is pinned for two guests (scenario 21).

Placement accepts (HTTP status 200) an inventory that is smaller than its usage, so only this finding reports the
overload. The rule checks the root provider and child providers. The finding names the leaked consumers, which should
have no allocation on this host at all.

The rule skips providers of PCI devices. The agent never sets the total of such a provider below the allocated amount
(nested/pci.py, findings/pci_device_lost.py). If ``reserved`` of such a provider exceeds the free amount, that is no
overload: the agent only prevents further allocations.

To find a CPU that is pinned twice, the rule compares the pinnings in nova's database, not the pinnings in libvirt.
Placement's usage cannot show such a CPU, because Placement counts how many CPUs the guests have, not which CPUs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from agent.books.ledger import provider_key
from agent.findings.base import AuditFacts, Findings, Rule, amount_text, claims_of
from agent.findings.base_remedies import by_hand, explain, inspect, openstack, wait
from agent.findings.reshape_needed import to_move
from agent.model.books import DesiredProvider
from agent.model.compared import Row
from agent.model.finding import Finding, Remedy, Severity
from agent.model.host.cpuset import render_cpu_list
from agent.model.placement import ROOT, Inventory, PlacementView, Provider, ProviderKey
from agent.model.report import Verdict
from agent.model.settings import Role
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from agent.nested.pci_view import KIND as PCI
from agent.node_record.numa import numa_cells
from agent.node_record.numa_usage import pin_conflicts
from agent.provider_tree.reserve import is_reserved
from agent.resources import cpus
from agent.text.amounts import number_text, with_unit
from agent.text.headline import short_name

_CPU_CLASSES = frozenset({"PCPU", "VCPU"})
LEAKS = frozenset({Verdict.ALLOCATION_LEAKED, Verdict.ALLOCATION_STALE_MOVE})

_Rows = Mapping[tuple[ProviderKey, str], tuple[Row, ...]]


class _Place(NamedTuple):
    """One resource class on one provider.

    ``rows`` are the ledger rows about this class and provider. ``where`` is a text that names the provider if it is a
    child provider; "" for the root provider.
    """

    provider_uuid: str
    where: str
    resource_class: str
    rows: tuple[Row, ...]

    @property
    def used(self) -> int:
        """The amount that Placement records as used."""
        return sum(row.recorded or 0 for row in self.rows)


def _find(audit: AuditFacts) -> Findings:
    yield from _of_providers(audit)
    yield from _of_pinned_cpus(audit)


def _of_providers(audit: AuditFacts) -> Findings:
    if audit.tree is None or audit.view is None:
        return
    rows = _by_place(audit)
    for wanted in audit.tree.providers:
        if wanted.key.kind != PCI:
            yield from _of_wanted(audit, audit.view, wanted, rows)
    for observed in (p for p in audit.view.providers if p.uuid in audit.tree.obsolete):
        for name in sorted(i.resource_class for i in observed.inventories):
            yield from _of_withdrawn(audit, _place(audit.view, observed, name, rows))


def _of_wanted(audit: AuditFacts, view: PlacementView, wanted: DesiredProvider, rows: _Rows) -> Findings:
    observed = view.provider(wanted.uuid)
    overflows = {terms.resource_class: terms.overflow for terms in wanted.reserves}
    for inventory in _inventories(wanted, observed):
        place = _place(view, wanted, inventory.resource_class, rows)
        overflow = overflows.get(inventory.resource_class, 0)
        if place.used > inventory.capacity or overflow:
            yield _finding(audit, inventory, place, overflow)
    for name in sorted(_withdrawn(audit, wanted, observed)):
        yield from _of_withdrawn(audit, _place(view, wanted, name, rows))


def _by_place(audit: AuditFacts) -> _Rows:
    grouped: dict[tuple[ProviderKey, str], list[Row]] = defaultdict(list)
    for row in audit.rows:
        grouped[row.provider_key, row.resource_class].append(row)
    return {place: tuple(found) for place, found in grouped.items()}


def _place(view: PlacementView, provider: DesiredProvider | Provider, name: str, rows: _Rows) -> _Place:
    where = f" on {provider.name}" if provider.parent_uuid else ""
    return _Place(provider.uuid, where, name, rows.get((provider_key(view, provider.uuid), name), ()))


def _withdrawn(audit: AuditFacts, wanted: DesiredProvider, observed: Provider | None) -> frozenset[str]:
    """Return the classes that the host no longer offers, but that Placement still offers because they are in use.

    A class that must move from the root to child providers (findings/reshape_needed.py) is left out, because the host
    still offers it.
    """
    offered = {i.resource_class for i in (observed.inventories if observed else ())} & wanted.owned_classes
    kept = {f.name for f in wanted.frozen} | {i.resource_class for i in wanted.inventories}
    return frozenset(offered - kept - (to_move(audit).keys() if wanted.key == ROOT else set()))


def _of_withdrawn(audit: AuditFacts, place: _Place) -> Findings:
    name, used = place.resource_class, place.used
    if not used:
        return
    yield RULE.finding(
        audit,
        headline=f"{audit.host}: {with_unit(name, used)} used{place.where}, but the host does not offer {name} any "
        "more",
        provider_uuid=place.provider_uuid,
        resource_class=name,
        expected=f"no {name} is used{place.where}, because this host does not offer this class any more",
        actual=f"{amount_text(name, used)} used, so Placement still offers the class "
        "(Placement refuses to remove a class that is in use)",
        evidence=claims_of(row for row in place.rows if row.recorded),
        facts=(("capacity", 0), ("used", used), ("free", -used), ("missing", used)),
        rests_on_recorded=True,
        remedies=(
            explain(name),
            by_hand(f"move the instances that use {name} away, or let the host offer this class again"),
        ),
    )


def _inventories(wanted: DesiredProvider, observed: Provider | None) -> list[Inventory]:
    """Return the inventories that the agent wants on the provider, sorted by class.

    For a class whose inventory the agent cannot decide now, return the inventory that Placement has.
    """
    frozen = {f.name for f in wanted.frozen}
    kept = [i for i in (observed.inventories if observed else ()) if i.resource_class in frozen]
    return sorted([*wanted.inventories, *kept], key=lambda i: i.resource_class)


def _finding(audit: AuditFacts, inventory: Inventory, place: _Place, overflow: int) -> Finding:
    name, rows, used = place.resource_class, place.rows, place.used
    leaked = [row for row in rows if row.verdict in LEAKS and row.recorded]
    leaked_amount = sum(row.recorded or 0 for row in leaked)
    # ``missing`` is the capacity that must become free before this finding ends. One part of ``missing`` is the usage
    # above the capacity. The other part comes from ``overflow``: usage that nova does not know and that ``reserved``
    # cannot include.
    missing = max(used - inventory.capacity, 0) + overflow * inventory.allocation_ratio
    unlisted = sum(row.recorded or 0 for row in rows if row.verdict is Verdict.USAGE_UNLISTED)
    free = inventory.capacity - used
    # A leaked consumer has an allocation on this host and should have none. The agent cannot tell which consumers are
    # leaked if it could not read the cloud's state or libvirt's guests.
    is_judged = audit.books.state_known and audit.books.host_known
    part = f" ({number_text(leaked_amount)} leaked)" if is_judged and leaked else ""
    unplaced = (
        f"; the agent cannot reserve {amount_text(name, overflow)} for usage outside nova, because Placement allows no "
        '"reserved" above the total'
        if overflow
        else ""
    )
    return RULE.finding(
        audit,
        headline=f"{audit.host}: {with_unit(name, used)}{part} used{place.where}, more than the capacity of "
        f"{number_text(inventory.capacity)}"
        if used > inventory.capacity
        else f"{audit.host}: the agent cannot reserve {with_unit(name, overflow)}{place.where} for usage outside nova, "
        'because Placement allows no "reserved" above the total',
        provider_uuid=place.provider_uuid,
        resource_class=name,
        expected=f"at most {amount_text(name, inventory.capacity)} used{place.where}: "
        f"({inventory.total} - {inventory.reserved}) x {inventory.allocation_ratio:g}",
        actual=f"{amount_text(name, used)} used, free {number_text(free)}"
        f"{_leak_text(name, leaked, unlisted) if is_judged else UNJUDGED}{unplaced}",
        evidence=claims_of(row for row in rows if row.recorded or _is_reserved(audit, row)),
        facts=(
            ("capacity", inventory.capacity),
            ("used", used),
            ("free", free),
            ("missing", missing),
            ("allocation_ratio", inventory.allocation_ratio),
            *((("unlisted", unlisted),) if unlisted else ()),
            ("leaked_consumers", len(leaked) if is_judged else None),
            ("leaked_amount", leaked_amount if is_judged else None),
            *((("leaked_part", leaked_amount),) if is_judged and 0 < leaked_amount < missing else ()),
        ),
        rests_on_recorded=True,
        remedies=_remedies(audit, name, leaked) if is_judged else (wait(UNJUDGED_REMEDY),),
    )


def _is_reserved(audit: AuditFacts, row: Row) -> bool:
    """Return whether the agent counts the row's amount in the inventory's ``reserved``, because nova does not know it.

    In role companion the agent does not write ``reserved``.
    """
    if audit.settings.role is Role.COMPANION:
        return False
    return any(is_reserved(claim, audit.settings) for claim in row.claims)


def _of_pinned_cpus(audit: AuditFacts) -> Findings:
    """Yield the findings about pinned CPUs; no finding if it is unknown to which CPUs guests may be pinned."""
    taken = [one for one in audit.books.occupied.occupancies if one.numa]
    host = audit.snapshot.host.value
    if not taken or host is None or cpus.obstacle(host, audit.settings):
        return
    grouped: dict[tuple[int, tuple[str, ...]], list[int]] = defaultdict(list)
    for conflict in pin_conflicts(numa_cells(host, audit.settings) or (), taken):
        grouped[conflict.cell, conflict.instances].append(conflict.cpu)
    names = {one.instance.uuid: one.instance.name for one in taken}
    for (cell, instances), numbers in sorted(grouped.items()):
        yield _pinned(audit, cell, numbers, [(uuid, names[uuid]) for uuid in instances])


def _pinned(audit: AuditFacts, cell: int, numbers: list[int], instances: list[tuple[str, str]]) -> Finding:
    which = f"CPU {render_cpu_list(numbers)} of NUMA cell {cell}"
    who = " and ".join(f"instance {uuid} ({name})" for uuid, name in instances)
    alone = len(instances) == 1
    uuids = {uuid for uuid, _ in instances}
    return RULE.finding(
        audit,
        headline=f"{' and '.join(short_name(name) for _, name in instances)}: pinned to {which} of {audit.host}, "
        f"{'but no guest may be pinned there' if alone else 'but only one guest may be pinned there'}",
        subject=f"cell {cell} {' '.join(sorted(uuids))}",
        expected=f"no guest is pinned to {which}, because guests must not be pinned to this CPU"
        if alone
        else f"only one guest is pinned to {which}",
        actual=f"{which} is pinned for {who}",
        evidence=tuple(
            claim
            for claim in audit.books.promised.claims
            if claim.instance_uuid in uuids and claim.resource_class in _CPU_CLASSES
        ),
        facts=(("cell", cell), ("cpus", render_cpu_list(numbers)), ("instances", ", ".join(sorted(uuids)))),
        rests_on=frozenset({STATE, LIBVIRT}),
        remedies=_of_pinned(instances),
    )


def _remedies(audit: AuditFacts, name: str, leaked: list[Row]) -> tuple[Remedy, ...]:
    leaks = "first remove the leaked allocations: each has its own finding, which shows the command"
    servers = openstack("server", "list", "--all-projects", "--long", "--host", audit.host)
    return (
        *((by_hand(leaks),) if leaked else ()),
        explain(name),
        inspect("if the usage is too large even without leaked allocations, choose instances to move away", servers),
    )


def _of_pinned(instances: list[tuple[str, str]]) -> tuple[Remedy, ...]:
    moves = [
        by_hand(f"move {short_name(name)} away", openstack("server", "migrate", "--live-migration", uuid))
        for uuid, name in instances
    ]
    if len(instances) == 1:
        return (*moves, by_hand("or add the CPU to [compute] cpu_dedicated_set again, and reload the agent"))
    why = "move one of the guests away: nova-compute's audit of this host fails while two guests are pinned to one CPU"
    return (by_hand(why), *moves)


UNJUDGED = "; the agent could not read the cloud's state or libvirt, so it does not know how much of this use is leaked"
UNJUDGED_REMEDY = (
    "move no guest yet: first repair the source that another finding names (source-stale or source-unavailable); "
    "then this finding says how much of the usage is leaked"
)


def _leak_text(name: str, leaked: list[Row], unlisted: int) -> str:
    if unlisted:
        amount = amount_text(name, unlisted)
        hidden = f"; {amount} of this usage belongs to no consumer that Placement lists (finding usage-unlisted)"
        return hidden + (_leak_text(name, leaked, 0) if leaked else "")
    if not leaked:
        return "; no allocation is leaked, so the host is over-committed"
    total = amount_text(name, sum(row.recorded or 0 for row in leaked))
    who = ", ".join(f"{row.key} ({amount_text(name, row.recorded)}, {row.verdict.value})" for row in leaked)
    return f"; {total} of it belongs to {len(leaked)} consumers that should have no allocation on this host: {who}"


RULE = Rule(code="over-capacity", severity=Severity.ERROR, find=_find, rests_on=frozenset({PLACEMENT, LIBVIRT}))
