"""How heal repairs pci-allocation-missing: it sets what the guest takes of published providers, and no more."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from agent.healing.plan import asked_for, heal_plan
from agent.model.heal import HealAction
from agent.model.host.devices import Devices
from agent.model.placement import Allocation, ConsumerRecord, Provider
from agent.model.snapshot import Snapshot
from agent.nested.pci import PciDevices
from agent.nested.pci_view import key_of
from agent.repairs import BY_CODE
from agent.repairs.base import Declined, Scene
from tests.rigs import facts
from tests.rigs.facts import NODE, allocations, domain, host, instance, inventory, migration, root, state, uuid, view
from tests.rigs.heal import OTHER, scene_of
from tests.rigs.pci import NEW_ENOUGH, child, device, functions, held, pci_settings

CODE = "pci-allocation-missing"
GPU, PF = "0000:81:0a.0", "0000:82:00.0"
T4, VF_CLASS = "CUSTOM_PCI_10DE_1EB8", "CUSTOM_PCI_8086_1515"
VFS = functions(PF, 4)
FIRST, SECOND = (function.address for function in VFS[1:3])
ALL = pci_settings({"vendor_id": "10de"}, {"product_id": "1515"})
I1 = uuid("i1")
FLAVOR = allocations(I1, VCPU=1, MEMORY_MB=128, DISK_GB=1)
CHILDREN = (child(GPU, inventory(T4, 1)), child(PF, inventory(VF_CLASS, 4)))
ELSEWHERE = Allocation(consumer_uuid=I1, consumer_generation=1, provider_uuid=OTHER, resource_class="VCPU", amount=3)


def scene(
    *addresses: str,
    mine: tuple[Allocation, ...] = FLAVOR,
    others: tuple[Allocation, ...] = (),
    children: tuple[Provider, ...] = CHILDREN,
    **changes: Any,
) -> Scene:
    """Return a scene: i1 rests here, its guest takes these functions; i1 holds ``mine`` here, and more elsewhere."""
    cards = Devices(pci=(device(GPU), *VFS))
    world: Snapshot = facts.snapshot(
        **{
            "nova": state(instance()),
            "libvirt": host(domain(pci_addresses=tuple(sorted(addresses))), **NEW_ENOUGH, devices=cards),
            "placement": view((*mine, *others), providers=(root(), *children)),
        }
        | changes
    )
    record = ConsumerRecord(consumer_uuid=I1, generation=1, project_id="p", user_id="u", allocations=(*mine, ELSEWHERE))
    return scene_of(world, record, settings=ALL)


def healed(found: Scene) -> HealAction:
    plan = heal_plan(found, asked_for(found.findings, frozenset({CODE}), frozenset()))
    assert [type(action) for action in plan.actions] == [HealAction], plan.refusals
    return plan.actions[0]


def declined(found: Scene) -> str:
    plan = heal_plan(found, asked_for(found.findings, frozenset({CODE}), frozenset()))
    assert plan.actions == ()
    (refusal,) = plan.refusals
    assert refusal.guard == "repair"
    return refusal.why


def amounts(action: HealAction) -> dict[tuple[str, str], int]:
    return {(a.provider_uuid, a.resource_class): a.amount for a in action.write.allocations}


def of(*held_here: Allocation) -> dict[tuple[str, str], int]:
    return {(a.provider_uuid, a.resource_class): a.amount for a in (*held_here, ELSEWHERE)}


def test_s125_heal_allocates_the_pci_devices_of_a_guest():
    """`stocktake heal` adds a guest's PCI devices to its allocations in Placement and keeps the other amounts."""
    action = healed(scene(FIRST, SECOND, GPU))
    assert amounts(action) == of(*FLAVOR) | {
        (uuid(f"child-{PF}"), VF_CLASS): 2,
        (uuid(f"child-{GPU}"), T4): 1,
    }
    assert (action.write.consumer_generation, action.write.consumer_type) == (1, None)
    assert f"2 {VF_CLASS} on {NODE}_{PF.upper()}" in action.why


