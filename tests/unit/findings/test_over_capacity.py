"""over-capacity: story 5 of the README, free is negative, and how much of the excess is a leak."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.model.host.capabilities import Capabilities, HostCpu
from agent.model.host.facts import Cell
from agent.model.nova import InstanceCell, MigrationContext
from agent.model.placement import Allocation, PlacementView
from agent.model.settings import RatioPolicy
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from tests.rigs import pci
from tests.rigs.facts import (
    FLAVOR_A,
    FLAVOR_B,
    HOST,
    NODE,
    ROOT_UUID,
    allocations,
    decided,
    domain,
    findings,
    group,
    host,
    instance,
    inventory,
    lvm_settings,
    migration,
    proof,
    root,
    settings,
    settled_world,
    snapshot,
    state,
    uuid,
    view,
    volume,
    without,
)
from tests.rigs.nested import AT_06, CARDS, GPU_06, GPU_07, card, mdev_type, on, standing, with_devices
from tests.rigs.nested import child as card_of

CODE = "over-capacity"
ONE_TO_ONE = settings(cpu_ratio=RatioPolicy(configured=1.0, initial=1.0))
GONE, AWAY = uuid("gone"), uuid("away")
CROWD = {
    "nova": state(instance(), instance("gone", deleted=True), instance("away", host="cmp2", node="x")),
    "libvirt": host(domain()),
    "placement": view(
        allocations(uuid("i1"), VCPU=1, MEMORY_MB=128, DISK_GB=1),
        allocations(GONE, VCPU=30),
        allocations(AWAY, VCPU=16),
    ),
}
WORLD = snapshot(**CROWD)


def test_over_capacity_shows_the_formula_and_leaked_allocations():
    """The finding `over-capacity` shows the formula of the capacity and the leaked allocations."""
    (found,) = findings(WORLD, CODE, ONE_TO_ONE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, None, "VCPU")
    assert found.expected == "at most 4 VCPU used: (4 - 0) x 1"
    assert found.actual.startswith(
        "47 VCPU used, free -43; 46 VCPU of it belongs to 2 consumers that should have no allocation on this host: "
    )
    assert f"{GONE} (30 VCPU, allocation-leaked)" in found.actual
    assert f"{AWAY} (16 VCPU, allocation-stale-move)" in found.actual
    assert found.facts == (
        ("capacity", 4.0),
        ("used", 47),
        ("free", -43.0),
        ("missing", 43.0),
        ("allocation_ratio", 1.0),
        ("leaked_consumers", 2),
        ("leaked_amount", 46),
    )
    assert proof(found) == [
        ("libvirt", "VCPU", 1),
        ("nova", "VCPU", 1),
        ("placement", "VCPU", 1),
        ("placement", "VCPU", 16),
        ("placement", "VCPU", 30),
    ]
    assert found.severity is Severity.ERROR
    assert found.rests_on_recorded
    assert "first remove the leaked allocations" in found.remedy


def test_the_finding_calls_a_host_without_leaks_over_committed():
    """If no allocation is leaked, the finding `over-capacity` says that the host is over-committed."""
    world = snapshot(**settled_world(placement=view(allocations(uuid("i1"), VCPU=1, MEMORY_MB=128, DISK_GB=7338))))
    (found,) = findings(world, CODE)
    assert found.resource_class == "DISK_GB"
    why = "no allocation is leaked, so the host is over-committed"
    assert found.actual == f"7338 GiB of DISK_GB used, free -7332; {why}"
    assert dict(found.facts)["leaked_consumers"] == 0


def test_leaked_allocations_are_not_known_without_nova():
    """If nova was not read, the finding about an overfull host says that leaked allocations are not known."""
    crowd = without(WORLD, STATE)
    (found,) = [f for f in findings(crowd, CODE, ONE_TO_ONE) if f.resource_class == "VCPU" and not f.subject]
    assert "it does not know how much of this use is leaked" in found.actual
    assert "move no guest" in found.remedy
    assert (dict(found.facts)["leaked_consumers"], dict(found.facts)["leaked_amount"]) == (None, None)


def test_reserved_cpus_do_not_count_as_capacity():
    """With 4 CPUs, 1 of them reserved, and an allocation ratio of 4, the capacity is 12 VCPU."""
    full = snapshot(**settled_world(placement=view(allocations(uuid("i1"), VCPU=12))))
    chosen = settings(reserved_host_cpus=1)
    assert findings(full, CODE, chosen) == ()
    over = snapshot(**settled_world(placement=view(allocations(uuid("i1"), VCPU=13))))
    (found,) = findings(over, CODE, chosen)
    assert found.expected == "at most 12 VCPU used: (4 - 1) x 4"
    assert dict(found.facts)["free"] == -1.0


def test_a_large_amount_is_printed_with_all_digits():
    world = snapshot(libvirt=host(memory_mib=1048576), placement=view(allocations(uuid("x"), MEMORY_MB=2097153)))
    (found,) = findings(world, CODE)
    assert found.expected == "at most 1048576 MiB of MEMORY_MB used: (1048576 - 0) x 1"
    assert found.actual.startswith("2097153 MiB of MEMORY_MB used, free -1048577;")


def test_a_volume_that_cannot_be_reserved_is_reported():
    """If too little DISK_GB is left to reserve for a volume made by hand, the agent reports the volume."""
    (found,) = findings(
        snapshot(lvm=group(6, volume("by-hand", 3.5))), CODE, lvm_settings(reserved_host_disk_mib=5 * 1024)
    )
    assert found.resource_class == "DISK_GB"
    assert "the agent cannot reserve 3 GiB of DISK_GB for usage outside nova" in found.actual
    assert proof(found) == [("lvm", "DISK_GB", 4)]


def test_without_libvirt_the_capacity_is_read_from_placement():
    """If libvirt could not be read, the agent takes the host's capacity from the inventory in Placement."""
    four = view(allocations(uuid("i1"), VCPU=9), provider=root(inventory("VCPU", 2, allocation_ratio=4.0)))
    world = snapshot(**settled_world(placement=four), lost=[LIBVIRT])
    (found,) = findings(world, CODE)
    assert found.expected == "at most 8 VCPU used: (2 - 0) x 4"


