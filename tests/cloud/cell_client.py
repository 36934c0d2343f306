"""nova-conductor's answers about the model cloud's rows, for the agent's real ConductorState.

The answers have the form in which the released conductor sends them. tests/contract/state/test_light_reads.py asks the
released conductor the same questions.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agent.demo.cell import flavor_primitive
from agent.model.nova import FINISHED_MIGRATION_STATUSES, Flavor, Instance, Migration
from tests.cloud.cloud import Cloud
from tests.rigs.conductor_primitives import envelope, listed

Rows = Callable[..., Any]
NEVER = datetime.datetime(1, 1, 1)  # noqa: DTZ001 - the database's times are naive UTC
EVACUATED = ("done", "completed")
# The methods that the agent calls with a context that may see deleted rows.
SEES_DELETED = frozenset({"get_by_filters", "get_all_by_uuids", "get_by_instance_uuids"})


class CellClient:
    """A ConductorClient of the model cloud. ``interlude`` is what the cloud does before each answer."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self.interlude: Callable[[], None] = lambda: None
        self._methods: dict[tuple[str, str], Rows] = {
            ("Service", "get_by_host_and_binary"): self._service,
            ("ServiceList", "get_by_binary"): self._conductors,
            ("ComputeNodeList", "get_all_by_host"): self._nodes,
            ("ComputeNodeList", "get_all_by_uuids"): self._no_nodes,
            ("InstanceList", "get_by_host"): self._by_host,
            ("InstanceList", "get_uuids_by_host"): self._uuids,
            ("InstanceList", "get_by_filters"): self._instances,
            ("MigrationList", "get_in_progress_and_error"): self._in_progress,
            ("MigrationList", "get_by_filters"): self._migrations,
            ("BlockDeviceMappingList", "get_by_instance_uuids"): self._disks,
            ("PciDeviceList", "get_by_compute_node"): lambda _node: listed("PciDeviceList", "1.3"),
        }

    def class_action(
        self, objname: str, method: str, args: Sequence[Any], kwargs: Mapping[str, Any], _deadline: object, **how: str
    ) -> Any:
        """Answer one call."""
        self.interlude()
        seen = {"deleted": how["deleted"]} if method in SEES_DELETED else {}
        return self._methods[objname, method](*args, **kwargs, **seen)

    def _service(self, host: str, _binary: str) -> Any:
        return _service_of(1, host, self._beat())

    def _conductors(self, _binary: str, include_disabled: bool) -> Any:
        return listed("ServiceList", "1.19", *(_service_of(number, "control", self._beat()) for number in (2, 3)))

    def _beat(self) -> datetime.datetime:
        now = self._cloud.now()
        return now - datetime.timedelta(seconds=now.second % 10)

    def _nodes(self, host: str) -> Any:
        if host in self._cloud.retired:
            return listed("ComputeNodeList", "1.17")
        root, name = self._cloud.roots[host], self._cloud.node_of(host)
        fields = {"id": 1, "uuid": root, "host": host, "hypervisor_hostname": name, "deleted": False}
        return listed("ComputeNodeList", "1.17", envelope("ComputeNode", "1.19", fields))

    def _no_nodes(self, _uuids: list[str], deleted: str) -> Any:
        return listed("ComputeNodeList", "1.17")

    def _here(self, host: str) -> list[Instance]:
        return [row for row in self._cloud.instances.values() if row.host == host and not row.deleted]

    def _by_host(self, host: str, expected_attrs: list[str]) -> Any:
        return _instances(self._here(host), expected_attrs)

    def _uuids(self, host: str) -> list[str]:
        return [row.uuid for row in self._here(host)]

    def _instances(
        self, filters: Mapping[str, Any], expected_attrs: list[str], deleted: str, limit: int | None = None, **sort: Any
    ) -> Any:
        rows = [row for row in self._cloud.instances.values() if row.hidden == bool(filters.get("hidden"))]
        if "host" in filters:
            rows = [row for row in rows if row.host == filters["host"]]
        if "uuid" in filters:
            rows = [row for row in rows if row.uuid in set(filters["uuid"])]
        if deleted == "no":
            rows = [row for row in rows if not row.deleted]
        if sort:
            assert (sort["sort_keys"][0], sort["sort_dirs"][0]) == ("updated_at", "desc")
            rows.sort(key=lambda row: row.updated_at or NEVER, reverse=True)
        return _instances(rows[:limit], expected_attrs)

    def _in_progress(self, host: str, node: str) -> Any:
        ends = {(host, node)}
        return _migrations(
            row
            for row in self._cloud.migrations.values()
            if not row.deleted
            and row.status not in FINISHED_MIGRATION_STATUSES
            and ends & {(row.source_host, row.source_node), (row.dest_host, row.dest_node)}
        )

    def _migrations(self, filters: Mapping[str, Any], deleted: str, **_sort: Any) -> Any:
        if "uuid" in filters:
            assert deleted == "yes"
            return _migrations(row for row in self._cloud.migrations.values() if row.uuid in set(filters["uuid"]))
        return _migrations(
            row
            for row in self._cloud.migrations.values()
            if not row.deleted
            and row.kind == "evacuation"
            and row.source_host == filters["source_compute"]
            and row.status in EVACUATED
        )

    def _disks(self, _uuids: list[str], deleted: str) -> Any:
        return listed("BlockDeviceMappingList", "1.18")


