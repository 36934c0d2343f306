"""Read rows of a cell's database through nova-conductor. Each method makes one kind of call.

Notes on nova: one search never returns both hidden and other instances. A search by uuid finds deleted rows only if the
request context may see deleted rows. If conductor cannot parse the JSON of one instance, the call for the whole list
fails. The agent then requests each instance separately, so that a broken instance affects no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from agent.conductor import wire
from agent.conductor.client import ConductorClient, Deleted
from agent.conductor.complaints import RemoteFailure
from agent.ports import Deadline
from agent.sources.nova.documents import Row, chunks

EVACUATIONS = 100
ATTRIBUTES = list(wire.INSTANCE_ATTRIBUTES)


@dataclass(frozen=True, slots=True)
class Questions:
    """The RPC calls of one read, within one deadline. Each method may raise SourceUnavailable or SourceInconsistent."""

    client: ConductorClient
    deadline: Deadline

    def services(self, host: str) -> tuple[Row, ...]:
        """Return a host's nova-compute service, unless the service is deleted."""
        answer = self._ask("Service", "get_by_host_and_binary", [host, "nova-compute"])
        return () if answer is None else (wire.service_row(wire.object_fields(answer, "Service")),)

    def conductors(self) -> tuple[Row, ...]:
        """Return the undeleted nova-conductor services. One of them answers this call, so it has a recent heartbeat."""
        answer = self._ask("ServiceList", "get_by_binary", ["nova-conductor"], include_disabled=True)
        return wire.rows(answer, "ServiceList", wire.service_row)

    def computes(self) -> tuple[Row, ...]:
        """Return the cell's undeleted nova-compute services, disabled ones too."""
        answer = self._ask("ServiceList", "get_by_binary", ["nova-compute"], include_disabled=True)
        return wire.rows(answer, "ServiceList", wire.service_row)

    def nodes(self, host: str) -> tuple[dict[str, object], ...]:
        """Return a host's undeleted compute nodes. Each has all fields of its object, not only the database columns."""
        try:
            answer = self._ask("ComputeNodeList", "get_all_by_host", [host])
        except RemoteFailure as failure:
            if failure.kind == "ComputeHostNotFound":
                return ()
            raise
        return wire.list_fields(answer, "ComputeNodeList")

    def node_named(self, uuid: str) -> tuple[Row, ...]:
        """Return the compute node with that uuid, whichever host it belongs to, even if it is deleted."""
        answer = self._ask("ComputeNodeList", "get_all_by_uuids", [[uuid]], deleted="yes")
        return wire.rows(answer, "ComputeNodeList", wire.node_row)

    def instances(self, host: str) -> tuple[Row, ...]:
        """Return a host's instances that are not deleted, on any of the host's nodes."""
        return self._instances(lambda wanted: self._ask("InstanceList", "get_by_host", [host], expected_attrs=wanted))

    def uuids(self, host: str) -> frozenset[str]:
        """Return the uuids of a host's instances that are not deleted, hidden instances included."""
        answer = self._ask("InstanceList", "get_uuids_by_host", [host])
        return wire.uuids(answer)

    def last_changed(self, host: str) -> tuple[Row, ...]:
        """Return the host's instance that nova updated last, as a row without ``instance_extra``.

        Hidden and deleted instances are left out. An instance that was never updated is returned only if all others
        were never updated either.
        """
        newest = {"sort_keys": ["updated_at", "id"], "sort_dirs": ["desc", "desc"], "limit": 1}
        answer = self._ask("InstanceList", "get_by_filters", [{"host": host}], "no", expected_attrs=[], **newest)
        return wire.rows(answer, "InstanceList", wire.bare_instance_row)

    def bare_instances(self, uuids: Iterable[str]) -> tuple[Row, ...]:
        """Return instances by uuid, without ``instance_extra``. Deleted instances are included, hidden ones are not."""
        found = (
            wire.rows(answer, "InstanceList", wire.bare_instance_row)
            for chunk in chunks(uuids)
            for answer in [
                self._ask("InstanceList", "get_by_filters", [{"uuid": chunk}], deleted="yes", expected_attrs=[])
            ]
        )
        return tuple(row for instances in found for row in instances)

    def instances_named(self, uuids: Iterable[str]) -> tuple[Row, ...]:
        """Return instances by uuid, deleted and hidden instances included."""
        return tuple(row for chunk in chunks(uuids) for row in self._instances_of(chunk))

    def migrations(self, host: str, node: str) -> tuple[Row, ...]:
        """Return the migrations from or to the node that are in progress or in error."""
        answer = self._ask("MigrationList", "get_in_progress_and_error", [host, node])
        return wire.rows(answer, "MigrationList", wire.migration_row)

    def migrations_named(self, uuids: Iterable[str]) -> tuple[Row, ...]:
        """Return migrations by uuid, in any status, deleted migrations included."""
        return tuple(row for chunk in chunks(uuids) for row in self._migrations({"uuid": chunk}, deleted="yes"))

    def migrations_of(self, instance: str) -> tuple[Row, ...]:
        """Return all undeleted migrations of an instance, in any status.

        Each instance needs its own call, because nova's filter ``instance_uuid`` takes only one uuid.
        """
        return self._migrations({"instance_uuid": instance})

    def finished_evacuations(self, host: str) -> tuple[Row, ...]:
        """Return the finished evacuations away from a host, at most the 100 that changed most recently."""
        filters = {"source_compute": host, "migration_type": "evacuation", "status": ["done", "completed"]}
        return self._migrations(filters, sort_keys=["updated_at", "id"], sort_dirs=["desc", "desc"], limit=EVACUATIONS)

    def boot_disks(self, uuids: Iterable[str]) -> tuple[Row, ...]:
        """Return the boot disks of the instances with these uuids, deleted disks included."""
        found = (
            wire.rows(answer, "BlockDeviceMappingList", wire.boot_disk_row)
            for chunk in chunks(uuids)
            for answer in [self._ask("BlockDeviceMappingList", "get_by_instance_uuids", [chunk], deleted="yes")]
        )
        return tuple(row for disks in found for row in disks if row["boot_index"] == 0)

    def pci_devices(self, node_id: object) -> tuple[Row, ...]:
        """Return a compute node's PCI devices that are not deleted."""
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
            if failure.is_transient:
                raise
        return tuple(self._instance(fields) for fields in wire.list_fields(ask([]), "InstanceList"))

    def _instance(self, bare: dict[str, object]) -> Row:
        try:
            answer = self._ask("Instance", "get_by_uuid", [bare.get("uuid")], deleted="yes", expected_attrs=ATTRIBUTES)
        except RemoteFailure as failure:
            if failure.is_transient:
                raise
            return wire.unread_instance_row(bare, f"{failure.kind}: {failure.words}")
        return wire.instance_row(wire.object_fields(answer, "Instance"))

    def _migrations(self, filters: Mapping[str, object], deleted: Deleted = "no", **how: object) -> tuple[Row, ...]:
        answer = self._ask("MigrationList", "get_by_filters", [filters], deleted=deleted, **how)
        return wire.rows(answer, "MigrationList", wire.migration_row)

    def _ask(self, objname: str, method: str, args: list[object], deleted: Deleted = "no", **kwargs: object) -> object:
        return self.client.class_action(objname, method, args, kwargs, self.deadline, deleted=deleted)
