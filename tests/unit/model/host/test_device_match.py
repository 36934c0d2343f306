"""The device_spec entry that a device matches."""

from __future__ import annotations

import pytest

from agent.model.host.device_match import idle, matched
from agent.model.host.devices import PciKind
from tests.rigs.pci import device, functions, pci_settings

GPU, PF = "0000:81:00.0", "0000:82:00.0"
FUNCTIONS = functions(PF, 2)
DEVICES = (device(GPU), *FUNCTIONS)
BOTH = [one.address for one in FUNCTIONS[1:]]


def specs(*entries):
    return pci_settings(*entries).pci.specs


def addresses(*entries, devices=DEVICES) -> list[str]:
    return [match.device.address for match in matched(devices, specs(*entries))]


FOUND = {
    "by both ids": ({"vendor_id": "10de", "product_id": "1eb8"}, [GPU]),
    "by one that differs": ({"vendor_id": "10de", "product_id": "1eb9"}, []),
    "by an address": ({"address": GPU}, [GPU]),
    "by a part of one": ({"address": "82:*.*"}, [PF, *BOTH]),
    "a physical function's address means its virtual ones too": ({"address": PF}, [PF, *BOTH]),
    "and ids can choose among them": ({"address": PF, "product_id": "1515"}, BOTH),
    "expressions that spell an address out": (
        {"address": {"domain": "0000", "bus": "82", "slot": "00", "function": "0"}},
        [PF, *BOTH],
    ),
    "expressions that do not": ({"address": {"bus": "82", "slot": "00", "function": "0"}}, [PF]),
    "a virtual function's address means no other": ({"address": BOTH[0]}, [BOTH[0]]),
    "all": ({}, [GPU, PF, *BOTH]),
}


@pytest.mark.parametrize(("entry", "expected"), FOUND.values(), ids=FOUND.keys())
def test_a_device_spec_entry_matches_by_id_and_address(entry, expected):
    """An entry of [pci] device_spec can select devices by vendor_id, product_id and address."""
    assert addresses(entry) == expected


def test_a_device_gets_the_first_matching_device_spec_entry():
    """If several entries of [pci] device_spec match a device, the first of these entries applies."""
    entries = ({"address": GPU, "trusted": "first"}, {"vendor_id": "10de"}, {})
    assert [(m.device.address, m.position) for m in matched(DEVICES, specs(*entries))] == [
        (GPU, 0),
        (PF, 2),
        *((one, 2) for one in BOTH),
    ]


def test_devname_matches_a_network_card_and_its_vfs():
    """An entry of [pci] device_spec with devname selects the network card and its virtual functions."""
    own = device(PF, PciKind.PF, "8086:1563", interface="eno1")
    assert addresses({"devname": "eno1"}, devices=(own, *FUNCTIONS[1:], device(GPU))) == [PF, *BOTH]
    assert addresses({"devname": "eno2"}, devices=(own, *FUNCTIONS[1:])) == []
    named_by_child = device(BOTH[0], PciKind.VF, parent_address=PF, parent_interface="eno1")
    assert addresses({"devname": "eno1"}, devices=(named_by_child,)) == [BOTH[0]]


def test_a_device_with_a_long_pci_domain_is_not_matched():
    """A device with a PCI domain of more than 16 bits, as in 10000:81:00.0, matches no entry of [pci] device_spec."""
    assert addresses({}, devices=(device("10000:81:00.0"), device("00ff:81:00.0"))) == ["00ff:81:00.0"]


@pytest.mark.parametrize(
    ("kind", "serial", "found"),
    [(PciKind.VF, "S1", True), (PciKind.VF, None, False), (PciKind.VF, "", False), (PciKind.PF, "S1", False)],
)
def test_remote_managed_matches_only_vfs_with_a_card_serial(kind, serial, found):
    """A device_spec entry with remote_managed = true selects only virtual functions of a card with a serial number."""
    one = device(BOTH[0], kind, parent_address=PF, card_serial=serial)
    assert bool(addresses({"remote_managed": "true"}, devices=(one,))) is found
    assert addresses({"remote_managed": "false"}, devices=(one,)) == [BOTH[0]]


def test_a_device_spec_entry_without_devices_is_unused():
    """A device_spec entry is listed as unused if it matches no device, or only devices that earlier entries took."""
    entries = ({"vendor_id": "10de"}, {"address": GPU}, {"vendor_id": "1234"}, {"product_id": "1515"})
    found = [(one.position, one.taken) for one in idle(DEVICES, specs(*entries))]
    assert found == [(1, (GPU,)), (2, ())]


def test_a_repeated_device_spec_entry_is_unused():
    """If [pci] device_spec contains the same entry twice, the second entry is listed as unused."""
    assert [one.position for one in idle(DEVICES, specs({"vendor_id": "10de"}, {"vendor_id": "10de"}))] == [1]
