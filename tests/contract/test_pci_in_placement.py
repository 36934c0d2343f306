"""PCI devices through the installed program, from libvirt's node devices to the providers of a real Placement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.rigs.domains import node_xml
from tests.rigs.host import AgentHost, host_on
from tests.rigs.node_devices import device_xml, functions_xml
from tests.rigs.placement import Rest
from tests.rigs.releases import needs_all_traits

GPU, PF, VFS = "0000:81:0a.0", "0000:82:00.0", ("0000:82:10.0", "0000:82:10.1")
MANAGED, OURS = "COMPUTE_MANAGED_PCI_DEVICE", "CUSTOM_OWNER_STOCKTAKE"
T4, VF_CLASS = "CUSTOM_PCI_10DE_1EB8", "CUSTOM_FAST"
EVERYTHING = [
    {"vendor_id": "10de", "traits": "purple,HW_GPU_API_VULKAN"},
    {"product_id": "1515", "resource_class": "fast"},
]


def gpu() -> str:
    return device_xml(GPU, "10de:1eb8")


def functions(*virtual: str) -> list[str]:
    return functions_xml(PF, virtual)


class PciHost:
    """A host whose devices and [pci] options a test sets, with its providers in Placement."""

    def __init__(self, host: AgentHost, node: Path, placement: Rest) -> None:
        self.host = host
        self.node = node
        self.placement = placement

    def has(self, *devices: str) -> None:
        self.node.write_text(node_xml(cpus=4, memory_mib=4096, domains=devices))

    def hands_out(self, *entries: dict[str, Any], report: bool = True) -> None:
        listed = json.dumps(entries) if entries else None
        self.host.configure(
            {
                "state": {"source": "none", "connection": None},
                "pci": {"device_spec": listed, "report_in_placement": report},
            }
        )

    def audit(self) -> dict[str, Any]:
        """Run one audit that may write; return its PCI findings, code to actual text."""
        ended = self.host.not_refused(60)
        assert ended.code in (0, 3), ended.stderr
        found = self.host.report()["audit"]["findings"]
        return {f["code"]: f["actual"] for f in found if f["code"].startswith("pci-")}

    def children(self) -> dict[str, str]:
        """Return the children's provider uuids, by the part of the provider's name after the node's name."""
        found = self.placement.done("GET", f"/resource_providers?in_tree={self.host.provider_uuid}")
        return {
            p["name"].removeprefix(f"{self.host.name}_"): p["uuid"]
            for p in found["resource_providers"]
            if p["parent_provider_uuid"]
        }

    def totals(self) -> dict[str, dict[str, int]]:
        return {
            name: {c: record["total"] for c, record in self.placement.inventories(uuid).items()}
            for name, uuid in self.children().items()
        }


@pytest.fixture
def pci(tmp_path: Path, placement: Rest) -> PciHost:
    node = tmp_path / "node.xml"
    host = host_on(tmp_path, placement.server.url)
    made = PciHost(host, node, placement)
    made.has(gpu(), *functions(*VFS))
    made.hands_out(*EVERYTHING)
    return made


@needs_all_traits()
def test_s116_pci_devices_become_providers(pci, placement):
    """The agent creates providers in Placement for the devices of [pci] device_spec. A second audit writes nothing."""
    assert pci.audit() == {}
    assert pci.totals() == {"0000:81:0A.0": {T4: 1}, "0000:82:00.0": {VF_CLASS: 2}}
    children = pci.children()
    assert placement.traits(children["0000:81:0A.0"]) == {MANAGED, OURS, "CUSTOM_PURPLE", "HW_GPU_API_VULKAN"}
    assert placement.inventories(children["0000:82:00.0"])[VF_CLASS] == {
        "total": 2,
        "reserved": 0,
        "min_unit": 1,
        "max_unit": 2,
        "step_size": 1,
        "allocation_ratio": 1.0,
    }
    with placement.watched() as seen:
        pci.audit()
    assert [line for line in seen if not line.startswith("GET")] == []
    assert pci.children() == children


