"""One or more worlds for each finding code, in which the agent reports that code: for tests about all findings.

``PLANTED`` maps each code to its worlds. A world is made when a test asks for it, because some worlds are costly.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.audit.decide import Decision, with_refusals
from agent.errors import (
    DuplicateName,
    InventoryInUse,
    PlacementDenied,
    PlacementRejected,
    PlacementUnavailable,
    ProviderElsewhere,
    SourceStale,
    SourceUnavailable,
)
from agent.model.audit import Identity, WrittenProvider
from agent.model.claim import Cause
from agent.model.compared import Subject
from agent.model.finding import STEADY_AUDITS, SeenFinding
from agent.model.host.capabilities import Capabilities, HostCpu, MissingPart, Part
from agent.model.host.devices import Devices
from agent.model.host.facts import Cell, DomainState, OddDomain
from agent.model.host.storage import FileSystem, ImageStore, PmemNamespace, StorageFacts, StoredFile
from agent.model.nova import InstanceCell, StateKind
from agent.model.own_consumers import own_consumer_uuid
from agent.model.placement import UnlistedUsage
from agent.model.plan import CreateProvider, MoveProvider, PutInventories, RefusedWrite
from agent.model.provider_config import ProviderEntry
from agent.model.settings import PmemLabel, RatioPolicy, Role, Settings
from agent.model.snapshot import CEPH, FILESYSTEM, IMAGES, LIBVIRT, LVM, PLACEMENT, PMEM, STATE, Reading, Snapshot
from agent.model.units import GIB
from agent.repairs.base import Scene
from tests.rigs import facts, pci
from tests.rigs.capabilities import capable, emulator
from tests.rigs.heal import NOW, SEEN_AT, leaks, record, view_of
from tests.rigs.nested import CARDS, mdev_type
from tests.rigs.records import about, conductor, orphan, stored, tree
from tests.rigs.reshape import gpu_scene
from tests.rigs.stores import mark, on_root, store
from tests.rigs.thin_pools import pool_world

A_LESS = {"VCPU": 3, "MEMORY_MB": 128, "DISK_GB": 1}
AWAY = facts.instance("away", host="cmp2", node="cmp2.example.org")
I1 = facts.uuid("i1")
GPU, T4 = "0000:81:0a.0", "CUSTOM_PCI_10DE_1EB8"
ONE_TO_ONE = facts.settings(cpu_ratio=RatioPolicy(configured=1.0, initial=1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A world with its settings, and what the agent remembers; ``refused`` are writes that Placement rejected."""

    world: Snapshot
    settings: Settings = field(default_factory=facts.settings)
    written: WrittenProvider | None = None
    refused: tuple[RefusedWrite, ...] = ()
    unknown_traits: frozenset[str] = frozenset()

    def decision(self, role: Role, **changes: Any) -> Decision:
        """Return what the agent decides in that role, with changes to the settings."""
        chosen = dataclasses.replace(self.settings, role=role, **changes)
        decided = facts.decided(self.world, chosen, self.written)
        if not self.refused and not self.unknown_traits:
            return decided
        return with_refusals(decided, self.refused, self.unknown_traits)

    def scene(self, role: Role, **changes: Any) -> Scene:
        """Return heal's scene of the decision, with all findings confirmed and an hour old."""
        decision = self.decision(role, **changes)
        identity = Identity(uuid=facts.ROOT_UUID, origin="/etc/nova/compute_id")
        view = self.world.placement.value
        return Scene(
            snapshot=self.world,
            settings=decision.facts.settings,
            subject=Subject(root_uuid=facts.ROOT_UUID, node=facts.NODE, identity_origin=identity.origin),
            rows=decision.rows,
            findings=tuple(
                SeenFinding(finding=f, confirmed=True, first_seen_at=SEEN_AT, times=STEADY_AUDITS)
                for f in decision.findings
            ),
            identity=identity,
            persisted=identity,
            records=view.consumers if view else (),
            now=NOW,
        )


def _of(world: Snapshot, settings: Settings | None = None, **changes: Any) -> Planted:
    return Planted(world=world, settings=settings or facts.settings(), **changes)


def _recorded(*held: str, instance: Any, there: bool = False, **changes: Any) -> Planted:
    """Return a world in which Placement records these consumers here, and perhaps on another host."""
    places = {"here": A_LESS} | ({"there": A_LESS} if there else {})
    records = [dataclasses.replace(record(name, **places), **changes) for name in held]
    guests = facts.host(facts.domain("i1"))
    return _of(facts.snapshot(placement=view_of(*records), nova=facts.state(*instance), libvirt=guests))


