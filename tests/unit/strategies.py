"""Hypothesis strategies for everything that one audit decides on: snapshots, settings, trees.

Names come from a small pool, so that the three books name the same consumers again and again: the rules are about
such consumers. Values are those that rules depend on (states, tasks, statuses, halves of a GiB), not arbitrary numbers.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from agent.model.audit import WrittenProvider
from agent.model.books import DesiredProvider, DesiredTree, Frozen
from agent.model.host.devices import Devices, OddDevice
from agent.model.host.facts import Disk, Domain, DomainState, HostFacts, OddDomain
from agent.model.host.storage import PmemNamespace, StorageFacts, Volume, VolumeGroup
from agent.model.nova import Flavor, Instance, Migration, NovaState, StateKind
from agent.model.placement import ROOT, Allocation, ConsumerRecord, Inventory, PlacementView, Provider, ProviderKey
from agent.model.settings import GuestCpu, PmemLabel, RatioPolicy, Settings, UnmanagedPolicy
from agent.model.snapshot import FILESYSTEM, LIBVIRT, LVM, PLACEMENT, PMEM, STATE, Snapshot
from agent.model.units import GIB, MIB
from tests.rigs.facts import (
    FLAVOR_A,
    FLAVOR_B,
    HOST,
    NODE,
    NOW,
    ROOT_UUID,
    domain,
    filesystem,
    good,
    host,
    instance,
    migration,
    node,
    root,
    service,
    settings,
    snapshot,
    state,
    uuid,
    view,
)
from tests.rigs.nested import AT_06, AT_07, GPU_06, GPU_07, SEV, card, child, kernel, machine, mdev_type, mdevs, x86

SOURCES = (PLACEMENT, STATE, LIBVIRT, LVM, FILESYSTEM, PMEM)
PINNED = Flavor(
    id=3,
    name="P",
    vcpus=2,
    memory_mib=64,
    root_gib=0,
    ephemeral_gib=1,
    swap_mib=512,
    extra_specs=(("hw:cpu_policy", "dedicated"),),
)
FLAVORS = (FLAVOR_A, FLAVOR_B, PINNED)
NAMES = ("i1", "i2", "i3", "stranger")
CHILD = uuid("child")
# The agent's children as an earlier audit, or nova-compute, left them.
NESTED = (GPU_06, GPU_07, "amd_sev", "amd_sev_es", "intel_tdx")

_sometimes = st.sampled_from((False, False, False, True))
_PLACES = ((HOST, NODE),) * 3 + ((HOST, "old.example.org"), ("cmp2", "cmp2.example.org"), (None, None))
_VM_STATES = (
    ("active",) * 4 + ("resized",) * 2 + ("stopped", "building", "paused", "error", "shelved_offloaded", "soft-delete")
)
_TASKS = (None,) * 3 + ("resize_prep", "resize_finish", "migrating", "rebuilding", "spawning", "deleting")
_STATUSES = ("accepted", "migrating", "finished", "error", "done", "completed", "confirmed", "reverted")
_KINDS = ("resize", "resize", "migration", "live-migration", "evacuation")
_SIDES = (
    {"source_host": HOST, "source_node": NODE, "dest_host": "cmp2", "dest_node": "cmp2.example.org"},
    {"source_host": "cmp2", "source_node": "cmp2.example.org", "dest_host": HOST, "dest_node": NODE},
    {"source_host": HOST, "source_node": NODE, "dest_host": HOST, "dest_node": NODE},
    {"source_host": "cmp2", "source_node": "x", "dest_host": "cmp3", "dest_node": "y"},
)


def _any(*parts: Iterable[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Draw one value of each part, in one draw (the cost of an example is its number of draws)."""
    return st.sampled_from(tuple(itertools.product(*parts)))


def _some(pool: Iterable[Any], at_most: int = 9) -> st.SearchStrategy[tuple[Any, ...]]:
    """Draw any of these, each at most once, in one draw."""
    pool = tuple(pool)
    sizes = range(min(at_most, len(pool)) + 1)
    return st.sampled_from(tuple(itertools.chain.from_iterable(itertools.combinations(pool, size) for size in sizes)))


_rows = _any(_PLACES, _VM_STATES, _TASKS)
_flavors_of_rows = _any((*FLAVORS, None), (*FLAVORS, None), (*FLAVORS, None))
_flags = _any((False, False, True), (False, True), (False, True), (None, None, 1, 2))
_moves = _any(NAMES, _KINDS, _STATUSES, _SIDES)
_ids = _any((True, True, False), FLAVORS, FLAVORS, (None, NOW, NOW - datetime.timedelta(hours=1)))


