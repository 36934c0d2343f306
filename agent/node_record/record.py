"""Decide what the compute node record of this host should say, and which columns must be written.

A column whose source was not read keeps its stored value, so a failed read never writes a zero. If a row has this
host's uuid but was not read in full, the agent must not create the record: nova would overwrite that row, whichever
host it belongs to.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from agent.books.occupancy import occupied
from agent.model.compared import Subject
from agent.model.host.resource_view import ResourceView
from agent.model.memo import for_equal_arguments
from agent.model.node_record import NodeRecord
from agent.model.nova import NovaState
from agent.model.occupancy import Occupied
from agent.model.plan import CreateComputeNode, HeldBack, RecordWrite, SaveComputeNode
from agent.model.settings import RatioPolicy, Role, Settings
from agent.model.snapshot import Snapshot
from agent.model.units import bytes_to_gib_floor
from agent.model.usage import Usage
from agent.node_record.nova_forms import cpu_info, pci_stats, topology_text
from agent.node_record.numa_usage import cell_usages
from agent.node_record.usage import uptime_text, usage

RECORD = "compute node record"
# What nova stores where no monitor is configured (nova/compute/resource_tracker.py:_get_host_metrics).
NO_METRICS = "[]"
NO_CONSUMERS: frozenset[str] = frozenset()

#: Columns by the record's own names; an unknown column is left out.
_Columns = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPlan:
    """The write that is due (none where the record is already right), and why a write must wait."""

    writes: tuple[RecordWrite, ...] = ()
    held_back: tuple[HeldBack, ...] = ()


def writes_records(settings: Settings, state: NovaState | None) -> bool:
    """Return whether the agent may write this host's record and can do so."""
    return settings.role is Role.OWNER and state is not None and state.kind.writes_records


def record_plan(snapshot: Snapshot, settings: Settings, subject: Subject, view: ResourceView | None) -> RecordPlan:
    """Return what to write of this host's own record, which describes ``view``.

    The plan is empty if the agent may not write the record.
    """
    state, root_uuid, node = snapshot.nova.value, subject.root_uuid, subject.node
    if state is None or root_uuid is None or node is None or not writes_records(settings, state):
        return RecordPlan()
    stored = next((record for record in state.records if record.uuid == root_uuid), None)
    why = _other_row(state, root_uuid, node, stored) or ("libvirt could not be read" if view is None else None)
    if why is not None or view is None:
        return _held_back(root_uuid, why or "")
    columns = {
        **_identity(settings, state, root_uuid, node, stored),
        **_ratios(settings, stored),
        **_host_columns(view),
        **_use_columns(snapshot, settings, state, view, stored),
    }
    return _created(root_uuid, columns, view) if stored is None else _saved(columns, stored)


def _other_row(state: NovaState, root_uuid: str, node: str, stored: NodeRecord | None) -> str | None:
    """Return the row that a new record would clash with (scenario 62) or overwrite, None if there is none."""
    for row in state.nodes:
        if row.deleted:
            continue
        if row.uuid == root_uuid and stored is None:
            return f"row {row.id} has this host's uuid, and was not read in full"
        if row.uuid != root_uuid and (row.host, row.hypervisor_hostname) == (state.host, node):
            return f"row {row.id} has this host and node, and uuid {row.uuid}"
    return None


def _identity(settings: Settings, state: NovaState, root_uuid: str, node: str, stored: NodeRecord | None) -> _Columns:
    """Return the identifying columns. Without a service the stored ``service_id`` stays (scenario 64)."""
    stored_service = stored.service_id if stored else None
    return {
        "id": stored.id if stored else None,
        "uuid": root_uuid,
        "host": settings.host,
        "hypervisor_hostname": node,
        "service_id": state.service.id if state.service else stored_service,
        "metrics": NO_METRICS,
    }


def _ratios(settings: Settings, stored: NodeRecord | None) -> _Columns:
    return {
        "cpu_ratio": _ratio(settings.cpu_ratio, stored.cpu_ratio if stored else None),
        "memory_ratio": _ratio(settings.memory_ratio, stored.memory_ratio if stored else None),
        "disk_ratio": _ratio(settings.disk_ratio, stored.disk_ratio if stored else None),
    }


def _ratio(policy: RatioPolicy, stored: float | None) -> float:
    """Return the configured ratio, else the stored one, else the initial one; 0.0 counts as unset (scenario 67)."""
    return policy.configured or stored or policy.initial