QUIET = {
    "all is well": snapshot(**settled_world()),
    "exactly full": snapshot(**settled_world(placement=view(allocations(uuid("i1"), VCPU=16)))),
    "a class that is not ours to measure": snapshot(placement=view(allocations(uuid("i1"), CUSTOM_X=99))),
    "another provider's use": snapshot(
        placement=view(
            provider=None,
            providers=(root(), root(uuid=uuid("child"), name="child", parent_uuid=ROOT_UUID)),
            allocations=tuple(
                # the same amounts, but on a child
                type(a)(
                    consumer_uuid=a.consumer_uuid,
                    consumer_generation=1,
                    provider_uuid=uuid("child"),
                    resource_class=a.resource_class,
                    amount=a.amount,
                )
                for a in allocations(uuid("i1"), VCPU=99)
            ),
        )
    ),
    "placement not read": without(WORLD, PLACEMENT),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_a_host_that_is_exactly_full_is_not_over_capacity(world):
    """A host whose allocations equal its capacity is not reported as over capacity."""
    assert findings(world, CODE) == ()


def test_the_finding_shows_the_used_amount_without_nova():
    """If nova was not read, the finding still shows how much is used by Placement's allocations."""
    (found,) = findings(without(WORLD, STATE), CODE, ONE_TO_ONE)
    assert dict(found.facts)["used"] == 47
    assert dict(found.facts)["leaked_consumers"] is None


def test_usage_of_vcpu_that_is_no_longer_offered_is_reported():
    """If the host no longer offers VCPU, an instance that still has 1 VCPU allocated causes a finding."""
    held = view(allocations(uuid("i1"), VCPU=1), provider=root(inventory("VCPU", 4)))
    world = snapshot(**settled_world(placement=held))
    (found,) = [
        f for f in findings(world, CODE, settings(cpu_dedicated_set=(0, 1, 2, 3))) if f.resource_class == "VCPU"
    ]
    assert found.expected == "no VCPU is used, because this host does not offer this class any more"
    assert found.actual.startswith("1 VCPU used")
    unused = snapshot(**settled_world(placement=view(provider=root(inventory("VCPU", 4)))))
    assert findings(unused, CODE, settings(cpu_dedicated_set=(0, 1, 2, 3))) == ()


CARD_NAME = f"{NODE}_{GPU_06}"
ONE_TYPE = settings(mdev_types=(mdev_type("nvidia-11"),))


def on_card(*allocated: Allocation, offered: int = 16) -> PlacementView:
    """Return a view with the card's provider as an earlier audit wrote it, and these allocations of it."""
    return standing(card_of(GPU_06, inventory("VGPU", offered)), held=allocated)


def test_an_over_full_child_provider_is_reported_by_name():
    """If 3 VGPU are allocated on a graphics card that offers 2, the finding shows the name of the card's provider."""
    held = (on(uuid(GPU_06), "i1", "VGPU", 2), on(uuid(GPU_06), "gone", "VGPU", 1))
    world = snapshot(
        libvirt=with_devices(card(GPU_06, nvidia_11=2)),
        placement=on_card(*held),
        nova=state(instance("gone", deleted=True)),
    )
    (found,) = findings(world, CODE, ONE_TYPE)
    assert (found.provider_uuid, found.resource_class) == (uuid(GPU_06), "VGPU")
    assert found.expected == f"at most 2 VGPU used on {CARD_NAME}: (2 - 0) x 1"
    assert found.actual.startswith(
        "3 VGPU used, free -1; 1 VGPU of it belongs to 1 consumers that should have no allocation on this host: "
    )
    assert proof(found) == [("placement", "VGPU", 1), ("placement", "VGPU", 2)]


def test_each_child_provider_is_checked_separately():
    """If one of two graphics cards is over capacity, that card is reported although the cards together have room."""
    both = standing(
        card_of(GPU_06, inventory("VGPU", 16)),
        card_of(GPU_07, inventory("VGPU", 16)),
        held=(on(uuid(GPU_06), "i1", "VGPU", 10), on(uuid(GPU_07), "i2", "VGPU", 10)),
    )
    world = snapshot(libvirt=with_devices(card(GPU_06, nvidia_11=8), card(GPU_07, nvidia_11=16)), placement=both)
    assert [f.provider_uuid for f in findings(world, CODE, ONE_TYPE)] == [uuid(GPU_06)]


def test_an_obsolete_child_provider_in_use_is_reported():
    """If a graphics card offers no VGPU any more, its provider is reported as long as an instance has VGPU there."""
    nothing_left = with_devices(card(GPU_06, nvidia_11=0))
    world = snapshot(libvirt=nothing_left, placement=on_card(on(uuid(GPU_06), "i1", "VGPU", 1)))
    (found,) = findings(world, CODE, ONE_TYPE)
    assert (found.provider_uuid, found.resource_class) == (uuid(GPU_06), "VGPU")
    assert found.expected == f"no VGPU is used on {CARD_NAME}, because this host does not offer this class any more"
    assert findings(snapshot(libvirt=nothing_left, placement=on_card()), CODE, ONE_TYPE) == ()


def test_an_allocation_of_a_renamed_class_is_reported():
    """If the operator renames a graphics card's resource class, an allocation of the old class is reported."""
    renamed = settings(mdev_types=(mdev_type("nvidia-11", AT_06, resource_class="CUSTOM_MINE"),))
    world = snapshot(libvirt=CARDS, placement=on_card(on(uuid(GPU_06), "i1", "VGPU", 1)))
    (found,) = findings(world, CODE, renamed)
    assert found.expected == f"no VGPU is used on {CARD_NAME}, because this host does not offer this class any more"


CARD = "0000:81:0a.0"
T4 = "CUSTOM_PCI_10DE_1EB8"
QUIET_CHILDREN = {
    "exactly full": (
        snapshot(libvirt=with_devices(card(GPU_06, nvidia_11=2)), placement=on_card(on(uuid(GPU_06), "i1", "VGPU", 2))),
        ONE_TYPE,
    ),
    "its devices cannot be listed": (
        snapshot(libvirt=host(devices=None), placement=on_card(on(uuid(GPU_06), "i1", "VGPU", 99))),
        ONE_TYPE,
    ),
    "a PCI device that the operator reserved while it is used": (
        pci.world(
            pci.device(CARD),
            placement=pci.tree(pci.child(CARD, inventory(T4, 1, reserved=1)), allocations=(pci.held(CARD, T4),)),
        ),
        pci.pci_settings({"vendor_id": "10de"}),
    ),
    "a PCI device that is lost: that has a finding of its own": (
        pci.world(placement=pci.tree(pci.child(CARD, inventory(T4, 1)), allocations=(pci.held(CARD, T4),))),
        pci.pci_settings({"vendor_id": "10de"}),
    ),
}


@pytest.mark.parametrize(("world", "chosen"), QUIET_CHILDREN.values(), ids=QUIET_CHILDREN.keys())
def test_a_full_child_provider_is_not_reported(world, chosen):
    """A child provider that is exactly full is not over capacity."""
    assert findings(world, CODE, chosen) == ()


def pinned(name, *host_cpus, cell=0, **changes):
    cells = (
        InstanceCell(
            id=cell,
            memory_mib=128,
            pcpuset=tuple(range(len(host_cpus))),
            pinning=tuple(enumerate(host_cpus)),
            cpu_policy="dedicated",
            **changes,
        ),
    )
    specs = (("hw:cpu_policy", "dedicated"),)
    return instance(name, numa=cells, flavor=dataclasses.replace(FLAVOR_A, extra_specs=specs))


TWO_CELLS = host(
    domain("a"),
    domain("b"),
    capabilities=Capabilities(host_cpu=HostCpu(arch="x86_64")),
    cells=tuple(
        Cell(id=cell, memory_mib=256, cpu_ids=(2 * cell, 2 * cell + 1), siblings=((2 * cell, 2 * cell + 1),))
        for cell in (0, 1)
    ),
)
DEDICATED = settings(cpu_shared_set=(0,), cpu_dedicated_set=(1, 2, 3))


def of_cpus(*instances, libvirt=TWO_CELLS, chosen=DEDICATED, **changes):
    world = snapshot(libvirt=libvirt, nova=state(*instances, **changes))
    return [found for found in findings(world, CODE, chosen) if dict(found.facts).get("cpus")]


def test_s21_two_instances_pinned_to_one_cpu_are_reported():
    """If nova pinned two instances to the same CPU, the finding shows both instances."""
    both = pinned("a", 1, cell=0), pinned("b", 1, cell=0)
    (found,) = of_cpus(*both)
    assert found.expected == "only one guest is pinned to CPU 1 of NUMA cell 0"
    assert f"instance {uuid('a')} (a)" in found.actual
    assert f"instance {uuid('b')} (b)" in found.actual
    assert not found.rests_on_recorded
    assert proof(found) == [("nova", "PCPU", 1), ("nova", "PCPU", 1)]
    assert "move one of the guests away" in found.remedy
    decision = decided(snapshot(libvirt=TWO_CELLS, nova=state(*both)), DEDICATED)
    assert decision.books.promised.total("PCPU") == 2
    assert decision.plan.writes  # the audit goes on


def test_thread_policy_isolate_also_occupies_sibling_cpus():
    """If an instance with thread policy isolate is on CPU 2, another instance on CPU 2's sibling is reported."""
    (found,) = of_cpus(pinned("a", 2, cell=1, thread_policy="isolate"), pinned("b", 3, cell=1))
    assert dict(found.facts)["cpus"] == "3"


def test_a_guest_that_is_pinned_to_a_shared_cpu_is_reported():
    """An instance pinned to a CPU of cpu_shared_set is reported; pinning is only for CPUs of cpu_dedicated_set."""
    (found,) = of_cpus(pinned("a", 0))
    assert found.expected == "no guest is pinned to CPU 0 of NUMA cell 0, because guests must not be pinned to this CPU"
    assert found.actual == f"CPU 0 of NUMA cell 0 is pinned for instance {uuid('a')} (a)"
    assert "cpu_dedicated_set" in found.remedy


def test_guests_pinned_to_different_cpus_do_not_conflict():
    """The agent reports no pinning conflict between guests that are pinned to different CPUs."""
    assert of_cpus(pinned("a", 1), pinned("b", 2, 3, cell=1)) == []


def test_unpinned_guests_may_share_a_cpu():
    """If two unpinned guests share a CPU, the agent reports no pinning conflict."""
    floating = InstanceCell(id=0, memory_mib=128, cpuset=(0,))
    assert of_cpus(instance("a", numa=(floating,)), instance("b", numa=(floating,))) == []


def test_a_resize_on_the_same_host_is_no_pinning_conflict():
    """During a resize on one host, an instance may be pinned twice to the same CPU."""
    both_sides = dataclasses.replace(
        pinned("a", 1),
        task_state="resize_finish",
        vm_state="active",
        old_flavor=FLAVOR_B,
        flavor_id=2,
        context=MigrationContext(migration_id=1, old_numa=pinned("a", 1).numa),
    )
    here = migration(1, "a", dest_host=HOST, dest_node=NODE)
    assert of_cpus(both_sides, migrations=(here,)) == []


@pytest.mark.parametrize("lost", [STATE, LIBVIRT])
def test_no_pinning_conflict_without_nova_or_libvirt(lost):
    """If nova or libvirt could not be read, the agent reports no conflict between pinned instances."""
    world = snapshot(libvirt=TWO_CELLS, nova=state(pinned("a", 1), pinned("b", 1)), lost=[lost])
    assert [found for found in findings(world, CODE, DEDICATED) if dict(found.facts).get("cpus")] == []


def test_no_pinning_conflict_is_reported_while_a_cpu_is_offline():
    """Two instances are pinned to one CPU. While any CPU of the host is offline, the agent reports no conflict."""
    offline = tuple(dataclasses.replace(cpu, online=cpu.id != 3) for cpu in TWO_CELLS.cpus)
    assert of_cpus(pinned("a", 1), pinned("b", 1), libvirt=dataclasses.replace(TWO_CELLS, cpus=offline)) == []
