"""pci-device-lost: a consumer holds a device that the host does not offer any more."""

from __future__ import annotations

import pytest

from agent.model.finding import Severity
from tests.rigs.facts import findings, inventory, uuid
from tests.rigs.pci import MANAGED, child, device, functions, held, pci_settings, tree, world

CODE = "pci-device-lost"
GPU, PF = "0000:81:0a.0", "0000:82:00.0"
T4, VF_CLASS = "CUSTOM_PCI_10DE_1EB8", "CUSTOM_PCI_8086_1515"
USED = tree(child(GPU, inventory(T4, 1)), allocations=(held(GPU, T4),))
ALL = pci_settings({"vendor_id": "10de"}, {"product_id": "1515"})


@pytest.mark.parametrize(
    ("devices", "chosen", "why"),
    [
        ((device(GPU),), pci_settings(), "libvirt lists the device, and [pci] device_spec does not name it"),
        ((), ALL, "libvirt does not list the device"),
    ],
    ids=["s123 the entry is gone", "s128c the device is gone"],
)
def test_the_finding_shows_a_lost_pci_device_and_its_instance(devices, chosen, why):
    """If libvirt no longer lists a PCI device in use, the finding shows the device and the instance."""
    (found,) = findings(world(*devices, placement=USED), CODE, chosen)
    assert (found.severity, found.rests_on_recorded) == (Severity.ERROR, True)
    assert (found.provider_uuid, found.consumer_uuid) == (uuid(f"child-{GPU}"), uuid("i1"))
    assert found.resource_class == T4
    assert found.actual == f"{uuid('i1')} has this device allocated (1 {T4}); {why}"
    assert found.expected == f"[pci] device_spec must offer device {GPU} until no consumer has it allocated"
    assert uuid("i1") in found.remedy


def test_instances_on_a_card_with_too_few_vfs_are_reported():
    """If a PCI card has fewer virtual functions than are allocated, each instance on the card is reported."""
    allocations = (held(PF, VF_CLASS, 2), held(PF, VF_CLASS, 1, consumer="i2"))
    there = tree(child(PF, inventory(VF_CLASS, 4)), allocations=allocations)
    found = findings(world(*functions(PF, 2), placement=there), CODE, ALL)
    assert sorted((f.consumer_uuid, dict(f.facts)["amount"]) for f in found) == sorted(
        [(uuid("i1"), 2), (uuid("i2"), 1)]
    )
    assert {f.actual.partition("; ")[2] for f in found} == {
        "the host now offers only 2 devices of this provider, but 3 are allocated"
    }


ONCE = frozenset({MANAGED, "HW_PCI_ONE_TIME_USE"})
SPENT = child(GPU, inventory(T4, 1, reserved=1), traits=ONCE)


def test_a_lost_one_time_use_device_is_always_reported():
    """A lost PCI device with one_time_use is reported even if no instance uses the device any more."""
    (found,) = findings(world(placement=tree(SPENT)), CODE, ALL)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (SPENT.uuid, None, T4)
    assert found.actual == (
        f"the one-time-use device was used (1 {T4} of {SPENT.name} is reserved); libvirt does not list "
        "the device; the agent keeps the provider, because a new provider would offer the device as unused"
    )
    assert f"openstack resource provider delete {SPENT.uuid}" in found.remedy
    held_too = tree(SPENT, allocations=(held(GPU, T4),))
    assert [f.consumer_uuid for f in findings(world(placement=held_too), CODE, ALL)] == [uuid("i1")]


QUIET = {
    "for use once, and unused": (world(placement=tree(child(GPU, inventory(T4, 1), traits=ONCE))), ALL),
    "used up, and there": (world(device(GPU), placement=tree(SPENT)), ALL),
    "there": (world(device(GPU), placement=USED), ALL),
    "not held": (world(placement=tree(child(GPU, inventory(T4, 1)))), ALL),
    "not reported": (world(placement=USED), pci_settings(report=False)),
    "as many as are held": (
        world(
            *functions(PF, 2),
            placement=tree(child(PF, inventory(VF_CLASS, 4)), allocations=(held(PF, VF_CLASS, 2),)),
        ),
        ALL,
    ),
}


@pytest.mark.parametrize(("facts", "chosen"), QUIET.values(), ids=QUIET.keys())
def test_a_listed_or_unused_pci_device_is_not_reported_as_lost(facts, chosen):
    """A PCI device is not reported as lost if libvirt lists the device or no instance uses it."""
    assert findings(facts, CODE, chosen) == ()