def test_s125_heal_reduces_a_pci_allocation_to_its_devices():
    """If a guest has one PCI device and Placement records three, `stocktake heal` reduces the allocation to one."""
    action = healed(scene(FIRST, mine=(*FLAVOR, held(PF, VF_CLASS, 3))))
    assert amounts(action) == of(*FLAVOR) | {(uuid(f"child-{PF}"), VF_CLASS): 1}


def test_heal_keeps_pci_allocations_without_a_device():
    """`stocktake heal` keeps an allocation on a PCI provider even if the guest has no device of that provider."""
    action = healed(scene(FIRST, mine=(*FLAVOR, held(GPU, T4))))
    assert amounts(action) == of(*FLAVOR, held(GPU, T4)) | {(uuid(f"child-{PF}"), VF_CLASS): 1}


def test_heal_allocates_no_pci_device_without_an_inventory():
    """If Placement has no inventory for a guest's PCI device yet, `stocktake heal` does not allocate the device."""
    assert "yet; the agent adds this inventory in its next audit, if writes are allowed" in declined(
        scene(GPU, children=())
    )
    assert "yet; the agent adds this inventory in its next audit, if writes are allowed" in declined(
        scene(GPU, children=(child(GPU),))
    )


def test_heal_allocates_no_pci_devices_beyond_the_capacity():
    """If a PCI provider lacks room for a guest's devices, `stocktake heal` allocates none of the devices."""
    others = (held(PF, VF_CLASS, 3, consumer="i2"),)
    assert declined(scene(FIRST, SECOND, others=others)) == (
        f"{NODE}_{PF.upper()} offers 4 {VF_CLASS}, at most 4 to each consumer; "
        "other consumers have 3, and this consumer needs 2"
    )
    narrow = (CHILDREN[0], child(PF, inventory(VF_CLASS, 4, max_unit=1)))
    assert "at most 1 to each consumer" in declined(scene(FIRST, SECOND, children=narrow))


MOVED_ON = {
    "no allocation on this host": lambda s: with_record(s, (ELSEWHERE,)),
    "match its guest's devices by now": lambda s: with_record(s, (*FLAVOR, held(PF, VF_CLASS, 1), ELSEWHERE)),
    "is not on this host or is being moved": lambda s: with_state(s, migrations=(migration(),)),
    "does not know all PCI devices": lambda s: with_host(s, devices=None),
    "is not on this host any more": lambda s: with_host(s, domains=()),
}


def with_record(found: Scene, mine: tuple[Allocation, ...]) -> Scene:
    (record,) = found.records
    return dataclasses.replace(found, records=(dataclasses.replace(record, allocations=mine),))


def with_state(found: Scene, **changes: Any) -> Scene:
    nova = found.snapshot.nova
    changed = dataclasses.replace(nova, value=dataclasses.replace(nova.value, **changes))
    return dataclasses.replace(found, snapshot=dataclasses.replace(found.snapshot, nova=changed))


def with_host(found: Scene, **changes: Any) -> Scene:
    libvirt = found.snapshot.host
    changed = dataclasses.replace(libvirt, value=dataclasses.replace(libvirt.value, **changes))
    return dataclasses.replace(found, snapshot=dataclasses.replace(found.snapshot, host=changed))


@pytest.mark.parametrize(("words", "change"), MOVED_ON.items(), ids=MOVED_ON.keys())
def test_s126_heal_declines_an_outdated_pci_repair(words, change):
    """If the facts about a guest have changed since the audit, `stocktake heal` declines the PCI repair."""
    found = scene(FIRST)
    (seen,) = asked_for(found.findings, frozenset({CODE}), frozenset())
    said = BY_CODE[CODE].proposed(change(found), seen)
    assert isinstance(said, Declined)
    assert words in said.why


def test_pci_devices_are_counted_for_each_provider():
    """The agent counts a guest's PCI devices of one resource class separately for each provider in Placement."""
    found = scene(FIRST, SECOND, GPU)
    told = PciDevices().belongs(I1, VF_CLASS, found.snapshot, found.settings)
    assert told == {key_of(PF): 2}
