"""The questions that one read asks nova-conductor, each answered with rows of the cell's tables.

What a newcomer would get wrong: hidden instances are left out of a search unless it is
for hidden ones alone; a search by uuid finds deleted rows only in a context that sees
them; and one document that conductor cannot parse fails the whole list, so then each
instance is asked for by itself, and the broken one spoils nothing but itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from agent.conductor import wire
from agent.conductor.client import ConductorClient, Deleted
from agent.conductor.complaints import RemoteFailure
from agent.ports import Deadline
from agent.sources.nova.documents import Row

CHUNK = 500
EVACUATIONS = 100
ATTRIBUTES = list(wire.INSTANCE_ATTRIBUTES)


@dataclass(frozen=True, slots=True)
class Questions:
    """Asks within one deadline. Every method raises SourceUnavailable and SourceInconsistent."""

    client: ConductorClient
    deadline: Deadline

    def services(self, host: str) -> tuple[Row, ...]:
        """The live nova-compute service of a host."""
        answer = self._ask("Service", "get_by_host_and_binary", [host, "nova-compute"])
        return () if answer is None else (wire.service_row(wire.object_fields(answer, "Service")),)

    def conductors(self) -> tuple[Row, ...]:
        """The live nova-conductor services of the cell: a few rows, whose newest heartbeat is minutes old never."""
        answer = self._ask("ServiceList", "get_by_binary", ["nova-conductor"], include_disabled=True)
        return wire.rows(answer, "ServiceList", wire.service_row)

    def nodes(self, host: str) -> tuple[dict[str, object], ...]:
        """The live compute nodes of a host, as the fields of the objects: they are needed in full."""
        try:
            answer = self._ask("ComputeNodeList", "get_all_by_host", [host])
        except RemoteFailure as failure:
            if failure.kind == "ComputeHostNotFound":
                return ()
            raise
        return wire.list_fields(answer, "ComputeNodeList")

    def node_named(self, uuid: str) -> tuple[Row, ...]:
        """The compute node of that uuid, whichever host it names, deleted or not."""
        answer = self._ask("ComputeNodeList", "get_all_by_uuids", [[uuid]], deleted="yes")
        return wire.rows(answer, "ComputeNodeList", wire.node_row)

    def instances(self, host: str) -> tuple[Row, ...]:
        """The live instances of a host, whichever node they name."""
        return self._instances(lambda wanted: self._ask("InstanceList", "get_by_host", [host], expected_attrs=wanted))

    def instances_named(self, uuids: Iterable[str]) -> tuple[Row, ...]:
        """Instances by uuid, deleted and hidden ones included."""
        return tuple(row for chunk in _chunks(uuids) for row in self._instances_of(chunk))

    def migrations(self, host: str, node: str) -> tuple[Row, ...]:
        """Migrations in progress or error that leave or reach a node of a host."""
        answer = self._ask("MigrationList", "get_in_progress_and_error", [host, node])
        return wire.rows(answer, "MigrationList", wire.migration_row)

    def migrations_named(self, uuids: Iterable[str]) -> tuple[Row, ...]:
        """Migrations by uuid, whatever their status, deleted ones included."""
        return tuple(row for chunk in _chunks(uuids) for row in self._migrations({"uuid": chunk}, deleted="yes"))

    def finished_evacuations(self, host: str) -> tuple[Row, ...]:
        """The finished evacuations away from a host that changed last."""
        filters = {"source_compute": host, "migration_type": "evacuation", "status": ["done", "completed"]}
        return self._migrations(filters, sort_keys=["updated_at", "id"], sort_dirs=["desc", "desc"], limit=EVACUATIONS)

    def boot_disks(self, uuids: Iterable[str]) -> tuple[Row, ...]:
        """The boot disks of instances by uuid, deleted ones included."""
        found = (
            wire.rows(answer, "BlockDeviceMappingList", wire.boot_disk_row)
            for chunk in _chunks(uuids)
            for answer in [self._ask("BlockDeviceMappingList", "get_by_instance_uuids", [chunk], deleted="yes")]
        )
        return tuple(row for disks in found for row in disks if row["boot_index"] == 0)

    def pci_devices(self, node_id: object) -> tuple[Row, ...]:
        """The live PCI devices of a compute node."""
        answer = self._ask("PciDeviceList", "get_by_compute_node", [node_id])
        return wire.rows(answer, "PciDeviceList", wire.pci_row)

    def _instances_of(self, uuids: list[str]) -> tuple[Row, ...]:
        found = self._searched({"uuid": uuids})
        rest = sorted(set(uuids) - {str(row["uuid"]) for row in found})
        return found + self._searched({"uuid": rest, "hidden": True}) if rest else found

    def _searched(self, filters: dict[str, object]) -> tuple[Row, ...]:
        return self._instances(
            lambda wanted: self._ask("InstanceList", "get_by_filters", [filters], deleted="yes", expected_attrs=wanted)
        )

    def _instances(self, ask: Callable[[list[str]], object]) -> tuple[Row, ...]:
        try:
            return wire.rows(ask(ATTRIBUTES), "InstanceList", wire.instance_row)
        except RemoteFailure as failure:
            if failure.is_weather:
                raise
        return tuple(self._instance(fields) for fields in wire.list_fields(ask([]), "InstanceList"))

    def _instance(self, bare: dict[str, object]) -> Row:
        try:
            answer = self._ask("Instance", "get_by_uuid", [bare.get("uuid")], deleted="yes", expected_attrs=ATTRIBUTES)
        except RemoteFailure as failure:
            if failure.is_weather:
                raise
            return wire.unread_instance_row(bare, f"{failure.kind}: {failure.words}")
        return wire.instance_row(wire.object_fields(answer, "Instance"))

    def _migrations(self, filters: Mapping[str, object], deleted: Deleted = "no", **how: object) -> tuple[Row, ...]:
        answer = self._ask("MigrationList", "get_by_filters", [filters], deleted=deleted, **how)
        return wire.rows(answer, "MigrationList", wire.migration_row)

    def _ask(self, objname: str, method: str, args: list[object], deleted: Deleted = "no", **kwargs: object) -> object:
        return self.client.class_action(objname, method, args, kwargs, self.deadline, deleted=deleted)


def _chunks(uuids: Iterable[str]) -> Iterator[list[str]]:
    """A bounded list of them at a time, so that no question and no answer is without a bound."""
    ordered = sorted(uuids)
    return (ordered[start : start + CHUNK] for start in range(0, len(ordered), CHUNK))
