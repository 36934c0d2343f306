"""pci-spec-unmatched: an entry that matches no device, and why."""

from __future__ import annotations

import pytest

from agent.model.finding import Severity
from agent.model.host.devices import OddDevice
from agent.model.snapshot import LIBVIRT
from tests.rigs.facts import findings, host, snapshot, without
from tests.rigs.pci import device, functions, pci_settings, world

CODE = "pci-spec-unmatched"
GPU = "0000:81:00.0"
ABSENT = pci_settings({"vendor_id": "1234"})


def test_an_unmatched_device_spec_entry_is_reported():
    """If no PCI device matches an entry of [pci] device_spec, the agent reports the entry."""
    (found,) = findings(world(device(GPU), device("0000:82:00.0")), CODE, ABSENT)
    assert found.severity is Severity.WARNING
    assert found.expected == 'at least one device of this host matches [pci] device_spec = {"vendor_id": "1234"}'
    assert found.actual == "none of the 2 PCI devices that libvirt lists matches this entry"
    assert "virsh -c qemu:///system nodedev-list --cap pci" in found.remedy


def test_a_shadowed_device_spec_entry_is_reported():
    """The agent reports a [pci] device_spec entry if earlier entries already match all of its devices."""
    chosen = pci_settings({"vendor_id": "8086"}, {"product_id": "1515"})
    (found,) = findings(world(*functions("0000:82:00.0", 12)), CODE, chosen)
    assert '{"product_id": "1515"}' in found.expected
    assert found.actual.startswith(
        "all devices that match this entry belong to earlier entries: 0000:82:10.0, 0000:82:10.1"
    )
    assert found.actual.endswith(" and 4 more")
    assert dict(found.facts)["devices_taken"] == 12


def test_two_equal_unmatched_entries_cause_two_findings():
    """Two equal entries of [pci] device_spec match no device. The agent reports each entry with its own finding ID."""
    chosen = pci_settings({"vendor_id": "1234"}, {"vendor_id": "1234"}, report=False)
    first, second = findings(world(device(GPU)), CODE, chosen)
    assert first.id != second.id


QUIET = {
    "every entry serves": (world(device(GPU)), pci_settings({"vendor_id": "10de"})),
    "no entry": (world(device(GPU)), pci_settings()),
    "devices unknown": (snapshot(libvirt=host(devices=None)), ABSENT),
    "libvirt did not answer": (without(world(), LIBVIRT), ABSENT),
    "a device that cannot be read may be it": (world(odd=(OddDevice(name="pci_x", reason="no id"),)), ABSENT),
}


@pytest.mark.parametrize(("facts", "chosen"), QUIET.values(), ids=QUIET.keys())
def test_a_possible_device_match_is_not_reported(facts, chosen):
    """The agent does not report an entry of [pci] device_spec that matches a device or may match an unread device."""
    assert findings(facts, CODE, chosen) == ()
