"""The resource view as the columns of a compute node record, in nova's own JSON forms. Pure.

GiB are cut as the record's integer columns cut them. What is not known is null,
and ``unknown`` says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agent.model.devices import PciPool
from agent.model.resource_view import CellPages, ResourceView, ViewCell
from agent.model.units import bytes_to_gib_floor

Document = dict[str, Any]


def view_document(view: ResourceView) -> Document:
    """One key a column (hypervisor-audit 3), and ``unknown``."""
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
        "cpu_info": _cpu_info(view),
        "numa_topology": None if view.cells is None else topology(view.cells),
        "pci_stats": None if view.pci_pools is None else pci_stats(view.pci_pools),
        "supported_instances": [list(one) for one in view.supported_instances],
        "uptime_s": view.uptime_s,
        "load": None if view.load is None else list(view.load),
        "unknown": list(view.unknown),
    }


def topology(cells: Iterable[ViewCell]) -> Document:
    """NUMATopology 1.2, what is used still 0: that is the books' to say."""
    return _object("NUMATopology", "1.2", {"cells": [_cell(cell) for cell in cells]})


def pci_stats(pools: Iterable[PciPool]) -> Document:
    """PciDevicePoolList 1.1."""
    return _object("PciDevicePoolList", "1.1", {"objects": [_pool(pool) for pool in pools]})


def _gib(size_bytes: int | None) -> int | None:
    return None if size_bytes is None else bytes_to_gib_floor(size_bytes)


def _cpu_info(view: ResourceView) -> Document | None:
    cpu = view.cpu
    if cpu is None:
        return None
    info: Document = {
        "arch": cpu.arch,
        "model": cpu.model,
        "vendor": cpu.vendor,
        "topology": {
            "cells": len(view.cells) if view.cells is not None else None,
            "sockets": cpu.sockets,
            "cores": cpu.cores,
            "threads": cpu.threads,
        },
        "features": None if cpu.features is None else sorted(cpu.features),
    }
    if cpu.maxphysaddr is not None:
        mode, bits = cpu.maxphysaddr
        info["maxphysaddr"] = {"mode": mode, "bits": bits}
    return info


def _cell(cell: ViewCell) -> Document:
    network = {"physnets": list(cell.physnets), "tunneled": cell.is_tunneled}
    return _object(
        "NUMACell",
        "1.5",
        {
            "id": cell.id,
            "cpuset": list(cell.cpuset),
            "pcpuset": list(cell.pcpuset),
            "memory": cell.memory_mib,
            "cpu_usage": 0,
            "memory_usage": 0,
            "pinned_cpus": [],
            "siblings": [list(core) for core in cell.siblings],
            "mempages": [_pages(pages) for pages in cell.pages],
            "network_metadata": _object("NetworkMetadata", "1.0", network),
            "socket": cell.socket,
        },
    )


def _pages(pages: CellPages) -> Document:
    figures = {"size_kb": pages.size_kib, "total": pages.total, "used": 0, "reserved": pages.reserved}
    return _object("NUMAPagesTopology", "1.1", figures)


def _pool(pool: PciPool) -> Document:
    tags = {**dict(pool.tags), "dev_type": pool.kind, "address": pool.address}
    if pool.parent_interface is not None:
        tags["parent_ifname"] = pool.parent_interface
    if pool.provider_uuid is not None:
        tags["rp_uuid"] = pool.provider_uuid
    return _object(
        "PciDevicePool",
        "1.1",
        {
            "product_id": pool.product_id,
            "vendor_id": pool.vendor_id,
            "numa_node": pool.numa_node,
            "tags": tags,
            "count": pool.count,
        },
    )


def _object(name: str, version: str, values: Mapping[str, Any]) -> Document:
    """The envelope of a versioned object (reconcile 9)."""
    return {
        "nova_object.name": name,
        "nova_object.namespace": "nova",
        "nova_object.version": version,
        "nova_object.data": dict(values),
    }
