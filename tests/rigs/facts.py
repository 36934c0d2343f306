"""Facts written by hand: small builders with sensible defaults, so that a test states only what it is about."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import uuid as uuids
from collections.abc import Iterable
from typing import Any

from agent.audit.decide import Decision, decide
from agent.books.confirm import AuditReads
from agent.errors import SourceUnavailable
from agent.model.audit import WrittenProvider
from agent.model.books import DesiredProvider
from agent.model.compared import Subject
from agent.model.finding import Finding, History
from agent.model.host.facts import Cpu, Domain, DomainState, HostFacts
from agent.model.host.storage import FileSystem, StorageFacts, Volume, VolumeGroup
from agent.model.nova import ComputeNode, Flavor, Instance, Migration, NovaState, Service, StateKind
from agent.model.placement import Allocation, ConsumerRecord, Inventory, PlacementView, Provider
from agent.model.settings import RatioPolicy, Role, Settings, UnmanagedPolicy
from agent.model.snapshot import FILESYSTEM, LIBVIRT, LVM, PLACEMENT, STATE, Reading, Snapshot
from agent.model.units import GIB, MIB
from agent.provider_tree.rival import silence
from agent.resources import BUILTIN as RESOURCES
from agent.traits import BUILTIN as TRAIT_FAMILIES

HOST, NODE = "cmp1", "cmp1.example.org"
ROOT_UUID = "00000000-0000-4000-8000-00000000c001"
NOW = datetime.datetime(2026, 11, 21, 12, 0, 0)  # noqa: DTZ001 - the database's times are naive UTC
INSTANCES = "/var/lib/nova/instances"


def uuid(name: str | int) -> str:
    """Return a uuid derived from that name."""
    return str(uuids.uuid5(uuids.NAMESPACE_DNS, str(name)))


def settings(**changes: Any) -> Settings:
    """Return settings with nova's defaults, role owner, images on a file system."""
    plain = Settings(
        role=Role.OWNER,
        takeover=False,
        host=HOST,
        cpu_ratio=RatioPolicy(configured=None, initial=4.0),
        memory_ratio=RatioPolicy(configured=None, initial=1.0),
        disk_ratio=RatioPolicy(configured=None, initial=1.0),
        reserved_host_cpus=0,
        reserved_host_memory_mib=0,
        reserved_host_disk_mib=0,
        cpu_shared_set=None,
        cpu_dedicated_set=None,
        vcpu_pin_set=None,
        cpu_power_management=False,
        file_backed_memory_mib=0,
        images_type="qcow2",
        images_volume_group=None,
        instances_path=INSTANCES,
        volume_groups=(),
        foreign_volumes=UnmanagedPolicy.RESERVE,
        unknown_guests=UnmanagedPolicy.RESERVE,
        confirm_audits=2,
        confirm_spacing_s=0.0,
        confirm_within_s=None,
        service_down_time_s=60,
        full_read_every=10,
        consumer_reads=20,
        source_deadline_s=5.0,
    )
    return dataclasses.replace(plain, **changes)


def lvm_settings(**changes: Any) -> Settings:
    """Return settings with the guests' disks in volume group vg0."""
    return settings(**{"images_type": "lvm", "images_volume_group": "vg0", "volume_groups": ("vg0",), **changes})


# The two flavors of the scenarios (docs/contributor/scenarios.md).
FLAVOR_A = Flavor(id=1, name="A", vcpus=1, memory_mib=128, root_gib=1, ephemeral_gib=0, swap_mib=0)
FLAVOR_B = Flavor(id=2, name="B", vcpus=2, memory_mib=256, root_gib=5, ephemeral_gib=0, swap_mib=0)


def instance(name: str | int = "i1", **changes: Any) -> Instance:
    """Return an active instance of flavor A on this host."""
    plain = Instance(
        uuid=uuid(name),
        name=str(name),
        project_id="p",
        user_id="u",
        host=HOST,
        node=NODE,
        vm_state="active",
        task_state=None,
        deleted=False,
        hidden=False,
        flavor=FLAVOR_A,
        flavor_id=1,
    )
    return dataclasses.replace(plain, **changes)


def migration(number: int = 1, name: str | int = "i1", **changes: Any) -> Migration:
    """Return a resize of instance ``name`` from this host to another, in status ``migrating``."""
    plain = Migration(
        id=number,
        uuid=uuid(f"migration-{number}"),
        instance_uuid=uuid(name),
        kind="resize",
        status="migrating",
        source_host=HOST,
        source_node=NODE,
        dest_host="cmp2",
        dest_node="cmp2.example.org",
        old_type_id=1,
        new_type_id=2,
        created_at=NOW,
        updated_at=None,
    )
    return dataclasses.replace(plain, **changes)


INCOMING: dict[str, Any] = {
    "source_host": "cmp2",
    "source_node": "cmp2.example.org",
    "dest_host": HOST,
    "dest_node": NODE,
}