def _host_columns(view: ResourceView) -> _Columns:
    """Return the columns that describe the host, except those that are unknown now."""
    known: _Columns = {
        "vcpus": view.vcpus,
        "memory_mib": view.memory_mib,
        "local_gib": None if view.disk_total_bytes is None else bytes_to_gib_floor(view.disk_total_bytes),
        "disk_available_least_gib": view.disk_available_least_gib,
        "hypervisor_type": view.hypervisor_type,
        "hypervisor_version": view.hypervisor_version,
        "host_ip": view.host_ip,
        "cpu_info": None if view.cpu is None else _text(cpu_info(view)),
        # A driver that reports its capabilities reports its version too.
        "supported_instances": None if view.hypervisor_version is None else view.supported_instances,
    }
    return {name: value for name, value in known.items() if value is not None}


def _use_columns(
    snapshot: Snapshot,
    settings: Settings,
    state: NovaState,
    view: ResourceView,
    stored: NodeRecord | None,
) -> _Columns:
    """Return the columns of use, by the books; none while a row cannot be read: the sums would be too low."""
    # Leave out what changes by itself, so that a quiet host's guests are not counted in every audit.
    guests = dataclasses.replace(state, now=None, service=None, nodes=(), records=())
    taken = _occupied(
        guests,
        view.hypervisor_hostname,
        snapshot.placement.value.consumer_uuids if snapshot.placement.value else NO_CONSUMERS,
    )
    if taken.unknown or state.unreadable:
        return {}
    uptime = uptime_text(view, snapshot.host.taken_at)
    figures = usage(taken, view, settings, stored.stats if stored else (), uptime)
    columns: _Columns = {
        "vcpus_used": figures.vcpus_used,
        "memory_mib_used": figures.memory_mib_used,
        "free_ram_mib": figures.free_ram_mib,
        "running_vms": figures.running_vms,
        "current_workload": figures.current_workload,
        "stats": figures.stats,
    }
    pools = {} if view.pci_pools is None else {"pci_pools": _text(pci_stats(view.pci_pools))}
    return {**columns, **pools, **_disk_columns(settings, view, figures), **_numa_column(view, taken)}


def _disk_columns(settings: Settings, view: ResourceView, figures: Usage) -> _Columns:
    """Return the columns of disk use; none if the volume group was not measured, because its use is part of the sum."""
    is_measured = settings.disk_group is None or view.disk_used_bytes is not None
    if not is_measured:
        return {}
    free = {} if figures.free_disk_gib is None else {"free_disk_gib": figures.free_disk_gib}
    return {"local_gib_used": figures.local_gib_used, **free}


def _numa_column(view: ResourceView, taken: Occupied) -> _Columns:
    if view.vcpus is None or view.hypervisor_version is None:
        return {}
    if view.cells is None:
        return {"numa_topology": None}
    return {"numa_topology": topology_text(view.cells, cell_usages(view.cells, taken.occupancies))}


@for_equal_arguments
def _occupied(state: NovaState, node: str, recorded: frozenset[str]) -> Occupied:
    return occupied(state, node, recorded)


# These columns are NULL until known; the others have no value for "unknown".
_NULLABLE = ("disk_available_least_gib", "host_ip", "numa_topology", "pci_pools")
_NEEDED = (
    "vcpus",
    "local_gib",
    "hypervisor_version",
    "cpu_info",
    "supported_instances",
    "vcpus_used",
    "local_gib_used",
    "free_disk_gib",
)


def _created(root_uuid: str, columns: _Columns, view: ResourceView) -> RecordPlan:
    if missing := [name for name in _NEEDED if name not in columns]:
        because = f" ({'; '.join(view.unknown)})" if view.unknown else ""
        return _held_back(root_uuid, f"not known yet: {', '.join(missing)}{because}")
    record = NodeRecord(**{**dict.fromkeys(_NULLABLE), **columns})
    return RecordPlan(writes=(CreateComputeNode(record=record),))


def _saved(columns: _Columns, stored: NodeRecord) -> RecordPlan:
    before = {name: getattr(stored, name) for name in NodeRecord.__dataclass_fields__}
    record = NodeRecord(**{**before, **columns})
    changed = record.changes(stored)
    return RecordPlan(writes=(SaveComputeNode(record=record, changed=changed),)) if changed else RecordPlan()


def _held_back(root_uuid: str, why: str) -> RecordPlan:
    return RecordPlan(held_back=(HeldBack(provider_uuid=root_uuid, what=RECORD, why=why),))


def _text(document: object) -> str:
    return json.dumps(document, sort_keys=True)


def record_note(settings: Settings, state: NovaState | None) -> str:
    """Return one sentence for operators: who writes this host's compute node record."""
    if settings.role is not Role.OWNER:
        return f"the compute node record is not written in role {settings.role.value}"
    if state is None:
        return "the compute node record is not written while the state source is unread"
    return state.kind.record_note
