"""One compute node record as nova stores it: every column that nova-compute writes.

The values in ``stats`` are strings. The value of ``uptime`` changes with every read, so the comparison of records
ignores ``uptime``. JSON columns are stored as nova's text and compared as parsed documents.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields

UPTIME = "uptime"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """The columns of one record, in their own units: MiB, whole GiB and counts. Free amounts may be negative.

    ``id`` is None for a record that does not exist yet. ``cpu_info``, ``numa_topology`` and ``metrics`` are JSON text
    (None: NULL). ``pci_pools`` is the text of a PciDevicePoolList 1.1. ``supported_instances`` are (architecture,
    hypervisor, mode). ``stats`` are (name, text), sorted by name.
    """

    id: int | None
    uuid: str
    host: str
    hypervisor_hostname: str
    service_id: int | None
    vcpus: int
    memory_mib: int
    local_gib: int
    vcpus_used: int
    memory_mib_used: int
    local_gib_used: int
    free_ram_mib: int
    free_disk_gib: int
    current_workload: int
    running_vms: int
    disk_available_least_gib: int | None
    hypervisor_type: str
    hypervisor_version: int
    host_ip: str | None
    cpu_info: str
    numa_topology: str | None
    pci_pools: str | None
    supported_instances: tuple[tuple[str, str, str], ...]
    stats: tuple[tuple[str, str | None], ...]
    metrics: str | None
    cpu_ratio: float | None
    memory_ratio: float | None
    disk_ratio: float | None

    def changes(self, stored: NodeRecord) -> tuple[str, ...]:
        """Return the names of the fields that differ from ``stored``. The comparison ignores the uptime."""
        names = (field.name for field in fields(self) if field.name != "id")
        return tuple(name for name in names if _comparable(self, name) != _comparable(stored, name))


_JSON = frozenset({"cpu_info", "numa_topology", "pci_pools", "metrics"})


def _comparable(record: NodeRecord, name: str) -> object:
    value: object = getattr(record, name)
    if name == "stats" and isinstance(value, tuple):
        return tuple(pair for pair in value if pair[0] != UPTIME)
    if name in _JSON and isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