@st.composite
def instances(draw: st.DrawFn, name: str) -> Instance:
    """Draw a row of that name: here, elsewhere or nowhere, in any state; some are deleted, some do not parse."""
    (place, node_name), vm_state, task_state = draw(_rows)
    flavor, old_flavor, new_flavor = draw(_flavors_of_rows)
    deleted, hidden, boots_from_volume, context = draw(_flags)
    return instance(
        name,
        host=place,
        node=node_name,
        vm_state=vm_state,
        task_state=task_state,
        deleted=deleted,
        hidden=hidden,
        flavor=flavor,
        flavor_id=flavor.id if flavor else None,
        problem=None if flavor else "flavor is NULL",
        old_flavor=old_flavor,
        new_flavor=new_flavor,
        boots_from_volume=boots_from_volume,
        migration_context_id=context,
    )


@st.composite
def migrations(draw: st.DrawFn, number: int) -> Migration:
    """Draw migration ``number`` of some instance: in, out, within this host or past it, in any status."""
    name, kind, status, sides = draw(_moves)
    has_uuid, old, new, updated_at = draw(_ids)
    return migration(
        number,
        name,
        kind=kind,
        status=status,
        uuid=uuid(f"migration-{number}") if has_uuid else None,
        old_type_id=old.id,
        new_type_id=new.id,
        updated_at=updated_at,
        **sides,
    )


@st.composite
def states(draw: st.DrawFn) -> NovaState:
    """Draw the cloud's state of a few instances, migrations and node rows; sometimes there is no cloud."""
    moves = tuple(draw(migrations(number)) for number in range(1, draw(st.integers(1, 4))))
    alive = service(last_seen_up=NOW, disabled=draw(_sometimes))
    plain = state(
        *(draw(instances(name)) for name in NAMES if not draw(_sometimes)),
        migrations=moves,
        finished_evacuations=tuple(m for m in moves if m.kind == "evacuation" and not m.in_progress),
        service=draw(st.sampled_from((None, service(), alive))),
        nodes=(node(), *((node(2, uuid=uuid("old"), hypervisor_hostname="old"),) if draw(_sometimes) else ())),
        unreadable=("instances row 7",) if draw(_sometimes) else (),
    )
    if draw(st.sampled_from((False,) * 7 + (True,))):
        return NovaState(kind=StateKind.NONE, host=HOST, now=NOW)
    return plain


_PATHS = ("/dev/vg0/by-hand", "/dev/mapper/vg0-thin", f"/dev/vg0/{uuid('i3')}_disk", "/var/lib/x.qcow2")
_sources = _some(_PATHS, 2)
_shapes = _any((DomainState.RUNNING, DomainState.SHUTOFF), (1, 2, 30), (1, 128, 600), ((), (), (2,), (2, 3), (0, 2)))


@st.composite
def domains(draw: st.DrawFn, name: str) -> Domain:
    """Draw the guest of that name, of any size; some are pinned, some use volumes with other names."""
    power, vcpus, memory_mib, pinned = draw(_shapes)
    sources = draw(_sources)
    return domain(
        name,
        state=power,
        vcpus=vcpus,
        memory_mib=memory_mib,
        pinned_cpus=pinned,
        disks=tuple(Disk(target=f"vd{n}", kind="block", source=source) for n, source in enumerate(sources)),
    )


_VOLUME_NAMES = (
    *(f"{uuid(name)}_disk" for name in NAMES),
    f"{uuid('nobody')}_disk.swap",
    f"volume-{uuid('cinder')}",
    "by-hand",
    "pool",
    "thin",
)


