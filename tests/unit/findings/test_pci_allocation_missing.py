"""pci-allocation-missing: a guest's PCI devices, compared with what Placement counts for its instance."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from agent.model.finding import Severity
from agent.model.host.devices import Devices, OddDevice
from agent.model.nova import NovaState, StateKind
from agent.model.placement import Allocation
from agent.model.report import Verdict
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE, Snapshot
from agent.nested.pci_view import key_of
from agent.provider_tree.desired import child_uuid
from tests.rigs.facts import (
    FLAVOR_B,
    INCOMING,
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
    snapshot,
    state,
    uuid,
    view,
    volume,
    without,
)
from tests.rigs.pci import NEW_ENOUGH, child, device, functions, held, pci_settings

CODE = "pci-allocation-missing"
GPU, PF = "0000:81:0a.0", "0000:82:00.0"
T4, VF_CLASS, PF_CLASS = "CUSTOM_PCI_10DE_1EB8", "CUSTOM_PCI_8086_1515", "CUSTOM_PCI_8086_1563"
VFS = functions(PF, 4)
FIRST, SECOND, THIRD = (function.address for function in VFS[1:4])
CARDS = (device(GPU), *VFS)
PF_NAME, GPU_NAME = f"{NODE}_0000:82:00.0", f"{NODE}_0000:81:0A.0"
ALL = pci_settings({"vendor_id": "10de"}, {"product_id": "1515"})
I1 = uuid("i1")
FLAVOR = allocations(I1, VCPU=1, MEMORY_MB=128, DISK_GB=1)
CHILDREN = (child(GPU, inventory(T4, 1)), child(PF, inventory(VF_CLASS, 4)))


def taking(*addresses: str, recorded: tuple[Allocation, ...] = FLAVOR, **changes: Any) -> Snapshot:
    """Return a world in which i1 rests here, its guest takes these functions, and Placement counts ``recorded``."""
    guest = domain(pci_addresses=tuple(sorted(addresses)), **changes.pop("guest", {}))
    facts = {**NEW_ENOUGH, "devices": Devices(pci=changes.pop("devices", CARDS), odd=changes.pop("odd", ()))}
    usual = {
        "nova": state(instance()),
        "libvirt": host(guest, **facts),
        "placement": view(recorded, providers=(root(), *CHILDREN)),
    }
    return snapshot(**{**usual, **changes})


def test_s125_two_unallocated_pci_devices_are_in_one_finding():
    """If a guest uses two PCI devices without an allocation, one finding shows both devices."""
    (found,) = findings(taking(FIRST, SECOND), CODE, ALL)
    assert (found.severity, found.rests_on_recorded) == (Severity.ERROR, True)
    assert (found.consumer_uuid, found.provider_uuid) == (I1, ROOT_UUID)
    assert (
        found.expected
        == f"2 {VF_CLASS} on {PF_NAME} for instance {I1} (i1), because the instance's guest uses {FIRST}, {SECOND}"
    )
    assert found.actual == f"Placement records nothing on {PF_NAME}"
    assert proof(found) == [("libvirt", VF_CLASS, 1), ("libvirt", VF_CLASS, 1)]
    assert [claim.source.key for claim in found.evidence] == [f"{I1} {FIRST}", f"{I1} {SECOND}"]


def test_s125_an_audit_does_not_add_a_pci_allocation():
    """If a PCI allocation is missing, the finding shows commands that add it, but the audit adds nothing."""
    decision = decided(taking(FIRST, SECOND), ALL)
    (found,) = (f for f in decision.findings if f.code == CODE)
    assert found.remedy.startswith(
        f"add the allocation, once the devices' providers are published: stocktake heal --finding {found.id[:8]}; "
    )
    assert found.remedy.endswith(f"--allocation rp={uuid(f'child-{PF}')},{VF_CLASS}=2")
    assert f"allocation show {I1};" in found.remedy
    assert {type(write).__name__ for write in decision.plan.writes} <= {"PutInventories", "PutTraits"}
    assert decision.plan.allocations == ()


def test_the_finding_shows_only_the_card_that_differs():
    """If a guest uses two PCI cards and one allocation is wrong, the finding shows only that card."""
    recorded = (*FLAVOR, held(GPU, T4), held(PF, VF_CLASS, 1), held(PF, VF_CLASS, 2, consumer="i2"))
    (found,) = findings(taking(GPU, FIRST, SECOND, recorded=recorded), CODE, ALL)
    assert found.expected.startswith(f"2 {VF_CLASS} on {PF_NAME} for ")
    assert found.actual == f"Placement records 1 {VF_CLASS} on {PF_NAME}"
    assert proof(found) == [("libvirt", VF_CLASS, 1), ("libvirt", VF_CLASS, 1), ("placement", VF_CLASS, 1)]


def test_an_allocation_of_too_many_pci_devices_is_reported():
    """A guest that uses one PCI device is reported if Placement counts three PCI devices for its instance."""
    (found,) = findings(taking(FIRST, recorded=(*FLAVOR, held(PF, VF_CLASS, 3))), CODE, ALL)
    assert found.actual == f"Placement records 3 {VF_CLASS} on {PF_NAME}"
    assert found.remedy.endswith(f"{VF_CLASS}=1")


def test_missing_allocations_on_two_cards_are_in_one_finding():
    """If a guest uses two PCI cards without an allocation, one finding shows both cards."""
    (found,) = findings(taking(GPU, FIRST), CODE, ALL)
    assert found.expected.startswith(f"1 {T4} on {GPU_NAME}, 1 {VF_CLASS} on {PF_NAME} for ")
    assert found.actual == f"Placement records nothing on {GPU_NAME}, nothing on {PF_NAME}"
    gpu, pf = (uuid(f"child-{address}") for address in (GPU, PF))
    assert found.remedy.endswith(f"--allocation rp={gpu},{T4}=1 --allocation rp={pf},{VF_CLASS}=1")


def test_an_unallocated_physical_function_is_reported():
    """If a guest uses a PCI physical function that is not allocated in Placement, the agent reports it."""
    bare = view(FLAVOR, providers=(root(), child(PF, inventory(PF_CLASS, 1))))
    world = taking(PF, devices=VFS[:1], placement=bare)
    (found,) = findings(world, CODE, pci_settings({"product_id": "1563"}))
    assert found.expected.startswith(f"1 {PF_CLASS} on {PF_NAME} for ")


def test_the_advice_contains_the_uuid_of_a_future_provider():
    """If an unallocated PCI device has no provider yet, the advice shows the UUID that the provider will get."""
    (found,) = findings(taking(GPU, placement=view(FLAVOR)), CODE, ALL)
    assert f"rp={child_uuid(ROOT_UUID, key_of(GPU))},{T4}=1" in found.remedy
    assert GPU_NAME in found.expected


def test_wrong_vcpu_amounts_do_not_hide_the_pci_finding():
    """A PCI device without an allocation is reported even if the instance's VCPU, memory and disk are also wrong."""
    world = taking(GPU, recorded=allocations(I1, VCPU=9, MEMORY_MB=9, DISK_GB=9))
    assert [f.consumer_uuid for f in findings(world, CODE, ALL)] == [I1]


