"""PCI devices and their providers, for tests."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from agent.config.options.device_spec import parse_device_specs
from agent.model.host.device_spec import PciSettings
from agent.model.host.devices import Devices, OddDevice, PciDevice, PciKind
from agent.model.placement import Allocation, Inventory, PlacementView, Provider
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from tests.rigs.facts import NODE, ROOT_UUID, host, root, settings, snapshot, uuid, view

MANAGED = "COMPUTE_MANAGED_PCI_DEVICE"
OURS = "CUSTOM_OWNER_STOCKTAKE"
# Enough for live_migratable: libvirt 10.0.0, QEMU 8.2.2.
NEW_ENOUGH = {"libvirt_version": 10_000_000, "hypervisor_version": 8_002_002}


def device(address: str, kind: PciKind = PciKind.PCI, ids: str = "10de:1eb8", **changes: Any) -> PciDevice:
    """Return a PCI function at that address."""
    vendor_id, product_id = ids.split(":")
    name = "pci_" + address.replace(":", "_").replace(".", "_")
    plain = PciDevice(name=name, address=address, vendor_id=vendor_id, product_id=product_id, kind=kind)
    return dataclasses.replace(plain, **changes)


def functions(pf: str, count: int, ids: str = "8086:1563", vf_ids: str = "8086:1515") -> tuple[PciDevice, ...]:
    """Return a physical function and ``count`` virtual functions, which begin two slots further."""
    bus, slot = pf.rpartition(".")[0].rsplit(":", 1)
    virtual = (
        device(f"{bus}:{int(slot, 16) + 16 + i // 8:02x}.{i % 8}", PciKind.VF, vf_ids, parent_address=pf)
        for i in range(count)
    )
    return (device(pf, PciKind.PF, ids), *virtual)


def pci_settings(*entries: dict[str, Any], report: bool = True, **changes: Any) -> Settings:
    """Return settings with those entries as [pci] device_spec."""
    specs = parse_device_specs([json.dumps(entry) for entry in entries])
    return settings(pci=PciSettings(specs=specs, report_in_placement=report), **changes)


def child(address: str, *inventories: Inventory, **changes: Any) -> Provider:
    """Return that device's provider, with the traits that mark it as Stocktake's."""
    plain = Provider(
        uuid=uuid(f"child-{address}"),
        name=f"{NODE}_{address.upper()}",
        parent_uuid=ROOT_UUID,
        generation=3,
        inventories=inventories,
        traits=frozenset({MANAGED, OURS}),
    )
    return dataclasses.replace(plain, **changes)


def held(address: str, resource_class: str, amount: int = 1, consumer: str = "i1") -> Allocation:
    """Return a consumer's allocation on that device's provider."""
    return Allocation(
        consumer_uuid=uuid(consumer),
        consumer_generation=1,
        provider_uuid=uuid(f"child-{address}"),
        resource_class=resource_class,
        amount=amount,
    )


def tree(*providers: Provider, allocations: tuple[Allocation, ...] = ()) -> PlacementView:
    """Return a view of the root with these children."""
    return view(providers=(root(), *providers), allocations=allocations)


def world(
    *devices: PciDevice, placement: PlacementView | None = None, odd: tuple[OddDevice, ...] = (), **changes: Any
) -> Snapshot:
    """Return a snapshot of a host with these devices."""
    facts = host(**{**NEW_ENOUGH, "devices": Devices(pci=devices, odd=odd), **changes})
    return snapshot(libvirt=facts, placement=placement)
