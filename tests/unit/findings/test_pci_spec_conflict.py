"""pci-spec-conflict: entries and devices that contradict each other, with the provider that stays unchanged."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.model.provider_config import ProviderEntry
from agent.model.snapshot import PLACEMENT
from tests.rigs.facts import ROOT_UUID, findings, inventory, uuid, without
from tests.rigs.pci import child, device, functions, held, pci_settings, tree, world

CODE = "pci-spec-conflict"
PF = "0000:82:00.0"
VFS = functions(PF, 2)
FIRST, SECOND = VFS[1].address, VFS[2].address
CLASS = "CUSTOM_PCI_8086_1563"

CASES = {
    "s120 a function and its virtual ones": (
        VFS,
        [{"product_id": "1515"}, {"product_id": "1563"}],
        "device_spec offers both a physical function and its virtual functions: "
        f"{PF}, {FIRST}, {SECOND}; the provider of {PF} is left as it is",
    ),
    "s120 siblings of two classes": (
        VFS,
        [{"address": FIRST, "resource_class": "a"}, {"address": SECOND, "resource_class": "b"}],
        "virtual functions of one device differ in resource class: CUSTOM_A, CUSTOM_B: "
        f"{FIRST}, {SECOND}; the provider of {PF} is left as it is",
    ),
    "s120 siblings of other traits": (
        VFS,
        [{"address": FIRST, "traits": "a"}, {"product_id": "1515"}],
        f"virtual functions of one device differ in traits: {FIRST}, {SECOND}; the provider of {PF} is left as it is",
    ),
    "a one-time virtual function": (
        VFS[2:],
        [{"product_id": "1515", "one_time_use": False}],
        f"one_time_use must not be set on a virtual function, not even to false: {SECOND}; "
        f"the provider of {PF} is left as it is",
    ),
    "a physical function that is managed from elsewhere": (
        VFS[:1],
        [{"address": PF, "product_id": "1563", "remote_managed": True}],
        "remote_managed is only for virtual functions: give the product_id of virtual functions: "
        f"{PF}; the provider of {PF} is left as it is",
    ),
}


@pytest.mark.parametrize(("devices", "entries", "actual"), CASES.values(), ids=CASES.keys())
def test_the_finding_explains_the_conflict_of_device_specs(devices, entries, actual):
    """If [pci] device_spec contradicts itself or the host's devices, the finding shows why and for which devices."""
    chosen = pci_settings(*entries)
    (found,) = findings(world(*devices), CODE, chosen)
    assert (found.severity, found.actual) == (Severity.ERROR, actual)
    assert (found.provider_uuid, dict(found.facts)["device_provider_uuid"]) == (ROOT_UUID, None), "not made yet"
    texts = "; ".join(spec.text for spec in chosen.pci.specs)
    assert found.expected == f"no contradiction between this host's devices and [pci] device_spec = {texts}"


def test_s120_a_vf_without_a_physical_function_is_reported():
    """If libvirt shows no physical function for a virtual function, the finding shows the virtual function."""
    lonely = dataclasses.replace(VFS[1], parent_address=None)
    (found,) = findings(world(lonely), CODE, pci_settings({"product_id": "1515"}))
    assert found.provider_uuid == ROOT_UUID
    assert found.actual == (
        f"libvirt reports no physical function for a virtual function: {FIRST}; "
        "the agent writes no provider of virtual functions and removes no provider of PCI devices"
    )


def test_s128_a_used_device_with_a_new_class_is_reported():
    """If device_spec changes the resource class of a PCI device in use, the finding shows both classes."""
    there = tree(child(PF, inventory(CLASS, 1)), allocations=(held(PF, CLASS),))
    (found,) = findings(world(*VFS, placement=there), CODE, pci_settings({"address": FIRST}))
    assert dict(found.facts)["device_provider_uuid"] == uuid(f"child-{PF}")
    assert found.actual.startswith(
        f"the devices' provider has allocations of {CLASS}, but the devices' class is now CUSTOM_PCI_8086_1515: {FIRST}"
    )
    assert "move away the instances" in found.remedy
    freed = dataclasses.replace(there, allocations=())
    assert findings(world(*VFS, placement=freed), CODE, pci_settings({"address": FIRST})) == ()


def test_live_migratable_is_reported_if_libvirt_is_too_old():
    """If device_spec has live_migratable and libvirt is too old for it, the finding shows the needed versions."""
    chosen = pci_settings({"product_id": "1515", "live_migratable": True})
    (found,) = findings(world(*VFS, libvirt_version=9_000_000), CODE, chosen)
    assert "live_migratable needs libvirt 10.0.0 and QEMU 8.2.2 at least" in found.actual
    assert findings(world(*VFS), CODE, chosen) == ()
    assert findings(world(*VFS, hypervisor_version=0), CODE, chosen) == (), "QEMU's version is not known yet"
    never = pci_settings({"product_id": "1515", "live_migratable": False})
    assert findings(world(*VFS, libvirt_version=9_000_000), CODE, never) == ()


def test_the_finding_id_does_not_depend_on_placement():
    """A conflict in device_spec keeps its finding ID if Placement cannot be read."""
    facts, chosen = world(*VFS, placement=tree(child(PF))), pci_settings({"vendor_id": "8086"})
    (seen,) = findings(facts, CODE, chosen)
    (unseen,) = findings(without(facts, PLACEMENT), CODE, chosen)
    assert seen.id == unseen.id


def test_a_class_from_provider_yaml_causes_no_finding():
    """A provider.yaml may add a resource class to a PCI provider; allocations of the class cause no finding."""
    beside = ProviderEntry(origin="a.yaml:4", name=child(PF).name, inventories=(inventory("CUSTOM_LICENSE", 5),))
    chosen = pci_settings({"product_id": "1515"}, provider_entries=(beside,))
    there = tree(child(PF, inventory("CUSTOM_LICENSE", 5)), allocations=(held(PF, "CUSTOM_LICENSE"),))
    assert findings(world(*VFS, placement=there), CODE, chosen) == ()
    elsewhere = dataclasses.replace(chosen, provider_entries=(dataclasses.replace(beside, name="another"),))
    assert len(findings(world(*VFS, placement=there), CODE, elsewhere)) == 1


QUIET = {
    "virtual functions alone": (VFS, pci_settings({"product_id": "1515"})),
    "the physical function alone": (VFS, pci_settings({"product_id": "1563", "one_time_use": True})),
    "one side has a network": (VFS, pci_settings({"product_id": "1563", "physical_network": "n"}, {"address": PF})),
    "not reported": (VFS, pci_settings({"vendor_id": "8086"}, report=False)),
    "remote virtual functions by their own id": (
        VFS,
        pci_settings({"address": PF, "product_id": "1515", "remote_managed": True}),
    ),
    "a whole device used once": ((device("0000:81:00.0"),), pci_settings({"one_time_use": True})),
}


@pytest.mark.parametrize(("devices", "chosen"), QUIET.values(), ids=QUIET.keys())
def test_device_specs_without_a_conflict_cause_no_finding(devices, chosen):
    assert findings(world(*devices), CODE, chosen) == ()