def test_s122_s123_an_allocated_device_stays_published(pci, placement):
    """If an allocated device is removed from [pci] device_spec, the agent keeps its provider and reports a finding."""
    pci.audit()
    children = pci.children()
    consumer = placement.allocate({children["0000:82:00.0"]: {VF_CLASS: 1}})
    pci.hands_out()
    found = pci.audit()
    assert pci.totals() == {"0000:82:00.0": {VF_CLASS: 1}}, "the free device is gone, the held one counts what is held"
    assert found == {
        "pci-device-lost": f"{consumer} has this device allocated (1 {VF_CLASS}); "
        "libvirt lists the device, and [pci] device_spec does not name it"
    }
    placement.release(consumer)
    assert pci.audit() == {}
    assert pci.totals() == {}


def test_s128c_a_vanished_device_in_use_stays_published(pci, placement):
    """If an allocated PCI device is gone from the host, the agent keeps its inventory and reports a finding."""
    pci.audit()
    consumer = placement.allocate({pci.children()["0000:81:0A.0"]: {T4: 1}})
    pci.has(*functions(*VFS))
    found = pci.audit()
    assert pci.totals()["0000:81:0A.0"] == {T4: 1}
    assert (
        found["pci-device-lost"] == f"{consumer} has this device allocated (1 {T4}); libvirt does not list the device"
    )


def test_s128_a_device_spec_conflict_stops_updates(pci, placement):
    """If entries of [pci] device_spec conflict, the agent reports it and leaves the affected provider unchanged."""
    pci.hands_out({"product_id": "1563"})
    pci.audit()
    placement.allocate({pci.children()["0000:82:00.0"]: {"CUSTOM_PCI_8086_1563": 1}})
    pci.hands_out(*EVERYTHING)
    found = pci.audit()
    assert pci.totals() == {"0000:81:0A.0": {T4: 1}, "0000:82:00.0": {"CUSTOM_PCI_8086_1563": 1}}
    assert list(found) == ["pci-spec-conflict"]


@needs_all_traits()
def test_s127_a_one_time_use_device_stays_reserved(pci, placement):
    """After the allocation of a one_time_use device has ended, the agent keeps the device reserved in Placement."""
    pci.hands_out({"vendor_id": "10de", "one_time_use": True})
    pci.audit()
    provider = pci.children()["0000:81:0A.0"]
    consumer = placement.allocate({provider: {T4: 1}})
    pci.audit()
    placement.release(consumer)
    pci.audit()
    assert placement.inventories(provider)[T4]["reserved"] == 1
    assert "HW_PCI_ONE_TIME_USE" in placement.traits(provider)


def test_s124_disabled_pci_reporting_keeps_the_providers(pci, placement):
    """After [pci] report_in_placement is turned off, the agent keeps the PCI providers and reports a finding."""
    pci.audit()
    before = pci.totals()
    pci.hands_out(*EVERYTHING, report=False)
    found = pci.audit()
    assert pci.totals() == before
    assert "the agent keeps 2 PCI providers in the tree" in found["pci-reporting-disabled"]


def test_s120_an_invalid_device_spec_is_rejected_at_start(pci, placement):
    pci.hands_out({"devname": "eth0"})
    ended = pci.host.agent("--once")
    assert ended.code == 78
    assert f"{pci.host.config_file}: [pci] device_spec = " in ended.stderr
    assert '{"devname": "eth0"}: devname cannot be used with [pci] report_in_placement' in ended.stderr
    assert placement.request("GET", f"/resource_providers/{pci.host.provider_uuid}").status_code == 404


def test_the_agent_takes_over_the_pci_provider_of_nova(pci, placement):
    """An agent that replaces nova-compute finds the existing PCI provider by its name and continues to use it."""
    placement.make_provider(pci.host.name, uuid=pci.host.provider_uuid)
    theirs = placement.make_provider(f"{pci.host.name}_0000:81:0A.0", parent=pci.host.provider_uuid)
    placement.set_inventories(theirs, {T4: {"total": 1, "max_unit": 1, "reserved": 1}})
    placement.set_traits(theirs, MANAGED, "OWNER_NOVA")
    placement.set_traits(pci.host.provider_uuid, "OWNER_NOVA", "COMPUTE_NODE")
    pci.host.options = {"agent": {"takeover": True}, "DEFAULT": {"service_down_time": 1}}
    pci.hands_out(*EVERYTHING)
    pci.audit()
    assert pci.children()["0000:81:0A.0"] == theirs
    assert placement.inventories(theirs)[T4]["reserved"] == 1, "what an operator reserved stays"
    assert placement.traits(theirs) == {MANAGED, OURS, "CUSTOM_PURPLE", "HW_GPU_API_VULKAN"}