def node(number: int = 1, **changes: Any) -> ComputeNode:
    """Return the compute node row of this host."""
    plain = ComputeNode(id=number, uuid=ROOT_UUID, host=HOST, hypervisor_hostname=NODE, deleted=False)
    return dataclasses.replace(plain, **changes)


def service(**changes: Any) -> Service:
    """Return a nova-compute service whose last heartbeat is a day old."""
    plain = Service(
        id=1,
        version=74,
        disabled=False,
        forced_down=False,
        last_seen_up=NOW - datetime.timedelta(days=1),
        created_at=NOW - datetime.timedelta(days=30),
    )
    return dataclasses.replace(plain, **changes)


def state(*instances: Instance, **changes: Any) -> NovaState:
    """Return the database's state of this host."""
    plain = NovaState(kind=StateKind.SQL, host=HOST, nodes=(node(),), instances=instances, now=NOW, heartbeat=NOW)
    return dataclasses.replace(plain, **changes)


def beating(nova: NovaState) -> NovaState:
    """Return the same state as if read now from a cell whose services have just reported."""
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    return dataclasses.replace(nova, now=now, heartbeat=now)


def domain(name: str | int = "i1", **changes: Any) -> Domain:
    """Return the running guest of instance ``name``, of flavor A's size."""
    plain = Domain(uuid=uuid(name), name=str(name), state=DomainState.RUNNING, vcpus=1, memory_mib=128)
    return dataclasses.replace(plain, **changes)


def host(*domains: Domain, cpus: int = 4, memory_mib: int = 512, **changes: Any) -> HostFacts:
    """Return the scenarios' common host: 4 CPUs, 512 MiB."""
    plain = HostFacts(
        hostname=NODE,
        driver="QEMU",
        libvirt_version=9000000,
        hypervisor_version=7002000,
        cpus=tuple(Cpu(id=number, online=True) for number in range(cpus)),
        memory_mib=memory_mib,
        memory_used_mib=100,
        domains=domains,
    )
    return dataclasses.replace(plain, **changes)


def group(size_gib: int = 6, *volumes: Volume, name: str = "vg0") -> StorageFacts:
    """Return a volume group with these volumes."""
    taken = sum(volume.extent_bytes for volume in volumes)
    made = VolumeGroup(
        name=name,
        uuid=f"uuid-of-{name}",
        size_bytes=size_gib * GIB,
        free_bytes=size_gib * GIB - taken,
        extent_bytes=4 * MIB,
    )
    return StorageFacts(groups=(made,), volumes=volumes)


def volume(name: str, size_gib: float, *, in_group: str = "vg0") -> Volume:
    """Return a linear volume."""
    size = int(size_gib * GIB)
    return Volume(group=in_group, name=name, uuid=f"uuid-of-{name}", size_bytes=size, extent_bytes=size)


def filesystem(size_gib: float = 6) -> StorageFacts:
    """Return the file system of ``instances_path``."""
    size = int(size_gib * GIB)
    return StorageFacts(
        filesystems=(FileSystem(path=INSTANCES, size_bytes=size, free_bytes=size, available_bytes=size),)
    )


def inventory(resource_class: str, total: int, **changes: Any) -> Inventory:
    """Return an inventory whose ``max_unit`` is its total."""
    return Inventory(**{"resource_class": resource_class, "total": total, "max_unit": total, **changes})


@functools.cache
def usual_traits() -> frozenset[str]:
    """Return the root's traits after an audit of the plain world: with them, no audit of that world writes traits."""
    nowhere = Snapshot(placement=failed(PLACEMENT), nova=good(STATE, state()), host=good(LIBVIRT, host()))
    return frozenset().union(*(wish(nowhere, settings()).wanted for wish in TRAIT_FAMILIES))


def classes_from(source: str, *also: str) -> frozenset[str]:
    """Return the named classes and all others of the registry whose total needs the source in the plain settings."""
    needing = (resource for resource in RESOURCES if source in resource.needs(settings()))
    return frozenset(also).union(*(resource.classes for resource in needing))


def root(*inventories: Inventory, **changes: Any) -> Provider:
    """Return this host's root provider, with all the traits that mark it as Stocktake's."""
    plain = Provider(
        uuid=ROOT_UUID,
        name=NODE,
        parent_uuid=None,
        generation=7,
        inventories=inventories,
        traits=usual_traits(),
    )
    return dataclasses.replace(plain, **changes)


def allocations(consumer: str, **amounts: int) -> tuple[Allocation, ...]:
    """Return the allocations of that consumer uuid on the root."""
    return tuple(
        Allocation(
            consumer_uuid=consumer, consumer_generation=1, provider_uuid=ROOT_UUID, resource_class=name, amount=amount
        )
        for name, amount in sorted(amounts.items())
    )