def _evacuated() -> Planted:
    done = facts.migration(
        1,
        "away",
        kind="evacuation",
        status="done",
        source_host=facts.HOST,
        source_node=facts.NODE,
        updated_at=facts.NOW,
    )
    nova = facts.state(AWAY, finished_evacuations=(done,))
    held = record("away", here=A_LESS, there=A_LESS)
    return _of(facts.snapshot(placement=view_of(held), nova=nova, libvirt=facts.host(), files=facts.filesystem(100)))


def _crowd() -> Planted:
    return _of(
        facts.snapshot(
            nova=facts.state(facts.instance(), facts.instance("gone", deleted=True)),
            libvirt=facts.host(facts.domain()),
            placement=facts.view(
                facts.allocations(I1, VCPU=1, MEMORY_MB=128, DISK_GB=1), facts.allocations(facts.uuid("gone"), VCPU=30)
            ),
        ),
        ONE_TO_ONE,
    )


def _pinned() -> Planted:
    cells = tuple(
        Cell(id=cell, memory_mib=256, cpu_ids=(2 * cell, 2 * cell + 1), siblings=((2 * cell, 2 * cell + 1),))
        for cell in (0, 1)
    )
    flavor = dataclasses.replace(facts.FLAVOR_A, extra_specs=(("hw:cpu_policy", "dedicated"),))
    numa = (InstanceCell(id=0, memory_mib=128, pcpuset=(0,), pinning=((0, 1),), cpu_policy="dedicated"),)
    both = [facts.instance(name, flavor=flavor, numa=numa) for name in ("a", "b")]
    libvirt = facts.host(
        facts.domain("a"), facts.domain("b"), capabilities=Capabilities(host_cpu=HostCpu(arch="x86_64")), cells=cells
    )
    chosen = facts.settings(cpu_shared_set=(0,), cpu_dedicated_set=(1, 2, 3))
    return _of(facts.snapshot(libvirt=libvirt, nova=facts.state(*both)), chosen)


