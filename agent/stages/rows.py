"""Turn what was decided into the rows that commands and the report print: ledger, inventory, traits, summary."""

from __future__ import annotations

from collections import defaultdict

from agent.model.books import DesiredProvider, DesiredTree, ReserveTerms
from agent.model.claim import Cause, Claim
from agent.model.compared import Row, Subject
from agent.model.host import DomainState, HostFacts
from agent.model.nova import NovaState
from agent.model.placement import ROOT, Inventory, PlacementView, Provider, ProviderKey
from agent.model.report import EvacuationNote, HostSummary, InventoryRow, LedgerRow, TraitRow, Verdict
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.model.units import bytes_to_gib_ceil, bytes_to_gib_floor


def reserve_rows(wanted: DesiredTree | None, subject: Subject) -> tuple[LedgerRow, ...]:
    """The operator's own reserves, one row a class."""
    reserves = wanted.root.reserves if wanted else ()
    found = [_reserve_row(terms, name, amount, subject) for terms in reserves for name, amount in terms.terms[:1]]
    return tuple(row for row in found if row)


def ledger_rows(rows: tuple[Row, ...], view: PlacementView | None, subject: Subject) -> tuple[LedgerRow, ...]:
    """One row per consumer, class and provider."""
    names = {provider.uuid: provider.name for provider in view.providers} if view else {}
    return tuple(_ledger_row(row, *_provider(row.provider_key, names, subject)) for row in rows)


def _reserve_row(terms: ReserveTerms, name: str, amount: int, subject: Subject) -> LedgerRow | None:
    if not name.startswith("reserved_host"):
        return None
    return LedgerRow(
        consumer_uuid=None,
        consumer_key=name,
        consumer_name=name,
        consumer_kind="host",
        cause=Cause.HOST_RESERVED.value,
        provider=subject.node or "",
        provider_uuid=subject.root_uuid or "",
        resource_class=terms.resource_class,
        promised=None,
        held=amount,
        recorded=None,
        verdict=Verdict.RESERVED,
        source=f"config [DEFAULT] {name}",
    )


def _ledger_row(row: Row, provider_uuid: str, provider_name: str) -> LedgerRow:
    first = row.claims[0]
    sizes = [c.size_bytes for c in row.claims if c.size_bytes is not None]
    return LedgerRow(
        consumer_uuid=first.consumer.uuid,
        consumer_key=row.key,
        consumer_name=row.consumer_name,
        consumer_kind=row.consumer_kind,
        cause=_causes(row.claims),
        provider=provider_name,
        provider_uuid=provider_uuid,
        resource_class=row.resource_class,
        promised=row.promised,
        held=row.held,
        recorded=row.recorded,
        verdict=row.verdict,
        source=", ".join(dict.fromkeys(str(c.source) for c in row.claims)),
        size_bytes=sum(sizes) if sizes else None,
    )


def _causes(claims: tuple[Claim, ...]) -> str:
    """The one cause; a same-host resize that one consumer holds has two, joined by "+"."""
    promised = [c.cause.value for c in claims if c.source.system == "nova"]
    return "+".join(dict.fromkeys(promised)) or claims[0].cause.value


def _provider(key: ProviderKey, names: dict[str, str], subject: Subject) -> tuple[str, str]:
    """(uuid, name)."""
    if key == ROOT:
        return subject.root_uuid or "", subject.node or ""
    return key.name, names.get(key.name, key.name)


def inventory_rows(view: PlacementView | None, wanted: DesiredTree | None) -> tuple[InventoryRow, ...]:
    """Every class of every provider of the tree, ours or not: wanted beside recorded."""
    desired = {p.uuid: p for p in wanted.providers} if wanted else {}
    observed = {p.uuid: p for p in view.providers} if view else {}
    used = _used(view)
    rows: list[InventoryRow] = []
    for uuid in dict.fromkeys([*desired, *observed]):
        rows.extend(_inventory_rows(desired.get(uuid), observed.get(uuid), used, known=view is not None))
    return tuple(rows)


def _used(view: PlacementView | None) -> dict[tuple[str, str], int]:
    used: dict[tuple[str, str], int] = defaultdict(int)
    for allocation in view.allocations if view else ():
        used[allocation.provider_uuid, allocation.resource_class] += allocation.amount
    return used


def _inventory_rows(
    wanted: DesiredProvider | None, observed: Provider | None, used: dict[tuple[str, str], int], *, known: bool
) -> list[InventoryRow]:
    uuid = wanted.uuid if wanted else observed.uuid if observed else ""
    name = (observed.name if observed else "") or (wanted.name if wanted else "")
    mine = {i.resource_class: i for i in (wanted.inventories if wanted else ())}
    theirs = {i.resource_class: i for i in (observed.inventories if observed else ())}
    terms = {t.resource_class: t.terms for t in (wanted.reserves if wanted else ())}
    return [
        InventoryRow(
            provider=name,
            provider_uuid=uuid,
            wanted=_wanted(resource_class, mine, theirs, wanted),
            recorded=theirs.get(resource_class),
            used=used.get((uuid, resource_class), 0) if known else None,
            terms=terms.get(resource_class, ()),
        )
        for resource_class in sorted({*mine, *theirs})
    ]


def _wanted(
    resource_class: str,
    mine: dict[str, Inventory],
    theirs: dict[str, Inventory],
    wanted: DesiredProvider | None,
) -> Inventory | None:
    """Ours; for a class that is frozen or not owned, what is there stays wanted."""
    if resource_class in mine:
        return mine[resource_class]
    frozen = {f.resource_class for f in wanted.frozen} if wanted else set()
    owned = wanted.owned_classes - frozen if wanted else frozenset()
    return None if resource_class in owned else theirs.get(resource_class)