def view(*held: Iterable[Allocation], provider: Provider | None = None, **changes: Any) -> PlacementView:
    """Return a freshly read view of a tree of one provider with these allocations."""
    plain = PlacementView(
        root_uuid=ROOT_UUID,
        providers=(provider,) if provider else (root(),),
        allocations=tuple(a for some in held for a in some),
        allocations_fresh=True,
    )
    return dataclasses.replace(plain, **changes)


def good(source: str, value: Any) -> Reading[Any]:
    """Return a reading with that value."""
    return Reading(source=source, taken_at="2026-11-21T12:00:00.000Z", duration_s=0.01, value=value)


def failed(source: str) -> Reading[Any]:
    """Return a reading that failed."""
    error = SourceUnavailable(source, "no answer within 5 s")
    return Reading(source=source, taken_at="2026-11-21T12:00:00.000Z", duration_s=5.0, error=error)


def snapshot(
    *,
    placement: PlacementView | None = None,
    nova: NovaState | None = None,
    libvirt: HostFacts | None = None,
    lvm: StorageFacts | None = None,
    files: StorageFacts | None = None,
    lost: Iterable[str] = (),
) -> Snapshot:
    """Return a snapshot in which every source was read except those that ``lost`` names."""
    values = {
        PLACEMENT: placement or view(),
        STATE: nova or state(),
        LIBVIRT: libvirt or host(),
        LVM: lvm or group(),
        FILESYSTEM: files or filesystem(),
    }
    lost = frozenset(lost)
    made = {name: failed(name) if name in lost else good(name, value) for name, value in values.items()}
    return Snapshot(
        placement=made[PLACEMENT], nova=made[STATE], host=made[LIBVIRT], storage=(made[LVM], made[FILESYSTEM])
    )


def without(world: Snapshot, *lost: str) -> Snapshot:
    """Return the same world with the reads of those sources failed."""
    return dataclasses.replace(
        world,
        placement=failed(PLACEMENT) if PLACEMENT in lost else world.placement,
        nova=failed(STATE) if STATE in lost else world.nova,
        host=failed(LIBVIRT) if LIBVIRT in lost else world.host,
        storage=tuple(failed(r.source) if r.source in lost else r for r in world.storage),
    )


def consumer(name: str, **places: dict[str, int]) -> ConsumerRecord:
    """Return a consumer's record: ``here`` is this host's root, any other name a provider with that name's uuid."""
    held = [
        Allocation(
            consumer_uuid=uuid(name),
            consumer_generation=1,
            provider_uuid=ROOT_UUID if place == "here" else uuid(place),
            resource_class=resource_class,
            amount=amount,
        )
        for place, amounts in places.items()
        for resource_class, amount in sorted(amounts.items())
    ]
    return ConsumerRecord(consumer_uuid=uuid(name), generation=1, project_id="p", user_id="u", allocations=tuple(held))


def decided(
    world: Snapshot,
    chosen: Settings | None = None,
    written: WrittenProvider | None = None,
    silent_for_s: int = 1000,
) -> Decision:
    """Return the decision on that world; the signs of a nova-compute have been unchanged for ``silent_for_s``."""
    used, root_now = chosen or settings(), world.observed_root
    before = silence(None, root_now, world.nova.value, 0) if root_now else None
    look = AuditReads(now="", confirm_audits=used.confirm_audits, at=silent_for_s)
    history = History(read_until=0, silence=before)
    return decide(world, used, Subject(root_uuid=ROOT_UUID, node=NODE), written, history=history, reads=look)


def findings(world: Snapshot, code: str, chosen: Settings | None = None) -> tuple[Finding, ...]:
    """Return the findings with that code that follow from the world."""
    return tuple(f for f in decided(world, chosen).findings if f.code == code)


def proof(finding: Finding) -> list[tuple[str, str, int]]:
    """Return the evidence in short form: (system of the claim, class, amount)."""
    return sorted((claim.source.system, claim.resource_class, claim.amount) for claim in finding.evidence)


def wanted_root(decision: Decision) -> DesiredProvider:
    """Return the root provider as that decision wants it."""
    if decision.tree is None:
        raise AssertionError("there is no tree")
    return decision.tree.root


def reserves(decision: Decision) -> dict[str, int]:
    """Return ``reserved`` by class, as the decision wants it."""
    return {i.resource_class: i.reserved for i in wanted_root(decision).inventories}


def settled_world(**changes: Any) -> dict[str, Any]:
    """Return instance i1 of flavor A, promised, held and recorded alike: a world without findings."""
    plain: dict[str, Any] = {
        "nova": state(instance()),
        "libvirt": host(domain()),
        "placement": view(allocations(uuid("i1"), VCPU=1, MEMORY_MB=128, DISK_GB=1)),
    }
    return {**plain, **changes}
