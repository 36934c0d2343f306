"""The figures of the reference's three log lines: what the host has (resource view), what is promised of it (rows)."""

from __future__ import annotations

from agent.model.compared import Row
from agent.model.report import HostSummary
from agent.model.resource_view import ResourceView
from agent.model.settings import Settings
from agent.model.units import bytes_to_gib_ceil, bytes_to_gib_floor


def summary(view: ResourceView | None, settings: Settings, rows: tuple[Row, ...]) -> HostSummary | None:
    """The figures (reconcile 8); None where there is no view."""
    if view is None:
        return None
    # The dedicated ones are not in nova's count of usable CPUs, those promised to guests are; without any, both are 0.
    total_vcpus = view.vcpus or 0
    used_vcpus = settings.reserved_host_cpus + _promised(rows, "VCPU") + _promised(rows, "PCPU")
    return HostSummary(
        node=view.hypervisor_hostname,
        free_ram_mib=None if view.memory_used_mib is None else view.memory_mib - view.memory_used_mib,
        free_disk_gib=_free_disk_gib(view),
        free_vcpus=total_vcpus - view.vcpus_used if total_vcpus else None,
        total_vcpus=total_vcpus,
        used_vcpus=used_vcpus if total_vcpus else 0,
        phys_ram_mib=view.memory_mib,
        used_ram_mib=settings.reserved_host_memory_mib + _promised(rows, "MEMORY_MB"),
        phys_disk_gib=None if view.disk_total_bytes is None else bytes_to_gib_floor(view.disk_total_bytes),
        used_disk_gib=max(_promised_disk(rows, settings), _used_disk(view, settings)),
        pci_devices=view.pci_devices,
        pci_stats=tuple(f"{p.vendor_id}:{p.product_id} x{p.count} on {p.address}" for p in view.pci_pools or ()),
    )


def _promised(rows: tuple[Row, ...], resource_class: str) -> int:
    return sum(row.promised or 0 for row in rows if row.resource_class == resource_class)


def _promised_disk(rows: tuple[Row, ...], settings: Settings) -> int:
    # The row truncates the reserve, Placement rounds it up (reconcile 4.1).
    return _promised(rows, "DISK_GB") + settings.reserved_host_disk_mib // 1024


def _free_disk_gib(view: ResourceView) -> int | None:
    """Total less used, as nova's line has it: with what a file system keeps for root."""
    if view.disk_total_bytes is None or view.disk_used_bytes is None:
        return None
    return bytes_to_gib_floor(view.disk_total_bytes - view.disk_used_bytes)


def _used_disk(view: ResourceView, settings: Settings) -> int:
    # Never below what the storage itself says is used (scenario 91); of a file
    # system other things than guests take, so there the flavors speak alone.
    if view.disk_used_bytes is None or settings.disk_group is None:
        return 0
    return bytes_to_gib_ceil(view.disk_used_bytes)