def trait_rows(view: PlacementView | None, wanted: DesiredTree | None) -> tuple[TraitRow, ...]:
    """Every trait of every provider of the tree; one that nobody here wishes is the operator's."""
    rows: list[TraitRow] = []
    desired = {p.uuid: p for p in wanted.providers} if wanted else {}
    observed = {p.uuid: p for p in view.providers} if view else {}
    for uuid in dict.fromkeys([*desired, *observed]):
        rows.extend(_trait_rows(desired.get(uuid), observed.get(uuid)))
    return tuple(rows)


def _trait_rows(wanted: DesiredProvider | None, observed: Provider | None) -> list[TraitRow]:
    uuid = wanted.uuid if wanted else observed.uuid if observed else ""
    name = (observed.name if observed else "") or (wanted.name if wanted else "")
    wished = wanted.traits_wanted if wanted else frozenset()
    decided = wished | (wanted.traits_unwanted if wanted else frozenset())
    recorded = observed.traits if observed else frozenset()
    return [
        TraitRow(
            provider=name,
            provider_uuid=uuid,
            trait=trait,
            wanted=trait in wished or (trait not in decided),
            recorded=trait in recorded,
            owner="ours" if trait in decided else "operator",
        )
        for trait in sorted(wished | recorded)
    ]


def evacuation_notes(state: NovaState | None) -> tuple[EvacuationNote, ...]:
    """Finished evacuations away from here, newest per instance: each contributes 0, and ``explain`` says so."""
    instances = {i.uuid: i for i in (state.instances if state else ())}
    newest = {m.instance_uuid: m for m in sorted(state.finished_evacuations if state else (), key=lambda m: m.id)}
    notes = []
    for uuid, migration in sorted(newest.items()):
        instance = instances.get(uuid)
        flavor = instance.flavor if instance else None
        notes.append(
            EvacuationNote(
                instance_uuid=uuid,
                migration_uuid=migration.uuid or str(migration.id),
                status=migration.status,
                vcpus=flavor.vcpus if flavor else None,
                memory_mib=flavor.memory_mib if flavor else None,
                dest_host=migration.dest_host or "unknown",
            )
        )
    return tuple(notes)


def summary(
    snapshot: Snapshot, settings: Settings, node: str | None, rows: tuple[Row, ...], wanted: DesiredTree | None
) -> HostSummary | None:
    """The numbers of the reference's three lines (reconcile 8); None while libvirt cannot be read."""
    host = snapshot.host.value
    if host is None or node is None:
        return None
    # The dedicated ones are not in nova's count of usable CPUs, those promised to guests are; without any, both are 0.
    total_vcpus = _total(wanted, "VCPU")
    used_vcpus = settings.reserved_host_cpus + _promised(rows, "VCPU") + _promised(rows, "PCPU")
    disk = _disk(snapshot, settings)
    return HostSummary(
        node=node,
        free_ram_mib=None if host.memory_used_mib is None else host.memory_mib - host.memory_used_mib,
        free_disk_gib=bytes_to_gib_floor(disk[1]) if disk else None,
        free_vcpus=total_vcpus - _running_vcpus(host) if total_vcpus else None,
        total_vcpus=total_vcpus,
        used_vcpus=used_vcpus if total_vcpus else 0,
        phys_ram_mib=settings.file_backed_memory_mib or host.memory_mib,
        used_ram_mib=settings.reserved_host_memory_mib + _promised(rows, "MEMORY_MB"),
        phys_disk_gib=bytes_to_gib_floor(disk[0]) if disk else None,
        used_disk_gib=max(_promised_disk(rows, settings), _disk_used(disk, settings)),
    )


def _promised(rows: tuple[Row, ...], resource_class: str) -> int:
    return sum(row.promised or 0 for row in rows if row.resource_class == resource_class)


def _promised_disk(rows: tuple[Row, ...], settings: Settings) -> int:
    # The row truncates the reserve, Placement rounds it up (reconcile 4.1).
    return _promised(rows, "DISK_GB") + settings.reserved_host_disk_mib // 1024


def _total(wanted: DesiredTree | None, resource_class: str) -> int:
    inventory = wanted.root.inventory(resource_class) if wanted else None
    return inventory.total if inventory else 0


def _running_vcpus(host: HostFacts) -> int:
    off = {DomainState.SHUTOFF, DomainState.CRASHED, DomainState.NO_STATE}
    return sum(domain.vcpus for domain in host.domains if domain.state not in off)


def _disk(snapshot: Snapshot, settings: Settings) -> tuple[int, int] | None:
    """(size, free) in bytes of what DISK_GB counts; nova's line counts what a file system keeps for root as free."""
    if settings.disk_group:
        group = snapshot.group(settings.disk_group)
        return (group.size_bytes, group.free_bytes) if group else None
    if settings.images_type == "rbd":
        pools = (pool for pool in snapshot.ceph_pools if pool.name == settings.images_rbd_pool)
        return next(((pool.cluster_bytes, pool.available_bytes) for pool in pools), None)
    return next(
        ((fs.size_bytes, fs.free_bytes) for fs in snapshot.filesystems if fs.path == settings.instances_path), None
    )


def _disk_used(disk: tuple[int, int] | None, settings: Settings) -> int:
    # Never below what the storage itself says is used (scenario 91); of a file
    # system other things than guests take, so there the flavors speak alone.
    if disk is None or settings.disk_group is None:
        return 0
    return bytes_to_gib_ceil(disk[0] - disk[1])