def _pci_missing() -> Planted:
    guest = facts.domain(pci_addresses=(GPU,))
    libvirt = facts.host(guest, **{**pci.NEW_ENOUGH, "devices": Devices(pci=(pci.device(GPU),), odd=())})
    held = facts.allocations(I1, VCPU=1, MEMORY_MB=128, DISK_GB=1)
    providers = (facts.root(), pci.child(GPU, facts.inventory(T4, 1)))
    whole = facts.consumer("i1", here={"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1})
    placement = facts.view(held, providers=providers, consumers=(whole,))
    world = facts.snapshot(nova=facts.state(facts.instance()), libvirt=libvirt, placement=placement)
    return _of(world, pci.pci_settings({"vendor_id": "10de"}))


def _images() -> Planted:
    space = FileSystem(path=facts.INSTANCES, size_bytes=99 * GIB, free_bytes=9 * GIB, available_bytes=9 * GIB)
    files = (StoredFile(path=f"{facts.INSTANCES}/{I1}", allocated_bytes=5 * GIB),)
    cache = f"{facts.INSTANCES}/_base"
    kept = ImageStore(path=facts.INSTANCES, files=files, cache_path=cache, cache_bytes=0, filesystem=space)
    world = facts.snapshot()
    return _of(
        dataclasses.replace(world, storage=(*world.storage, facts.good(IMAGES, StorageFacts(image_stores=(kept,)))))
    )


def _pmem() -> Planted:
    world = facts.snapshot()
    labels = facts.settings(pmem_labels=(PmemLabel(label="4gb", namespaces=("ns_0", "ns_1")),))
    space = PmemNamespace(name="ns_0", device_path="/dev/dax0.0", size_bytes=1 << 30, alignment_bytes=1 << 21)
    read = facts.good(PMEM, StorageFacts(pmem_namespaces=(space,)))
    return _of(dataclasses.replace(world, storage=(*world.storage, read)), labels)


def lost(source: str, error: Any = None) -> Planted:
    """Return a world in which the source could not be read."""
    failed = facts.failed(source)
    if error is not None:
        failed = dataclasses.replace(failed, error=error)
    world = facts.snapshot()
    parts = {PLACEMENT: "placement", STATE: "nova", LIBVIRT: "host"}
    if source in parts:
        return _of(dataclasses.replace(world, **{parts[source]: failed}))
    kept = tuple(reading for reading in world.storage if reading.source != source)
    return _of(dataclasses.replace(world, storage=(*kept, failed)))


def _stale() -> Planted:
    world = facts.snapshot(**facts.settled_world())
    error = SourceStale(STATE, "the rows are old", heartbeat=None, behind_s=912.0)
    return _of(dataclasses.replace(world, nova=Reading(source=STATE, taken_at="", duration_s=0.1, error=error)))


def _refused(write: Any, kind: Any, status: int) -> Planted:
    error = kind("PUT http://p/x: too much", status=status, request_id="req-1")
    return _of(facts.snapshot(), refused=(RefusedWrite(write=write, error=error),))


def _trait() -> Planted:
    plain = facts.wanted_root(facts.decided(facts.snapshot())).traits_unwanted
    trait = sorted(name for name in plain if not name.startswith("CUSTOM_") and name != "OWNER_NOVA")[0]
    provider = facts.root(traits=facts.usual_traits() | {trait})
    written = WrittenProvider(provider_uuid=facts.ROOT_UUID, inventories=(), cleared=frozenset({trait}))
    return _of(facts.snapshot(placement=facts.view(provider=provider)), written=written)


def _orphaned() -> Planted:
    old = orphan()
    row = facts.node(2, uuid=old.uuid, hypervisor_hostname=old.hypervisor_hostname)
    held = dataclasses.replace(facts.allocations(I1, MEMORY_MB=512)[0], provider_uuid=old.uuid)
    nova = conductor(nodes=(facts.node(), row), records=(stored(), old))
    placement = facts.view(provider=facts.root(), orphans=(tree(old, held),))
    return _of(facts.snapshot(nova=nova, libvirt=about(), placement=placement))


def _unplaced() -> Planted:
    provider = facts.root(facts.inventory("VCPU", 4, allocation_ratio=1.0), facts.inventory("MEMORY_MB", 4096))
    placement = facts.view(provider=provider, typed_consumers=True)
    return _of(facts.snapshot(libvirt=facts.host(facts.domain("big", vcpus=6)), placement=placement))


def _power(vm_state: str, power: DomainState) -> Planted:
    nova, guest = facts.state(facts.instance(vm_state=vm_state)), facts.host(facts.domain(state=power))
    return _of(facts.snapshot(**facts.settled_world(nova=nova, libvirt=guest)))


def _stuck() -> Planted:
    moving = facts.instance(
        task_state="resize_prep",
        host="cmp2",
        node="x",
        old_flavor=facts.FLAVOR_A,
        new_flavor=facts.FLAVOR_B,
        migration_context_id=2,
    )
    return _of(facts.snapshot(nova=facts.state(moving, migrations=(facts.migration(1, **facts.INCOMING),))))


def _settled(**changes: Any) -> Planted:
    return _of(facts.snapshot(**facts.settled_world(**changes)))


def _novas() -> Snapshot:
    traits = frozenset({"COMPUTE_NODE", "OWNER_NOVA"})
    return facts.snapshot(
        placement=facts.view(provider=facts.root(traits=traits)), nova=facts.state(service=facts.service())
    )


_NO_CLOUD = facts.state(kind=StateKind.NONE)
_ENTRY = {"inventories": (facts.inventory("CUSTOM_A", 1),)}
_CREATE = CreateProvider(provider_uuid=facts.uuid("c"), name="cmp1_amd_sev", parent_uuid=facts.ROOT_UUID)
_MOVE = MoveProvider(provider_uuid=facts.uuid("c"), name="cmp1_amd_sev", parent_uuid=facts.ROOT_UUID)
_PUT = PutInventories(provider_uuid=facts.ROOT_UUID, inventories=(facts.inventory("VCPU", 4),))
_OLD_ROW = facts.node(2, uuid=facts.uuid("old"), hypervisor_hostname="old.example.org")
_TWIN = facts.node(9, uuid=facts.uuid("theirs"), host="cmp2")
_HOLDER = facts.root(uuid=facts.uuid("theirs"))
_PROBLEM = f"instance_extra of instance {I1}: flavor is NULL"

PLANTED: Mapping[str, tuple[Callable[[], Planted], ...]] = {
    "allocation-differs": (lambda: _recorded("i1", instance=(facts.instance(),)),),
    "allocation-leaked": (lambda: _of(leaks("gone")[0]),),
    "allocation-missing": (
        lambda: _recorded(instance=(facts.instance(),)),
        lambda: _settled(placement=facts.view(), nova=_NO_CLOUD),
    ),
    "allocation-stale-move": (lambda: _recorded("away", instance=(AWAY,)),),
    "capabilities-incomplete": (
        lambda: _of(
            facts.snapshot(
                libvirt=facts.host(
                    capabilities=capable(emulator(), missing=(MissingPart(part=Part.VERSION, why="not supported"),))
                )
            )
        ),
    ),
    "companion-leftover": (
        lambda: _of(
            facts.snapshot(
                placement=facts.view(
                    facts.allocations(own_consumer_uuid(facts.ROOT_UUID, Cause.FOREIGN_VOLUME), DISK_GB=3)
                )
            ),
            facts.lvm_settings(),
        ),
    ),
    "compute-node-orphaned": (
        lambda: _of(facts.snapshot(nova=facts.state(nodes=(facts.node(), _OLD_ROW)))),
        lambda: _of(facts.snapshot(nova=facts.state(kind=StateKind.CONDUCTOR, nodes=(facts.node(), _OLD_ROW)))),
    ),
    "consumer-on-several-providers": (
        lambda: _recorded("away", instance=(AWAY,), there=True),
        lambda: _recorded("i1", instance=(facts.instance(),), there=True),
        lambda: _recorded("i1", instance=(), there=True),
        lambda: _recorded("i1", instance=(facts.instance(deleted=True),), there=True),
    ),
    "consumer-project-differs": (lambda: _recorded("i1", instance=(facts.instance(),), project_id="another"),),
    "consumer-unknown": (lambda: _recorded("x", instance=()),),
    "cpu-offline": (
        lambda: _of(
            facts.snapshot(
                libvirt=dataclasses.replace(
                    facts.host(),
                    cpus=tuple(dataclasses.replace(cpu, online=cpu.id != 2) for cpu in facts.host().cpus),
                )
            ),
            facts.settings(cpu_shared_set=(0, 2, 9)),
        ),
    ),
    "guest-missing": (lambda: _settled(libvirt=facts.host()),),
    "guest-power-state-differs": (
        lambda: _power("active", DomainState.SHUTOFF),
        lambda: _power("stopped", DomainState.RUNNING),
        lambda: _power("soft-delete", DomainState.RUNNING),
    ),
    "guest-running-deleted": (
        lambda: _of(facts.snapshot(nova=facts.state(facts.instance(deleted=True)), libvirt=facts.host(facts.domain()))),
    ),
    "guest-size-differs": (lambda: _settled(libvirt=facts.host(facts.domain(vcpus=2))),),
    "guest-unknown": (lambda: _of(facts.snapshot(libvirt=facts.host(facts.domain("stranger")))),),
    "hostname-duplicated": (
        lambda: _of(
            facts.snapshot(nova=facts.state(nodes=(_TWIN,)), placement=facts.view(providers=(), name_holder=_HOLDER))
        ),
    ),
    "identity-changed": (lambda: _of(facts.snapshot(nova=facts.state(nodes=(facts.node(uuid=facts.uuid("row")),)))),),
    "image-leftover": (_images,),
    "mdev-type-unknown": (
        lambda: _of(facts.snapshot(libvirt=CARDS), facts.settings(mdev_types=(mdev_type("nvidia-99"),))),
    ),
    "migration-finished-but-counted": (_evacuated,),
    "migration-stuck": (_stuck,),
    "over-capacity": (_crowd, _pinned, lambda: _of(facts.without(_crowd().world, STATE), ONE_TO_ONE)),
    "pci-allocation-missing": (_pci_missing,),
    "pci-device-lost": (
        lambda: _of(
            pci.world(placement=pci.tree(pci.child(GPU, facts.inventory(T4, 1)), allocations=(pci.held(GPU, T4),))),
            pci.pci_settings({"vendor_id": "10de"}),
        ),
        lambda: _of(
            pci.world(
                placement=pci.tree(
                    pci.child(
                        GPU,
                        facts.inventory(T4, 1, reserved=1),
                        traits=frozenset({pci.MANAGED, "HW_PCI_ONE_TIME_USE"}),
                    )
                )
            ),
            pci.pci_settings({"vendor_id": "10de"}),
        ),
    ),
    "pci-reporting-disabled": (
        lambda: _of(
            pci.world(placement=pci.tree(pci.child(GPU, facts.inventory(T4, 1)))),
            pci.pci_settings({"vendor_id": "10de"}, report=False),
        ),
    ),
    "pci-spec-conflict": (
        lambda: _of(
            pci.world(*pci.functions("0000:82:00.0", 2)),
            pci.pci_settings({"product_id": "1515"}, {"product_id": "1563"}),
        ),
    ),
    "pci-spec-unmatched": (lambda: _of(pci.world(pci.device(GPU)), pci.pci_settings({"vendor_id": "1234"})),),
    "pmem-namespace-missing": (_pmem,),
    "provider-config-conflict": (
        lambda: _of(
            facts.snapshot(),
            facts.settings(
                provider_entries=(
                    ProviderEntry(origin="a.yaml:4", uuid=facts.ROOT_UUID, **_ENTRY),
                    ProviderEntry(origin="b.yaml:9", name=facts.NODE, traits=frozenset({"CUSTOM_T"})),
                )
            ),
        ),
    ),
    "provider-config-unmatched": (
        lambda: _of(
            facts.snapshot(),
            facts.settings(provider_entries=(ProviderEntry(origin="a.yaml:4", name="nobody", **_ENTRY),)),
        ),
    ),
    "provider-name-conflict": (lambda: _of(facts.snapshot(placement=facts.view(providers=(), name_holder=_HOLDER))),),
    "provider-orphaned": (_orphaned,),
    "reshape-needed": (lambda: _of(gpu_scene().snapshot, gpu_scene().settings),),
    "rival-writer": (lambda: _of(_novas()), lambda: _of(facts.without(_novas(), STATE))),
    "source-stale": (_stale,),
    "source-unavailable": (
        lambda: lost(PLACEMENT, PlacementUnavailable("no answer within 10 s")),
        lambda: lost(PLACEMENT, PlacementUnavailable("SSL: CERTIFICATE_VERIFY_FAILED")),
        lambda: lost(PLACEMENT, PlacementDenied("denied", status=401)),
        *((lambda source=source: lost(source)) for source in (STATE, LIBVIRT, LVM, CEPH, PMEM, IMAGES, FILESYSTEM)),
        lambda: lost(STATE, SourceUnavailable(STATE, "access denied for user reader")),
        lambda: _of(
            facts.snapshot(libvirt=facts.host(odd_domains=(OddDomain(uuid=facts.uuid("odd"), name="odd", reason="x"),)))
        ),
    ),
    "state-row-unreadable": (
        lambda: _settled(nova=facts.state(facts.instance(flavor=None, problem=_PROBLEM), unreadable=(_PROBLEM,))),
    ),
    "store-changed": (
        lambda: _of(
            store(
                facts.snapshot(placement=facts.view(provider=facts.root(facts.inventory("DISK_GB", 300)))),
                on_root(251),
                before=mark(300),
            )
        ),
    ),
    "thin-pool-filling": (lambda: _of(pool_world(10, data=85.0, metadata=97.0), facts.lvm_settings()),),
    "thin-pool-overcommitted": (lambda: _of(pool_world(40, 30), facts.lvm_settings()),),
    "trait-unexpected": (_trait,),
    "unmanaged-use-unplaced": (_unplaced,),
    "usage-unlisted": (
        lambda: _of(
            facts.snapshot(
                placement=facts.view(
                    facts.allocations(I1, VCPU=2),
                    unlisted=(UnlistedUsage(provider_uuid=facts.ROOT_UUID, resource_class="VCPU", amount=4),),
                )
            )
        ),
    ),
    "volume-foreign": (
        lambda: _of(facts.snapshot(lvm=facts.group(20, facts.volume("by-hand", 2.5))), facts.lvm_settings()),
    ),
    "volume-group-missing": (lambda: _of(facts.snapshot(lvm=facts.group(20, name="other")), facts.lvm_settings()),),
    "volume-orphaned": (
        lambda: _of(facts.snapshot(lvm=facts.group(20, facts.volume(f"{I1}_disk", 5))), facts.lvm_settings()),
    ),
    "write-refused": (
        lambda: _refused(_CREATE, DuplicateName, 409),
        lambda: _refused(_CREATE, ProviderElsewhere, 409),
        lambda: _refused(_MOVE, ProviderElsewhere, 409),
        lambda: _refused(_PUT, PlacementRejected, 400),
        lambda: _refused(_PUT, InventoryInUse, 409),
        lambda: _of(facts.snapshot(libvirt=facts.host()), unknown_traits=frozenset(facts.usual_traits())),
    ),
}
