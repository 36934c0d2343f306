"""Render the resource view as the columns of a compute node record, in nova's own JSON formats. Pure: no I/O.

GiB are rounded down, because the record's columns are integers. An unknown value is null,
and ``unknown`` gives the reason.
"""

from __future__ import annotations

from agent.model.host.resource_view import ResourceView
from agent.model.units import bytes_to_gib_floor
from agent.node_record.nova_forms import Document, cpu_info, pci_stats, topology


def view_document(view: ResourceView) -> Document:
    """Return the view as columns of a compute node record, plus ``uptime_s``, ``load`` and ``unknown``."""
    return {
        "hypervisor_type": view.hypervisor_type,
        "hypervisor_version": view.hypervisor_version,
        "hypervisor_hostname": view.hypervisor_hostname,
        "host_ip": view.host_ip,
        "vcpus": view.vcpus,
        "vcpus_used": view.vcpus_used,
        "memory_mb": view.memory_mib,
        "memory_mb_used": view.memory_used_mib,
        "local_gb": _gib(view.disk_total_bytes),
        "local_gb_used": _gib(view.disk_used_bytes),
        "disk_available_least": view.disk_available_least_gib,
        "cpu_info": cpu_info(view),
        "numa_topology": None if view.cells is None else topology(view.cells),
        "pci_stats": None if view.pci_pools is None else pci_stats(view.pci_pools),
        "supported_instances": [list(one) for one in view.supported_instances],
        "uptime_s": view.uptime_s,
        "load": None if view.load is None else list(view.load),
        "unknown": list(view.unknown),
    }


def _gib(size_bytes: int | None) -> int | None:
    return None if size_bytes is None else bytes_to_gib_floor(size_bytes)