def test_a_stopped_instance_without_pci_allocation_is_reported():
    """A stopped instance with a PCI device is reported if Placement does not count the device for the instance."""
    world = taking(GPU, nova=state(instance(vm_state="stopped")))
    assert [f.consumer_uuid for f in findings(world, CODE, ALL)] == [I1]


def test_the_advice_omits_nova_compute_if_nova_is_not_read():
    """A guest uses a PCI device that has no allocation.

    The agent reads no data of nova. The agent's advice to the operator does not mention nova-compute.
    """
    nobody = NovaState(kind=StateKind.NONE, host="cmp1")
    (found,) = findings(taking(GPU, nova=nobody), CODE, ALL)
    assert "nova-compute" not in found.remedy
    assert f"allocation show {I1};" in found.remedy


def test_s126_an_instance_without_allocations_has_one_finding():
    """An instance without any allocation causes one finding, and no second one about its PCI devices."""
    world = taking(FIRST, SECOND, recorded=())
    assert findings(world, CODE, ALL) == ()
    assert [f.consumer_uuid for f in findings(world, "allocation-missing", ALL)] == [I1]


def test_s126_a_volume_booted_instance_has_no_pci_finding():
    """A volume-booted instance without any allocation causes no finding about its PCI devices."""
    chosen = dataclasses.replace(lvm_settings(), pci=ALL.pci)
    left = group(6, volume(f"{I1}_disk", 1))
    world = taking(FIRST, recorded=(), lvm=left, nova=state(instance(boots_from_volume=True)))
    assert Verdict.AGREED in {row.verdict for row in decided(world, chosen).rows if row.key == I1}
    assert findings(world, CODE, chosen) == ()


SAME_HOST = {"dest_host": "cmp1", "dest_node": NODE}