_volume_names = _some(_VOLUME_NAMES, 5)
_volume_places = _any((1, GIB // 2, GIB, GIB + 1, 3 * GIB), ("vg0", "vg0", "vg1"))


@st.composite
def groups(draw: st.DrawFn) -> StorageFacts:
    """Draw groups vg0 and vg1 with volumes of every kind of owner; sometimes an empty report."""
    if draw(st.sampled_from((False,) * 7 + (True,))):
        return StorageFacts()
    volumes = []
    for name in draw(_volume_names):
        size, in_group = draw(_volume_places)
        pool = "pool" if name == "thin" else None
        volumes.append(
            Volume(
                group=in_group,
                name=name,
                uuid=name,
                size_bytes=size,
                extent_bytes=0 if pool else size,
                pool=pool,
            )
        )
    made = tuple(
        VolumeGroup(name=name, uuid=name, size_bytes=size, free_bytes=0, extent_bytes=4 * MIB)
        for name, size in (("vg0", draw(st.sampled_from((GIB - 1, 6 * GIB, 20 * GIB)))), ("vg1", GIB))
    )
    return StorageFacts(groups=made, volumes=tuple(volumes))


_amounts = _any((1, 4, 512), (0, 1, 512), (None, 2**31 - 1), (1.0, 1.4, 4.0, 16.1))


@st.composite
def inventories(draw: st.DrawFn, resource_class: str) -> Inventory:
    """Draw an inventory that Placement accepts."""
    total, reserved, max_unit, ratio = draw(_amounts)
    return Inventory(
        resource_class=resource_class,
        total=total,
        reserved=min(reserved, total),
        max_unit=max_unit or total,
        allocation_ratio=ratio,
    )


_CLASSES = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_X")
_NESTED_CLASSES = ("VGPU", "MEM_ENCRYPTION_CONTEXT", "CUSTOM_BIG")
_ROOT_CLASSES = (*_CLASSES, *_NESTED_CLASSES[:2], "CUSTOM_PMEM_NAMESPACE_4GB")
_TRAITS = ("COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE", "COMPUTE_STATUS_DISABLED", "CUSTOM_X", "HW_CPU_X86_AVX2")


_some_traits, _some_classes = _some(_TRAITS), _some(_ROOT_CLASSES)
_nested_classes, _nested_there = _some(_NESTED_CLASSES, 2), _some(NESTED, 3)
_own_classes, _two_classes, _two_names = _some(_CLASSES[:4]), _some(_CLASSES, 2), _some(NAMES, 2)
_root_notes = _any((False,) * 7 + (True,), (False, True), range(4))


@st.composite
def roots(draw: st.DrawFn, **changes: Any) -> Provider:
    """Draw a root provider as any writer may have left it; sometimes it is nova-compute's."""
    is_novas, has_aggregate, generation = draw(_root_notes)
    return root(
        *(draw(inventories(name)) for name in draw(_some_classes)),
        traits=frozenset(draw(_some_traits)) | frozenset({"OWNER_NOVA"} if is_novas else ()),
        generation=generation,
        aggregates=frozenset({uuid("aggregate")}) if has_aggregate else frozenset(),
        **changes,
    )


def _allocated(consumer: str, provider: str, resource_class: str, amount: int) -> Allocation:
    return Allocation(
        consumer_uuid=uuid(consumer),
        consumer_generation=1,
        provider_uuid=provider,
        resource_class=resource_class,
        amount=amount,
    )


_held = st.lists(
    _any(
        (*NAMES, "migration-1", "migration-2", "nobody"),
        (ROOT_UUID, ROOT_UUID, ROOT_UUID, CHILD, uuid(GPU_06), uuid("amd_sev")),
        (*_ROOT_CLASSES, "VGPU"),
        (1, 128, 900),
    ),
    unique_by=lambda held: held[:3],
    max_size=6,
)


@st.composite
def views(draw: st.DrawFn) -> PlacementView:
    """Draw the host's tree: a root (sometimes none), another owner's child, allocations of every kind of consumer."""
    if draw(st.sampled_from((False,) * 7 + (True,))):
        other = root(uuid=uuid("other")) if draw(_sometimes) else None
        return view(providers=(), name_holder=other)
    other = root(uuid=CHILD, name="child", parent_uuid=ROOT_UUID, generation=3, traits=frozenset())
    standing = (other, *(draw(_nested(name)) for name in draw(_nested_there)))
    there = {ROOT_UUID, *(provider.uuid for provider in standing)}
    held = tuple(_allocated(*one) for one in draw(_held) if one[1] in there)
    consumers = tuple(
        ConsumerRecord(
            consumer_uuid=uuid(name),
            generation=1,
            project_id="p",
            user_id="u",
            allocations=(
                *(a for a in held if a.consumer_uuid == uuid(name)),
                _allocated(name, uuid("cmp2"), "VCPU", 1),
            ),
        )
        for name in draw(_two_names)
    )
    return view(held, providers=(draw(roots()), *standing), consumers=consumers, allocations_fresh=not draw(_sometimes))


@st.composite
def _nested(draw: st.DrawFn, name: str) -> Provider:
    """Draw that child of the root, with any classes and traits."""
    offered = tuple(draw(inventories(resource_class)) for resource_class in draw(_nested_classes))
    return child(name, *offered, traits=frozenset(draw(_some_traits)))


_AVAILABLE = (None, 0, 15)
_MADE = ((), mdevs(GPU_06, "nvidia-11", 2), (*mdevs(GPU_06, "nvidia-12"), *mdevs(GPU_07, "nvidia-11")))
_ODD = ((),) * 6 + ((OddDevice(name=GPU_06, reason="?"),), (OddDevice(name="mdev_x", reason="?"),))
_listings = _any((True, True, True, False), _AVAILABLE, _AVAILABLE, _MADE, _ODD)
_SNP = machine(sev=SEV, launch_security=frozenset({"sev-snp"}))
_platforms = _any(
    (None, x86(machine()), x86(machine(sev=SEV)), x86(_SNP), x86(domain=None), x86(machine(tdx=True))),
    (kernel(), kernel(sev="Y"), kernel(sev="Y", sev_es="Y"), kernel(sev="Y", sev_es="Y", sev_snp="Y")),
    (7_002_000, 8_000_000),
    (None, 0, 31),
)


@st.composite
def hosts(draw: st.DrawFn, *guests: Domain, **changes: Any) -> HostFacts:
    """Draw libvirt's facts: cards that make mediated devices, and the platform's encryption; sometimes unknown."""
    listed, first, second, made, odd = draw(_listings)
    capabilities, parameters, qemu, tdx_capacity = draw(_platforms)
    cards = tuple(
        card(name, nvidia_11=available, nvidia_12=3)
        for name, available in ((GPU_06, first), (GPU_07, second))
        if available is not None
    )
    return host(
        *guests,
        devices=Devices(mdev_parents=cards, mdevs=made, odd=odd) if listed else None,
        capabilities=capabilities,
        kernel_parameters=parameters,
        hypervisor_version=qemu,
        tdx_capacity=tdx_capacity,
        **changes,
    )


@st.composite
def namespaces(draw: st.DrawFn) -> StorageFacts:
    """Draw persistent memory: as configured, or with namespaces missing or added."""
    names = draw(st.sampled_from((("ns_0", "ns_1"), ("ns_0", "ns_1", "ns_2"), ("ns_0",), ())))
    found = (
        PmemNamespace(name=name, device_path=f"/dev/{name}", size_bytes=GIB, alignment_bytes=2 * MIB) for name in names
    )
    return StorageFacts(pmem_namespaces=tuple(found))


_RATIOS = tuple(RatioPolicy(configured=ratio, initial=1.5) for ratio in (None, 0.0, 1.0, 1.4, 4.0))
_CPU_SETS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"cpu_shared_set": (0, 1)},
    {"cpu_shared_set": (0, 1), "cpu_dedicated_set": (2, 3)},
    {"cpu_dedicated_set": (2, 3)},
    {"cpu_shared_set": (0, 9)},
)
_LVM = {"images_type": "lvm", "images_volume_group": "vg0"}
_MDEV_TYPES = (
    (),
    (mdev_type("nvidia-11"),),
    (mdev_type("nvidia-11", max_instances=16),),
    (mdev_type("nvidia-11", AT_06, resource_class="CUSTOM_BIG"), mdev_type("nvidia-12", AT_07)),
)
_PMEM_LABELS = ((), (), (PmemLabel(label="4gb", namespaces=("ns_0", "ns_1")),))
_TDX: tuple[dict[str, Any], ...] = (
    {},
    {"guest_cpu": GuestCpu(mode="host-passthrough")},
    {"guest_cpu": GuestCpu(mode="host-passthrough"), "intel_tdx_guests": 0},
    {"guest_cpu": GuestCpu(mode="host-passthrough"), "intel_tdx_guests": 8},
)
_devices = _any(_MDEV_TYPES, _PMEM_LABELS, _TDX)
_reserves = _any((0, 1, 9), (0, 100, 9999), (0, 1, 1025, 99999))
_ratios = _any(_RATIOS, _RATIOS, _RATIOS)
_policies = _any(UnmanagedPolicy, UnmanagedPolicy, (False, False, False, True))
_storage = _any(((), ("vg0",), ("vg0", "vg1")), (_LVM, {}), (0, 0, 700), _CPU_SETS)


