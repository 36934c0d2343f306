"""Pools of free PCI devices, as the scheduler's filters see them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from agent.model.host.devices import PciKind
from agent.node_record.nova_forms import pci_stats
from agent.node_record.pci_pools import PciPool, pools
from tests.rigs.pci import device, functions, pci_settings

GPU, PF = "0000:81:00.0", "0000:82:00.0"
FUNCTIONS = functions(PF, 4)


def specs(*entries):
    return pci_settings(*entries).pci.specs


ALL = specs({"vendor_id": "10de"}, {"vendor_id": "8086", "physical_network": "net1"})


def counts(found: tuple[PciPool, ...]) -> dict[tuple[str, str], int]:
    return {(pool.address, pool.kind): pool.count for pool in found}


def record(pool: PciPool) -> dict[str, Any]:
    """Return the pool as it is in the compute node's record."""
    (document,) = pci_stats([pool])["nova_object.data"]["objects"]
    return dict(document["nova_object.data"])


def test_pci_devices_with_equal_properties_share_one_pool():
    """Four equal virtual functions of a network card appear as one pool with count 4 in the compute node record."""
    found = pools((device(GPU, numa_node=1), *FUNCTIONS), ALL, frozenset())
    assert counts(found) == {(GPU, "type-PCI"): 1, (PF, "type-PF"): 1, (PF, "type-VF"): 4}
    assert record(found[0]) == {
        "vendor_id": "10de",
        "product_id": "1eb8",
        "numa_node": 1,
        "tags": {"address": GPU, "dev_type": "type-PCI"},
        "count": 1,
    }


def test_s121_a_pci_pool_with_a_network_has_no_provider_uuid():
    """A PCI pool with the tag physical_network gets no rp_uuid, even if Placement has a provider for its device."""
    found = pools((device(GPU), *FUNCTIONS), ALL, frozenset(), {GPU: "uuid-1", PF: "uuid-2"})
    assert {pool.address: pool.provider_uuid for pool in found} == {GPU: "uuid-1", PF: None}
    assert record(found[-1])["tags"]["physical_network"] == "net1"
    assert record(found[0])["tags"]["rp_uuid"] == "uuid-1"


@pytest.mark.parametrize(
    ("in_use", "left"),
    [
        ({GPU}, {(PF, "type-PF"): 1, (PF, "type-VF"): 4}),
        ({FUNCTIONS[2].address}, {(GPU, "type-PCI"): 1, (PF, "type-VF"): 3}),
        ({PF}, {(GPU, "type-PCI"): 1}),
        ({GPU, *(one.address for one in FUNCTIONS[1:])}, {}),
    ],
    ids=["a device", "a virtual function", "a physical function", "everything"],
)
def test_pci_pools_exclude_used_and_blocked_devices(in_use, left):
    """The pools of free PCI devices exclude used devices and the physical function of a used virtual function."""
    assert counts(pools((device(GPU), *FUNCTIONS), ALL, frozenset(in_use))) == left


def test_the_tags_of_a_pci_pool_omit_resource_class_and_traits():
    """The tags of a PCI pool contain trusted and managed from device_spec, but not resource_class and traits."""
    tagged = specs({"vendor_id": "10de", "resource_class": "x", "traits": "A", "trusted": "true", "managed": "no"})
    (found,) = pools((device(GPU),), tagged, frozenset())
    assert found.tags == (("managed", "false"), ("trusted", "true"))


@pytest.mark.parametrize("kind", [PciKind.PF, PciKind.VF, PciKind.VDPA])
def test_remote_managed_is_false_by_default_for_network_devices(kind):
    """The PCI pool of a network device has the tag remote_managed: false unless device_spec says otherwise."""
    own = device(PF, kind, "8086:1", card_serial="S1", parent_address=None if kind is PciKind.PF else GPU)
    (found,) = pools((own,), specs({"vendor_id": "8086"}), frozenset())
    assert dict(found.tags) == {"remote_managed": "false"}
    remote = pools((own,), specs({"vendor_id": "8086", "remote_managed": "True"}), frozenset())
    assert [dict(pool.tags) for pool in remote] == ([] if kind is PciKind.PF else [{"remote_managed": "true"}])


def test_different_pci_devices_have_separate_pools():
    """Four virtual functions of a network card differ in NUMA node, type or parent interface.

    The agent puts each virtual function into a pool of its own.
    """
    first, *rest = FUNCTIONS[1:]
    mixed = (
        first,
        dataclasses.replace(rest[0], numa_node=1),
        dataclasses.replace(rest[1], parent_interface="eno1"),
        dataclasses.replace(rest[2], kind=PciKind.VDPA),
    )
    found = pools(mixed, ALL, frozenset())
    assert [(pool.count, pool.address) for pool in found] == [(1, PF)] * 4
    assert [record(pool)["tags"].get("parent_ifname") for pool in found].count("eno1") == 1
    assert pools(tuple(reversed(mixed)), ALL, frozenset()) == found


def test_a_pci_device_that_matches_no_device_spec_is_in_no_pool():
    assert pools((device("10000:81:00.0"), *FUNCTIONS), specs({"vendor_id": "10de"}), frozenset()) == ()


def test_a_null_physical_network_stays_null_in_a_pci_pool():
    """If device_spec has physical_network null, the tag physical_network of the PCI pool is null too."""
    (found,) = pools((device(GPU),), specs({"vendor_id": "10de", "physical_network": None}), frozenset())
    assert record(found)["tags"]["physical_network"] is None
