"""Decide what the compute node record of this host should say, and which columns must be written.

A column whose source was not read keeps its stored value, so a failed read never causes the agent to write a zero.
While an undeleted row has this host's uuid, the agent creates no record: nova would overwrite the row, even the row of
another host.
"""

from __future__ import annotations

import json
from typing import Any

from agent.model.compared import Subject
from agent.model.host.resource_view import ResourceView
from agent.model.node_record import NodeRecord
from agent.model.nova import NovaState
from agent.model.occupancy import Occupied
from agent.model.plan import EMPTY_PLAN, CreateComputeNode, Plan, SaveComputeNode
from agent.model.settings import RatioPolicy, Role, Settings
from agent.model.snapshot import Snapshot
from agent.model.units import bytes_to_gib_floor
from agent.model.usage import Usage
from agent.node_record.nova_forms import cpu_info, pci_stats, topology_text
from agent.node_record.usage import uptime_text, usage

RECORD = "compute node record"
# The value of column ``metrics`` if no monitor is configured (nova/compute/resource_tracker.py:_get_host_metrics).
NO_METRICS = "[]"

#: Values of the record's columns, by the field's name in NodeRecord. Unknown values are left out.
_Columns = dict[str, Any]


def writes_records(settings: Settings, state: NovaState | None) -> bool:
    """Return whether this host's record can be written.

    This needs the role owner, and a state source that can write records.
    """
    return settings.role is Role.OWNER and state is not None and state.kind.writes_records


def used_by_the_books(
    snapshot: Snapshot, settings: Settings, root_uuid: str | None, view: ResourceView | None, taken: Occupied
) -> Usage | None:
    """Return what instances use, for the compute node record and the report; None if nova or libvirt was not read."""
    state = snapshot.nova.value
    if state is None or view is None:
        return None
    stored = _stored(state, root_uuid)
    return usage(taken, view, settings, stored.stats if stored else (), uptime_text(view, snapshot.host.taken_at))


def _stored(state: NovaState, root_uuid: str | None) -> NodeRecord | None:
    return next((record for record in state.records if record.uuid == root_uuid), None)


def record_plan(
    snapshot: Snapshot, settings: Settings, subject: Subject, view: ResourceView | None, used: Usage | None
) -> Plan:
    """Return the plan to create or update this host's compute node record in nova.

    ``view`` has the host's resources, and ``used`` what instances use of them. The plan is empty if the agent may not
    write the record.
    """
    state, root_uuid, node = snapshot.nova.value, subject.root_uuid, subject.node
    if state is None or root_uuid is None or node is None or not writes_records(settings, state):
        return EMPTY_PLAN
    stored = _stored(state, root_uuid)
    why = _other_row(state, root_uuid, node, stored) or ("libvirt could not be read" if view is None else None)
    if why is not None or view is None or used is None:
        return Plan.nothing(root_uuid, RECORD, why or "")
    columns = {
        **_identity(settings, state, root_uuid, node, stored),
        "cpu_ratio": _ratio(settings.cpu_ratio, stored.cpu_ratio if stored else None),
        "memory_ratio": _ratio(settings.memory_ratio, stored.memory_ratio if stored else None),
        "disk_ratio": _ratio(settings.disk_ratio, stored.disk_ratio if stored else None),
        **_host_columns(view),
        **_use_columns(settings, state, view, used),
    }
    return _created(root_uuid, columns, view) if stored is None else _saved(columns, stored)


def _other_row(state: NovaState, root_uuid: str, node: str, stored: NodeRecord | None) -> str | None:
    """Return why the agent must not write to ``compute_nodes``, None if it may write.

    The reason is always a row that a write would duplicate or lose.
    """
    for row in state.nodes:
        if row.deleted:
            continue
        if row.uuid == root_uuid and stored is None:
            return f"compute_nodes row {row.id}, which has this provider's uuid, could not be read completely"
        if row.uuid != root_uuid and (row.host, row.hypervisor_hostname) == (state.host, node):
            return f"compute_nodes row {row.id} has this host and node name, but another uuid: {row.uuid}"
    return None