@pytest.mark.parametrize(
    "moved",
    [
        {"task_state": "resize_finish", "vm_state": "active"},
        {"task_state": None, "vm_state": "resized"},
    ],
    ids=["on its way", "to be confirmed"],
)
def test_s126_an_instance_in_a_same_host_resize_is_not_reported(moved):
    """While an instance is resized on its own host, the agent reports no missing allocation of its PCI devices."""
    resized = instance(old_flavor=instance().flavor, new_flavor=FLAVOR_B, **moved)
    world = taking(FIRST, SECOND, nova=state(resized, migrations=(migration(status="finished", **SAME_HOST),)))
    assert findings(world, CODE, ALL) == ()


PHYSNET = pci_settings({"product_id": "1515", "physical_network": "physnet0"})
BOTH = pci_settings({"product_id": "1515"}, {"product_id": "1563"})
LACKING = taking(FIRST, SECOND)
QUIET = {
    "counted": (taking(GPU, FIRST, SECOND, recorded=(*FLAVOR, held(GPU, T4), held(PF, VF_CLASS, 2))), ALL),
    "nothing taken": (taking(), ALL),
    "a function of nobody's spec": (taking(GPU), pci_settings({"product_id": "1515"})),
    "of a physical network": (LACKING, PHYSNET),
    "not reported": (LACKING, pci_settings({"product_id": "1515"}, report=False)),
    "no spec at all": (LACKING, settings()),
    "a provider that is left as it is": (LACKING, BOTH),
    "migrating away": (
        taking(FIRST, nova=state(instance(task_state="migrating"), migrations=(migration(kind="live-migration"),))),
        ALL,
    ),
    "coming in": (
        taking(
            FIRST,
            nova=state(
                instance(host="cmp2", node="cmp2.example.org", task_state="migrating"),
                migrations=(migration(kind="live-migration", **INCOMING),),
            ),
        ),
        ALL,
    ),
    "a migration that has not begun": (taking(FIRST, nova=state(instance(), migrations=(migration(),))), ALL),
    "a task": (taking(FIRST, nova=state(instance(task_state="rebuilding"))), ALL),
    "being built": (taking(FIRST, nova=state(instance(vm_state="building"))), ALL),
    "nobody the cloud knows": (taking(FIRST, nova=state()), ALL),
    "an instance of another host": (taking(FIRST, nova=state(instance(host="cmp2", node="cmp2.example.org"))), ALL),
    "a row that does not parse": (taking(FIRST, nova=state(instance(flavor=None, problem="flavor"))), ALL),
    "a PCI device that cannot be read": (taking(FIRST, odd=(OddDevice(name="pci_0000_90_00_0", reason="?"),)), ALL),
    "devices not known": (
        taking(FIRST, libvirt=host(domain(pci_addresses=(FIRST,)), devices=None, devices_unknown_because="refused")),
        ALL,
    ),
    "Placement not read": (without(LACKING, PLACEMENT), ALL),
    "state not read": (without(LACKING, STATE), ALL),
    "libvirt not read": (without(LACKING, LIBVIRT), ALL),
}


@pytest.mark.parametrize(("world", "chosen"), QUIET.values(), ids=QUIET.keys())
def test_no_missing_pci_allocation_is_reported_in_a_migration(world, chosen):
    """During a migration of an instance, the agent reports no missing allocation of its PCI devices."""
    assert findings(world, CODE, chosen) == ()


@pytest.mark.parametrize(
    "order", [(THIRD, FIRST, SECOND), (SECOND, THIRD, FIRST)], ids=["libvirt's order", "another order"]
)
def test_the_order_of_pci_functions_does_not_matter(order):
    """The expected allocation in the finding is the same in whatever order libvirt lists a guest's PCI devices."""
    plain = taking(*order)
    turned = dataclasses.replace(domain(), pci_addresses=order)
    facts = dataclasses.replace(plain.host.value, domains=(turned,))
    again = dataclasses.replace(plain, host=dataclasses.replace(plain.host, value=facts))
    assert findings(again, CODE, ALL)[0].expected == findings(plain, CODE, ALL)[0].expected


def test_a_host_with_all_pci_devices_allocated_has_no_findings():
    counted = taking(GPU, FIRST, SECOND, recorded=(*FLAVOR, held(GPU, T4), held(PF, VF_CLASS, 2)))
    assert decided(counted, ALL).findings == ()


def test_an_allocated_one_time_use_device_causes_no_finding():
    """A PCI device with one_time_use may be both reserved and allocated, so the agent reports nothing."""
    once = pci_settings({"vendor_id": "10de", "one_time_use": True})
    used = view((*FLAVOR, held(GPU, T4)), providers=(root(), child(GPU, inventory(T4, 1, reserved=1))))
    assert decided(taking(GPU, placement=used), once).findings == ()
