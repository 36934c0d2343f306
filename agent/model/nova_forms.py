"""What a compute node record says of its host, in nova's own JSON forms: CPU, NUMA topology, PCI pools. Pure.

The record (stages/record.py) and the report (telemetry/view_document.py) must say the
same, so both take it from here. What guests use is not in these forms: a
cell's figures are what the host has, and the books add the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agent.model.devices import PciPool
from agent.model.resource_view import CellPages, ResourceView, ViewCell

Document = dict[str, Any]


def cpu_info(view: ResourceView) -> Document | None:
    """hypervisor-audit 3, ``cpu_info``; None where libvirt has not told."""
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


def topology(cells: Iterable[ViewCell]) -> Document:
    """NUMATopology 1.2, what is used still 0: that is the books' to say."""
    return _object("NUMATopology", "1.2", {"cells": [_cell(cell) for cell in cells]})


def pci_stats(pools: Iterable[PciPool]) -> Document:
    """PciDevicePoolList 1.1."""
    return _object("PciDevicePoolList", "1.1", {"objects": [_pool(pool) for pool in pools]})


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
