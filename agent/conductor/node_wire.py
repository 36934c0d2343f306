"""Convert a compute node record to nova's object ComputeNode and back. Pure: no I/O.

The object's field names differ from the columns of ``compute_nodes``: ``supported_hv_specs`` is the column
``supported_instances``, and ``pci_device_pools`` is ``pci_stats``. nova writes only the fields that
``nova_object.changes`` lists. A ratio cannot be null in the object, so this module omits a ratio of None, and nova then
uses its own default.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping

from agent.conductor.manifest import MANIFEST
from agent.errors import SourceInconsistent
from agent.model.node_record import NodeRecord
from agent.sources.nova.documents import SOURCE, Cells, short
from agent.text.numbers import finite

# Field of NodeRecord -> field of ComputeNode, for the fields that differ only by name.
_RENAMED = {
    "memory_mib": "memory_mb",
    "local_gib": "local_gb",
    "memory_mib_used": "memory_mb_used",
    "local_gib_used": "local_gb_used",
    "free_ram_mib": "free_ram_mb",
    "free_disk_gib": "free_disk_gb",
    "disk_available_least_gib": "disk_available_least",
    "cpu_ratio": "cpu_allocation_ratio",
    "memory_ratio": "ram_allocation_ratio",
    "disk_ratio": "disk_allocation_ratio",
}
_RATIOS = frozenset({"cpu_ratio", "memory_ratio", "disk_ratio"})
# nova sets these fields when it creates the record, and rejects a later change.
_READ_ONLY = frozenset({"id", "uuid"})
_SPEC = ("arch", "hv_type", "vm_mode")


def new_node(record: NodeRecord) -> dict[str, object]:
    """Return a ComputeNode for ``create``: it has every field except the id, and each field is marked as changed."""
    names = (field.name for field in dataclasses.fields(NodeRecord) if field.name != "id")
    fields = _object_fields(record, names)
    return _envelope("ComputeNode", fields, changes=fields)


def changed_node(record: NodeRecord, changed: Iterable[str]) -> dict[str, object] | None:
    """Return a ComputeNode for ``save``, with the changed fields that nova can save; None if there is no such field."""
    fields = _object_fields(record, (name for name in changed if name not in _READ_ONLY))
    if not fields:
        return None
    return _envelope("ComputeNode", {"id": record.id, "uuid": record.uuid, **fields}, changes=fields)


def known_node(record: NodeRecord) -> dict[str, object]:
    """Return a ComputeNode for ``destroy``. nova deletes the record only if the record still has the same host."""
    return _envelope("ComputeNode", {"id": record.id, "uuid": record.uuid, "host": record.host}, changes=())


def record_from_fields(fields: Mapping[str, object]) -> NodeRecord:
    """Return the NodeRecord for a ComputeNode's fields. Raises SourceInconsistent if a field violates nova's schema."""
    cells = Cells(f"compute node id {short(fields.get('id'))}", fields)
    return NodeRecord(
        id=cells.needed_integer("id"),
        uuid=cells.needed_text("uuid"),
        host=cells.needed_text("host"),
        hypervisor_hostname=cells.needed_text("hypervisor_hostname"),
        service_id=cells.integer("service_id"),
        vcpus=cells.integer("vcpus") or 0,
        memory_mib=cells.integer("memory_mb") or 0,
        local_gib=cells.integer("local_gb") or 0,
        vcpus_used=cells.integer("vcpus_used") or 0,
        memory_mib_used=cells.integer("memory_mb_used") or 0,
        local_gib_used=cells.integer("local_gb_used") or 0,
        free_ram_mib=cells.integer("free_ram_mb") or 0,
        free_disk_gib=cells.integer("free_disk_gb") or 0,
        current_workload=cells.integer("current_workload") or 0,
        running_vms=cells.integer("running_vms") or 0,
        disk_available_least_gib=cells.integer("disk_available_least"),
        hypervisor_type=cells.text("hypervisor_type") or "",
        hypervisor_version=cells.integer("hypervisor_version") or 0,
        host_ip=cells.text("host_ip"),
        cpu_info=cells.text("cpu_info") or "",
        numa_topology=cells.text("numa_topology"),
        pci_pools=_pools_text(cells),
        supported_instances=_specs(cells),
        stats=_stats(cells),
        metrics=cells.text("metrics"),
        cpu_ratio=_ratio(cells, "cpu_allocation_ratio"),
        memory_ratio=_ratio(cells, "ram_allocation_ratio"),
        disk_ratio=_ratio(cells, "disk_allocation_ratio"),
    )


def _object_fields(record: NodeRecord, names: Iterable[str]) -> dict[str, object]:
    return dict(_field(record, name) for name in names if name not in _RATIOS or getattr(record, name) is not None)


def _field(record: NodeRecord, name: str) -> tuple[str, object]:
    """Return (field of ComputeNode, serialized value) for a field of NodeRecord."""
    if name == "stats":
        return "stats", dict(record.stats)
    if name == "supported_instances":
        specs = [_envelope("HVSpec", dict(zip(_SPEC, spec, strict=True))) for spec in record.supported_instances]
        return "supported_hv_specs", specs
    if name == "pci_pools":
        return "pci_device_pools", None if record.pci_pools is None else json.loads(record.pci_pools)
    return _RENAMED.get(name, name), getattr(record, name)


def _envelope(name: str, fields: Mapping[str, object], changes: Iterable[str] | None = None) -> dict[str, object]:
    primitive: dict[str, object] = {
        "nova_object.name": name,
        "nova_object.namespace": "nova",
        "nova_object.version": MANIFEST[name],
        "nova_object.data": dict(fields),
    }
    return primitive if changes is None else {**primitive, "nova_object.changes": sorted(changes)}


def _pools_text(cells: Cells) -> str | None:
    pools = cells.row.get("pci_device_pools")
    if pools is None:
        return None
    try:
        return json.dumps(_without_changes(pools))
    except (TypeError, ValueError, RecursionError) as error:
        raise SourceInconsistent(SOURCE, f"{cells.where}: pci_device_pools is not JSON: {error}") from error


def _without_changes(value: object) -> object:
    """Return ``value`` without the keys ``nova_object.changes``, which nova's database does not store."""
    if isinstance(value, dict):
        return {key: _without_changes(each) for key, each in value.items() if key != "nova_object.changes"}
    return [_without_changes(each) for each in value] if isinstance(value, list) else value


def _specs(cells: Cells) -> tuple[tuple[str, str, str], ...]:
    if cells.row.get("supported_hv_specs") is None:
        return ()
    return tuple(_spec(cells, spec) for spec in cells.items("supported_hv_specs"))


def _spec(cells: Cells, primitive: object) -> tuple[str, str, str]:
    fields = primitive.get("nova_object.data") if isinstance(primitive, dict) else None
    if not isinstance(fields, dict):
        raise SourceInconsistent(SOURCE, f"{cells.where}: {short(primitive)} in supported_hv_specs is no HVSpec")
    spec = Cells(f"{cells.where}: HVSpec", fields)
    return spec.needed_text("arch"), spec.needed_text("hv_type"), spec.needed_text("vm_mode")


def _stats(cells: Cells) -> tuple[tuple[str, str | None], ...]:
    stats = cells.mapping("stats")
    texts = Cells(f"{cells.where}: stats", stats)
    return tuple((name, texts.text(name)) for name in sorted(stats))


def _ratio(cells: Cells, name: str) -> float | None:
    value = cells.row.get(name)
    ratio = finite(value)
    if value is not None and ratio is None:
        raise cells.wrong(name, "a ratio", value)
    return ratio
