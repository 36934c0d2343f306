"""Which PCI devices are free: decided by rows whose owner is here, and by guests' definitions."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.host.devices import Devices
from agent.model.nova import PciRow
from agent.node_record.pci_usage import free_pools, owned_addresses
from tests.rigs.facts import INCOMING, NODE, domain, host, instance, migration, node, state, uuid
from tests.rigs.pci import device, functions, pci_settings

ONE, TWO, PF = "0000:81:00.0", "0000:81:00.1", "0000:82:00.0"
FUNCTIONS = functions(PF, 2)
VF = FUNCTIONS[1].address
CHOSEN = pci_settings({"vendor_id": "10de"}, {"vendor_id": "8086"})
DEVICES = Devices(pci=(device(ONE), device(TWO), *FUNCTIONS))
AWAY = {"host": "cmp2", "node": "cmp2.example.org"}


def row(address=ONE, **changes):
    plain = PciRow(
        id=1,
        compute_node_id=1,
        address=address,
        vendor_id="10de",
        product_id="1eb8",
        kind="type-PCI",
        status="allocated",
        instance_uuid=uuid("i1"),
    )
    return dataclasses.replace(plain, **changes)


def world(*rows, who=None, **changes):
    return state(*(who or (instance(),)), pci_devices=rows, **changes)


@pytest.mark.parametrize(
    "there",
    [
        world(row()),
        world(row(status="claimed")),
        world(row(), who=(instance(vm_state="stopped"),)),
        world(row(), who=(instance(flavor=None, problem="flavor is NULL"),)),
        world(row(), who=(instance(flavor=None, problem="host is 5", host=None, node=None),)),
        world(row(), who=(instance(**AWAY),), migrations=(migration(**INCOMING),)),
        world(row(), who=(instance(**AWAY),), migrations=(migration(status="finished"),)),
        world(row(), who=(instance(**AWAY),), migrations=(migration(status="error", **INCOMING),)),
    ],
    ids=[
        "instance here",
        "claimed only",
        "stopped",
        "of unknown size",
        "of unknown host",
        "arriving",
        "may be reverted",
        "failed to arrive",
    ],
)
def test_a_pci_device_owned_by_an_instance_here_is_used(there):
    """A PCI device is used if nova gave it to an instance that is on this host or is moving to or from this host."""
    assert owned_addresses(there, NODE) == {ONE}


@pytest.mark.parametrize(
    "there",
    [
        world(row(instance_uuid=None, status="available")),
        world(row(instance_uuid=None, status="unavailable")),
        world(row(instance_uuid=uuid("nobody"))),
        world(row(), who=(instance(deleted=True),)),
        world(row(), who=(instance(**AWAY),)),
        world(row(), who=(instance(**AWAY),), migrations=(migration(status="confirmed"),)),
        world(row(compute_node_id=2), nodes=(node(), node(2, hypervisor_hostname="old-name"))),
        world(row(), nodes=(node(deleted=True),)),
    ],
    ids=[
        "nobody's",
        "nobody's, its parent in use",
        "owner unknown",
        "owner deleted",
        "owner elsewhere",
        "its move over",
        "of another node",
        "of a deleted node",
    ],
)
def test_a_pci_device_of_no_instance_on_this_host_is_not_used(there):
    """A PCI device is not used if nova's table pci_devices assigns the device to no instance on this host."""
    assert owned_addresses(there, NODE) == frozenset()


def left(libvirt, *owned):
    found = free_pools(libvirt, CHOSEN, None, frozenset(owned))
    return {(pool.address, pool.kind): pool.count for pool in found}


EVERYTHING = {(ONE, "type-PCI"): 1, (TWO, "type-PCI"): 1, (PF, "type-PF"): 1, (PF, "type-VF"): 2}


def without(*taken):
    return {key: count for key, count in EVERYTHING.items() if key not in taken}


def test_an_allocated_or_attached_pci_device_is_not_free():
    """A PCI device is not free if nova has given it to an instance or if libvirt shows it in a guest."""
    assert left(host(devices=DEVICES)) == EVERYTHING
    assert left(host(devices=DEVICES), ONE) == without((ONE, "type-PCI"))
    guest = domain(pci_addresses=(TWO,))
    assert left(host(guest, devices=DEVICES), ONE) == without((ONE, "type-PCI"), (TWO, "type-PCI"))


def test_a_used_vf_blocks_its_pf_and_a_used_pf_blocks_its_vfs():
    assert left(host(devices=DEVICES), VF) == {**without((PF, "type-PF")), (PF, "type-VF"): 1}
    assert left(host(devices=DEVICES), PF) == without((PF, "type-PF"), (PF, "type-VF"))


def test_free_pci_pools_are_unknown_if_devices_are_unread():
    """If libvirt's list of PCI devices could not be read, the agent reports the pools of free devices as unknown."""
    assert free_pools(host(), CHOSEN, None) is None


def test_a_row_of_an_absent_pci_device_changes_no_free_pool():
    """If a device is absent from the host, its row in pci_devices changes no pool of free devices."""
    assert left(host(devices=DEVICES), "0000:99:00.0") == EVERYTHING
