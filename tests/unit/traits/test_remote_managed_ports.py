"""Ports that a smart network card manages remotely."""

from __future__ import annotations

import pytest

from agent.model.host.devices import OddDevice, PciKind
from agent.model.snapshot import LIBVIRT
from agent.traits import remote_managed_ports
from agent.traits.base import Wish
from tests.rigs.facts import settings, snapshot
from tests.rigs.pci import device, pci_settings, world

TRAIT = frozenset({"COMPUTE_REMOTE_MANAGED_PORTS"})
SET, CLEARED, SILENT = Wish(wanted=TRAIT), Wish(unwanted=TRAIT), Wish()

CARD = "15b3:101e"
FUNCTION = device("0000:82:00.3", PciKind.VF, CARD, parent_address="0000:82:00.0", card_serial="MT2113X00000")
PLAIN = device("0000:82:00.3", PciKind.VF, CARD, parent_address="0000:82:00.0")
PHYSICAL = device("0000:82:00.0", PciKind.PF, CARD, card_serial="MT2113X00000")
REMOTE = {"vendor_id": "15b3", "product_id": "101e", "remote_managed": "true"}
LOCAL = {"vendor_id": "15b3", "product_id": "101e"}
ODD = OddDevice(name="pci_0000_83_00_0", reason="<product> is missing")

WORLDS = {
    "a device of a smart card": (world(FUNCTION), (REMOTE,), SET),
    "in another case": (world(FUNCTION), ({**REMOTE, "remote_managed": "True"},), SET),
    "no serial number": (world(PLAIN), (REMOTE,), CLEARED),
    "the physical function": (world(PHYSICAL), (REMOTE,), CLEARED),
    "another device": (world(device("0000:81:00.0")), (REMOTE,), CLEARED),
    "not tagged": (world(FUNCTION), (LOCAL,), CLEARED),
    "tagged false": (world(FUNCTION), ({**REMOTE, "remote_managed": "false"},), CLEARED),
    "an earlier entry has it": (world(FUNCTION), (LOCAL, REMOTE), CLEARED),
    "an older libvirt": (world(FUNCTION, libvirt_version=7008000), (REMOTE,), CLEARED),
    "nothing configured, devices unknown": (world(devices=None), (), CLEARED),
    "nothing configured, no libvirt": (snapshot(lost=[LIBVIRT]), (), CLEARED),
    "devices unknown": (world(devices=None), (REMOTE,), SILENT),
    "no libvirt": (snapshot(lost=[LIBVIRT]), (REMOTE,), SILENT),
    "a device that is not understood": (world(odd=(ODD,)), (REMOTE,), SILENT),
    "one that is not understood beside one that matches": (world(FUNCTION, odd=(ODD,)), (REMOTE,), SET),
}


@pytest.mark.parametrize(("facts", "entries", "expected"), WORLDS.values(), ids=WORLDS.keys())
def test_the_remote_managed_trait_needs_a_tagged_function(facts, entries, expected):
    """The agent sets COMPUTE_REMOTE_MANAGED_PORTS only for a virtual function that nova.conf tags remote_managed."""
    assert remote_managed_ports.wish(facts, pci_settings(*entries)) == expected


def test_the_remote_managed_trait_does_not_need_pci_reporting():
    """The agent sets COMPUTE_REMOTE_MANAGED_PORTS even if nova's option to report PCI devices in Placement is off."""
    assert remote_managed_ports.wish(world(FUNCTION), pci_settings(REMOTE, report=False)) == SET
    assert remote_managed_ports.wish(world(FUNCTION), settings()) == CLEARED
