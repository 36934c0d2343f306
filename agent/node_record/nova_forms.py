"""Describe a host in the JSON forms of nova's compute node record: CPU, NUMA topology, PCI pools.

The record (agent/node_record/record.py) and the report (agent/render/view_document.py) must show equal values, so both
use this module. The usage of a NUMA cell is computed from the instances (agent/node_record/numa_usage.py). The report
shows no usage of cells.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from agent.model.host.devices import PciPool
from agent.model.host.resource_view import CellPages, ResourceView, ViewCell
from agent.model.usage import CellUsage

Document = dict[str, Any]


def cpu_info(view: ResourceView) -> Document | None:
    """Return the ``cpu_info`` column; None if libvirt has not reported the CPU."""
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


def topology(cells: Iterable[ViewCell], usages: Iterable[CellUsage] = ()) -> Document:
    """Return nova's object NUMATopology 1.2. A cell without an entry in ``usages`` has the usage 0."""
    used = {usage.id: usage for usage in usages}
    return _object("NUMATopology", "1.2", {"cells": [_cell(cell, used.get(cell.id)) for cell in cells]})


def topology_text(cells: Iterable[ViewCell], usages: Iterable[CellUsage]) -> str:
    """Return ``compute_nodes.numa_topology``: the topology as nova stores it."""
    return json.dumps(topology(cells, usages))


def pci_stats(pools: Iterable[PciPool]) -> Document:
    """Return the pools as nova's object PciDevicePoolList 1.1."""
    return _object("PciDevicePoolList", "1.1", {"objects": [_pool(pool) for pool in pools]})


def _cell(cell: ViewCell, usage: CellUsage | None) -> Document:
    network = {"physnets": list(cell.physnets), "tunneled": cell.is_tunneled}
    used_pages = dict(usage.pages) if usage else {}
    return _object(
        "NUMACell",
        "1.5",
        {
            "id": cell.id,
            "cpuset": list(cell.cpuset),
            "pcpuset": list(cell.pcpuset),
            "memory": cell.memory_mib,
            "cpu_usage": usage.cpus if usage else 0,
            "memory_usage": usage.memory_mib if usage else 0,
            "pinned_cpus": list(usage.pinned) if usage else [],
            "siblings": [list(core) for core in cell.siblings],
            "mempages": [_pages(pages, used_pages.get(pages.size_kib, 0)) for pages in cell.pages],
            "network_metadata": _object("NetworkMetadata", "1.0", network),
            "socket": cell.socket,
        },
    )


def _pages(pages: CellPages, used: int) -> Document:
    figures = {"size_kb": pages.size_kib, "total": pages.total, "used": used, "reserved": pages.reserved}
    return _object("NUMAPagesTopology", "1.1", figures)


def _pool(pool: PciPool) -> Document:
    tags = {**dict(pool.tags), "dev_type": pool.kind, "address": pool.address}
    if pool.parent_interface is not None:
        tags["parent_ifname"] = pool.parent_interface
    if pool.provider_uuid is not None:
        tags["rp_uuid"] = pool.provider_uuid
    ids = {"product_id": pool.product_id, "vendor_id": pool.vendor_id, "numa_node": pool.numa_node}
    return _object("PciDevicePool", "1.1", {**ids, "tags": tags, "count": pool.count})


def _object(name: str, version: str, values: Mapping[str, Any]) -> Document:
    """Return nova's JSON form of a versioned object with these values."""
    return {
        "nova_object.name": name,
        "nova_object.namespace": "nova",
        "nova_object.version": version,
        "nova_object.data": dict(values),
    }