@st.composite
def choices(draw: st.DrawFn) -> Settings:
    """Draw settings that an operator may have configured."""
    cpus, memory_mib, disk_mib = draw(_reserves)
    cpu_ratio, memory_ratio, disk_ratio = draw(_ratios)
    foreign_volumes, unknown_guests, takeover = draw(_policies)
    volume_groups, images, file_backed_mib, cpu_sets = draw(_storage)
    mdev_types, pmem_labels, tdx = draw(_devices)
    return settings(
        mdev_types=mdev_types,
        pmem_labels=pmem_labels,
        takeover=takeover,
        cpu_ratio=cpu_ratio,
        memory_ratio=memory_ratio,
        disk_ratio=disk_ratio,
        reserved_host_cpus=0 if cpu_sets else cpus,
        reserved_host_memory_mib=memory_mib,
        reserved_host_disk_mib=disk_mib,
        foreign_volumes=foreign_volumes,
        unknown_guests=unknown_guests,
        file_backed_memory_mib=file_backed_mib,
        volume_groups=volume_groups,
        **images,
        **cpu_sets,
        **tdx,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class World:
    """All inputs of one decision."""

    facts: Snapshot
    chosen: Settings
    written: WrittenProvider | None = None


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Draw a world in which every source was read."""
    guests = tuple(draw(domains(name)) for name in NAMES if draw(st.booleans()))
    odd = (OddDomain(uuid=uuid("i2"), name="i2", reason="no <vcpu>"),) if draw(_sometimes) else ()
    facts = snapshot(
        placement=draw(views()),
        nova=draw(states()),
        libvirt=draw(
            hosts(
                *(guest for guest in guests if not odd or guest.uuid != odd[0].uuid),
                cpus=draw(st.sampled_from((4, 4, 48))),
                memory_mib=draw(st.sampled_from((512, 4096))),
                odd_domains=odd,
            )
        ),
        lvm=draw(groups()),
        files=filesystem(draw(st.sampled_from((0.5, 6, 20)))),
    )
    with_pmem = dataclasses.replace(facts, storage=(*facts.storage, good(PMEM, draw(namespaces()))))
    return World(facts=with_pmem, chosen=draw(choices()))


lost_sources = st.frozensets(st.sampled_from(SOURCES))


@st.composite
def trees(draw: st.DrawFn) -> tuple[DesiredTree, PlacementView]:
    """Draw a wanted tree of up to six of the agent's providers, parents first, and the existing tree."""
    wanted: list[DesiredProvider] = []
    standing: list[Provider] = []
    for number in range(draw(st.integers(1, 6))):
        parent = draw(st.sampled_from(wanted)).uuid if wanted else None
        provider = draw(_wanted(number, parent))
        wanted.append(provider)
        # A child can only exist where its parent exists.
        if draw(st.booleans()) and (parent is None or parent in {p.uuid for p in standing}):
            standing.append(draw(roots(uuid=provider.uuid, name=provider.name, parent_uuid=parent)))
    obsolete: list[Provider] = []
    for number in range(draw(st.integers(0, 3))):
        parents = [p.uuid for p in (*standing, *obsolete)]
        if parents:
            old = root(uuid=uuid(f"old-{number}"), name=f"old-{number}", parent_uuid=draw(st.sampled_from(parents)))
            obsolete.append(old)
    held = tuple(_allocated("i1", provider.uuid, name, 1) for provider in standing for name in draw(_two_classes))
    gone = tuple(provider.uuid for provider in reversed(obsolete))
    return DesiredTree(providers=tuple(wanted), obsolete=gone), view(held, providers=(*standing, *obsolete))


@st.composite
def _wanted(draw: st.DrawFn, number: int, parent: str | None) -> DesiredProvider:
    owned = draw(_own_classes)
    split = draw(st.integers(0, len(owned)))
    frozen, offered = owned[:split], owned[split:]
    wishes = draw(_some_traits)
    middle = draw(st.integers(0, len(wishes)))
    return DesiredProvider(
        key=ROOT if parent is None else ProviderKey("pci", str(number)),
        uuid=ROOT_UUID if parent is None else uuid(f"child-{number}"),
        name=f"provider-{number}",
        parent_uuid=parent,
        inventories=tuple(draw(inventories(name)) for name in sorted(offered) if not draw(_sometimes)),
        owned_classes=frozenset(owned),
        frozen=tuple(Frozen(name=name, why="not read") for name in sorted(frozen)),
        traits_wanted=frozenset(wishes[:middle]),
        traits_unwanted=frozenset(wishes[middle:]),
    )