def _identity(settings: Settings, state: NovaState, root_uuid: str, node: str, stored: NodeRecord | None) -> _Columns:
    """Return the identifying columns. If nova has no service row, the stored ``service_id`` is kept (scenario 64)."""
    stored_service = stored.service_id if stored else None
    return {
        "id": stored.id if stored else None,
        "uuid": root_uuid,
        "host": settings.host,
        "hypervisor_hostname": node,
        "service_id": state.service.id if state.service else stored_service,
        "metrics": NO_METRICS,
    }


def _ratio(policy: RatioPolicy, stored: float | None) -> float:
    """Return the configured allocation ratio, else the stored one, else the initial one; 0.0 counts as unset."""
    return policy.configured or stored or policy.initial


def _host_columns(view: ResourceView) -> _Columns:
    """Return the columns that describe the host, except columns whose value is unknown now."""
    known: _Columns = {
        "vcpus": view.vcpus,
        "memory_mib": view.memory_mib,
        "local_gib": None if view.disk_total_bytes is None else bytes_to_gib_floor(view.disk_total_bytes),
        "disk_available_least_gib": view.disk_available_least_gib,
        "hypervisor_type": view.hypervisor_type,
        "hypervisor_version": view.hypervisor_version,
        "host_ip": view.host_ip,
        "cpu_info": None if view.cpu is None else _text(cpu_info(view)),
        # The supported instances come from libvirt's capabilities. If the hypervisor's version is None, these
        # capabilities are unknown (resource_view.py), so the column is left out.
        "supported_instances": None if view.hypervisor_version is None else view.supported_instances,
    }
    return {name: value for name, value in known.items() if value is not None}


def _use_columns(settings: Settings, state: NovaState, view: ResourceView, used: Usage) -> _Columns:
    """Return the usage columns; none if an instance's row could not be read, because the sums would be too low."""
    if used.unknown or state.unreadable:
        return {}
    columns: _Columns = {
        name: getattr(used, name)
        for name in ("vcpus_used", "memory_mib_used", "free_ram_mib", "running_vms", "current_workload", "stats")
    }
    # If guests' disks are in a volume group, both disk columns are computed from the measured use of the group. Without
    # this measurement, the columns are left out and keep their stored values.
    if settings.disk_group is None or view.disk_used_bytes is not None:
        columns["local_gib_used"] = used.local_gib_used
        if used.free_disk_gib is not None:
            columns["free_disk_gib"] = used.free_disk_gib
    if view.pci_pools is not None:
        columns["pci_pools"] = _text(pci_stats(view.pci_pools))
    if view.vcpus is not None and view.hypervisor_version is not None:
        columns["numa_topology"] = None if view.cells is None else topology_text(view.cells, used.cells or ())
    return columns


# In a new record, a column of _NULLABLE is NULL if its value is unknown. While a value of _NEEDED is unknown, the agent
# does not create the record.
_NULLABLE = ("disk_available_least_gib", "host_ip", "numa_topology", "pci_pools")
_NEEDED = (
    *("vcpus", "local_gib", "hypervisor_version", "cpu_info", "supported_instances"),
    *("vcpus_used", "local_gib_used", "free_disk_gib"),
)


def _created(root_uuid: str, columns: _Columns, view: ResourceView) -> Plan:
    if missing := [name for name in _NEEDED if name not in columns]:
        because = f" ({'; '.join(view.unknown)})" if view.unknown else ""
        return Plan.nothing(root_uuid, RECORD, f"these columns have no known value yet: {', '.join(missing)}{because}")
    record = NodeRecord(**{**dict.fromkeys(_NULLABLE), **columns})
    return Plan(records=(CreateComputeNode(record=record),))


def _saved(columns: _Columns, stored: NodeRecord) -> Plan:
    before = {name: getattr(stored, name) for name in NodeRecord.__dataclass_fields__}
    record = NodeRecord(**{**before, **columns})
    changed = record.changes(stored)
    return Plan(records=(SaveComputeNode(record=record, changed=changed),)) if changed else EMPTY_PLAN


def _text(document: object) -> str:
    return json.dumps(document, sort_keys=True)


def record_note(settings: Settings, state: NovaState | None) -> str:
    """Return one sentence for operators: who writes this host's compute node record."""
    if settings.role is not Role.OWNER:
        return f"the compute node record is not written in role {settings.role.value}"
    if state is None:
        return "the compute node record is not written while the cloud's state cannot be read"
    return state.kind.record_note