def _text(moment: datetime.datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="seconds") + "Z"


def _service_of(number: int, host: str, seen: datetime.datetime) -> dict[str, Any]:
    fields = {
        "id": number,
        "host": host,
        "binary": "any",
        "version": 68,
        "disabled": False,
        "forced_down": False,
        "deleted": False,
        "last_seen_up": _text(seen),
        "created_at": None,
    }
    return envelope("Service", "1.22", fields)


@functools.lru_cache(maxsize=16)
def _flavor(flavor: Flavor | None) -> dict[str, object] | None:
    return flavor and flavor_primitive(flavor)


def _instances(rows: Iterable[Instance], expected_attrs: list[str]) -> Any:
    return listed("InstanceList", "2.6", *(_instance(row, is_bare=not expected_attrs) for row in rows))


def _instance(row: Instance, *, is_bare: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": 1,
        "uuid": row.uuid,
        "display_name": row.name,
        "project_id": row.project_id,
        "user_id": row.user_id,
        "host": row.host,
        "node": row.node,
        "vm_state": row.vm_state,
        "task_state": row.task_state,
        "deleted": row.deleted,
        "hidden": row.hidden,
        "instance_type_id": row.flavor_id,
        "image_ref": "image",
        "power_state": row.power_state,
        "created_at": _text(row.created_at),
        "updated_at": _text(row.updated_at),
        "deleted_at": _text(row.deleted_at),
    }
    if not is_bare:
        number = row.migration_context_id
        context = {"instance_uuid": row.uuid, "migration_id": number}
        fields |= {
            "flavor": _flavor(row.flavor),
            "old_flavor": _flavor(row.old_flavor),
            "new_flavor": _flavor(row.new_flavor),
            "numa_topology": None,
            "migration_context": None if number is None else envelope("MigrationContext", "1.2", context),
        }
    return envelope("Instance", "2.8", fields)


def _migrations(rows: Iterable[Migration]) -> Any:
    return listed("MigrationList", "1.5", *map(_migration, rows))


def _migration(row: Migration) -> dict[str, Any]:
    fields = {
        "id": row.id,
        "uuid": row.uuid,
        "instance_uuid": row.instance_uuid,
        "migration_type": row.kind,
        "status": row.status,
        "source_compute": row.source_host,
        "source_node": row.source_node,
        "dest_compute": row.dest_host,
        "dest_node": row.dest_node,
        "old_instance_type_id": row.old_type_id,
        "new_instance_type_id": row.new_type_id,
        "created_at": _text(row.created_at),
        "updated_at": _text(row.updated_at),
        "deleted": row.deleted,
    }
    return envelope("Migration", "1.8", fields)
