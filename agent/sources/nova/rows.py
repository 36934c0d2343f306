"""Turn rows of nova's cell database into values. Each row is parsed separately: a broken row affects no other row.

An instance's size comes from the flavor document in ``instance_extra``, never from the columns of ``instances``. If
the document cannot be read, the size is *unknown*: the agent does not count it as zero. Pure: no I/O.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from agent.errors import SourceInconsistent
from agent.model.nova import ComputeNode, Instance, Migration, NovaState, PciRow, Pulse, Service, StateKind
from agent.sources.nova.documents import (
    SOURCE,
    Cells,
    Row,
    context_from_document,
    flavors_from_document,
    numa_from_document,
    short,
)

A_MINUTE = datetime.timedelta(seconds=60)

_Parsed = TypeVar("_Parsed")
_Numbered = TypeVar("_Numbered", Migration, PciRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRows:
    """The rows of one read, as mappings of column → value. The rows are in any order, and a row may occur twice.

    - ``instances`` have the columns of ``instances`` and, from ``instance_extra``, ``extra_id`` (None if there is no
      such row), ``extra_deleted``, ``flavor``, ``numa_topology`` and ``migration_context``.
    - ``boot_disks`` are the rows of ``block_device_mapping`` with boot index 0.
    - ``pci_devices`` are the devices of the host's undeleted nodes.
    - ``now`` is the database's clock.
    - ``heartbeats`` are ``last_seen_up`` values of the cell's services, at least the newest two.
    - ``pulse_at`` is the database's time when the heartbeats were read; None if this time is ``now``.
    """

    now: object
    heartbeats: tuple[object, ...] = ()
    pulse_at: object = None
    services: tuple[Row, ...] = ()
    nodes: tuple[Row, ...] = ()
    instances: tuple[Row, ...] = ()
    boot_disks: tuple[Row, ...] = ()
    migrations: tuple[Row, ...] = ()
    finished_evacuations: tuple[Row, ...] = ()
    pci_devices: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestRows:
    """The parsed rows about instances, migrations and devices. The fields have the same meaning as in NovaState."""

    instances: tuple[Instance, ...]
    migrations: tuple[Migration, ...]
    finished_evacuations: tuple[Migration, ...]
    pci_devices: tuple[PciRow, ...]
    unreadable: tuple[str, ...]


def about_guests(rows: CellRows) -> CellRows:
    """Return only the rows that ``guests_from_rows`` reads, so that a cache can compare them with the last read.

    All other rows change with every heartbeat, so the cache would never find equal rows.
    """
    return replace(rows, now=None, heartbeats=(), pulse_at=None, services=(), nodes=())


def state_from_rows(
    host: str, rows: CellRows, guests: GuestRows | None = None, kind: StateKind = StateKind.SQL
) -> NovaState:
    """Return nova's state of ``host``; each tuple is sorted by uuid or id.

    ``guests`` has the values of the guest rows if the caller has already parsed them. Raises SourceInconsistent if the
    row of the compute node or of the service cannot be parsed, or if the database's time cannot be parsed.
    ``unreadable`` names every other broken row.
    """
    found = guests or guests_from_rows(rows)
    pulse = pulse_from(rows.now if rows.pulse_at is None else rows.pulse_at, rows.heartbeats)
    return NovaState(
        kind=kind,
        host=host,
        nodes=tuple(sorted((node_from_row(row) for row in rows.nodes), key=lambda node: node.id)),
        service=only_service(host, rows.services),
        instances=found.instances,
        migrations=found.migrations,
        finished_evacuations=found.finished_evacuations,
        pci_devices=found.pci_devices,
        now=Cells("the database", {"clock": rows.now}).moment("clock"),
        heartbeat=pulse.heartbeat,
        newest_heartbeat=pulse.newest,
        pulse_at=pulse.now,
        unreadable=found.unreadable,
    )


def pulse_from(clock: object, heartbeats: Iterable[object]) -> Pulse:
    """Return the database's time, and the heartbeat of a nova service that shows how recent the database is.

    Raises SourceInconsistent if a time cannot be parsed.
    """
    now = Cells("services", {"clock": clock}).moment("clock")
    moments = [Cells("services", {"last_seen_up": seen}).moment("last_seen_up") for seen in heartbeats]
    true = true_heartbeats(now, moments)
    return Pulse(now=now, heartbeat=decisive_heartbeat(now, true), newest=true[0] if true else None)


def true_heartbeats(
    now: datetime.datetime | None, heartbeats: Iterable[datetime.datetime | None]
) -> tuple[datetime.datetime, ...]:
    """Return the heartbeats, newest first.

    A heartbeat that is a minute or more later than ``now`` is left out, because the clock of its service is wrong.
    """
    seen = sorted((moment for moment in heartbeats if moment is not None), reverse=True)
    return tuple(moment for moment in seen if now is None or moment < now + A_MINUTE)


def decisive_heartbeat(now: datetime.datetime | None, true: tuple[datetime.datetime, ...]) -> datetime.datetime | None:
    """Return the heartbeat that proves how recent the database is; None if there is none.

    If the clock of one service is fast, the newest heartbeat makes an old copy of the database look recent. So the
    second newest heartbeat, from another service, decides. If the second newest heartbeat is at least a minute old, its
    service may be down. Then the newest heartbeat decides.
    """
    if len(true) > 1 and now is not None and now - true[1] < A_MINUTE:
        return true[1]
    return true[0] if true else None


def guests_from_rows(rows: CellRows) -> GuestRows:
    """Return instances, migrations, finished evacuations and devices, and a message for each unreadable row.

    If a migration or device is unreadable, the agent does not know what its instance uses. So the instance gets a
    ``problem``.
    """
    migrations, bad_migrations = _each(rows.migrations, migration_from_row)
    evacuations, bad_evacuations = _each(rows.finished_evacuations, migration_from_row)
    instances, bad_instances = _instances(rows.instances, disks_by_instance(rows.boot_disks))
    devices, bad_devices = _each(rows.pci_devices, pci_from_row)
    doubts = {bad.instance_uuid: bad.problem for bad in (*bad_devices, *bad_migrations) if bad.instance_uuid}
    instances = tuple(_doubted(instance, doubts.get(instance.uuid)) for instance in instances)
    problems = {bad.problem for bad in (*bad_migrations, *bad_evacuations, *bad_devices)} | set(bad_instances)
    problems |= {instance.problem for instance in instances if instance.problem}
    return GuestRows(
        instances=instances,
        migrations=migrations,
        finished_evacuations=evacuations,
        pci_devices=devices,
        unreadable=tuple(sorted(problems)),
    )


def node_from_row(row: Row) -> ComputeNode:
    """Return the compute node record in a row of ``compute_nodes``. Raises SourceInconsistent."""
    cells = Cells(f"compute_nodes id {short(row.get('id'))}", row)
    return ComputeNode(
        id=cells.needed_integer("id"),
        uuid=cells.needed_text("uuid"),
        host=cells.needed_text("host"),
        hypervisor_hostname=cells.needed_text("hypervisor_hostname"),
        deleted=cells.flag("deleted"),
        vcpus=cells.integer("vcpus") or 0,
        memory_mib=cells.integer("memory_mb") or 0,
        local_gib=cells.integer("local_gb") or 0,
    )


def service_from_row(row: Row) -> Service:
    """Return the nova-compute service in a row of ``services``. Raises SourceInconsistent."""
    cells = Cells(f"services id {short(row.get('id'))}", row)
    return Service(
        id=cells.needed_integer("id"),
        version=cells.integer("version") or 0,
        disabled=cells.flag("disabled"),
        forced_down=cells.flag("forced_down"),
        last_seen_up=cells.moment("last_seen_up"),
        created_at=cells.moment("created_at"),
    )


def migration_from_row(row: Row) -> Migration:
    """Return the migration in a row of ``migrations``. Raises SourceInconsistent.

    If ``migration_type`` is NULL (rows older than the column), different flavors mean a resize, and equal flavors mean
    a migration (nova/objects/migration.py:determine_migration_type).
    """
    cells = Cells(f"migrations id {short(row.get('id'))} uuid {short(row.get('uuid'))}", row)
    old, new = cells.integer("old_instance_type_id"), cells.integer("new_instance_type_id")
    return Migration(
        id=cells.needed_integer("id"),
        uuid=cells.text("uuid"),
        instance_uuid=cells.needed_text("instance_uuid"),
        kind=cells.text("migration_type") or ("resize" if old != new else "migration"),
        status=cells.needed_text("status"),
        source_host=cells.text("source_compute"),
        source_node=cells.text("source_node"),
        dest_host=cells.text("dest_compute"),
        dest_node=cells.text("dest_node"),
        old_type_id=old,
        new_type_id=new,
        created_at=cells.moment("created_at"),
        updated_at=cells.moment("updated_at"),
        deleted=cells.flag("deleted"),
    )


def pci_from_row(row: Row) -> PciRow:
    """Return the PCI device in a row of ``pci_devices``. Raises SourceInconsistent."""
    cells = Cells(f"pci_devices id {short(row.get('id'))} address {short(row.get('address'))}", row)
    parent = cells.text("parent_addr")
    return PciRow(
        id=cells.needed_integer("id"),
        compute_node_id=cells.needed_integer("compute_node_id"),
        address=cells.needed_text("address").lower(),
        vendor_id=cells.needed_text("vendor_id"),
        product_id=cells.needed_text("product_id"),
        kind=cells.needed_text("dev_type"),
        status=cells.needed_text("status"),
        instance_uuid=cells.text("instance_uuid"),
        numa_node=cells.integer("numa_node"),
        parent_address=parent and parent.lower(),
    )


def instance_from_row(row: Row, boot_disks: Iterable[Row]) -> Instance:
    """Return one instance. Raises SourceInconsistent if a column of ``instances`` cannot be read.

    If the flavor, the NUMA cells or the migration context cannot be parsed, ``problem`` has the reason and ``flavor``
    is None.
    """
    instance = _bare_instance(row)
    try:
        cells = _extra_cells(instance, row)
        current, old, new = flavors_from_document(cells.needed_text("flavor"), f"{cells.where}: flavor")
        context = _parsed(cells, "migration_context", context_from_document)
        return replace(
            instance,
            flavor=current,
            old_flavor=old,
            new_flavor=new,
            migration_context_id=context.migration_id if context else None,
            context=context,
            numa=_parsed(cells, "numa_topology", numa_from_document),
            boots_from_volume=_boots_from_volume(instance, row, boot_disks),
        )
    except SourceInconsistent as error:
        return replace(instance, problem=error.message)


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """An unreadable row: the problem, and the uuid of the row's instance. It is unknown what the instance uses."""

    problem: str
    instance_uuid: str | None = None


def _bare_instance(row: Row) -> Instance:
    cells = Cells(f"instances uuid {short(row.get('uuid'))}", row)
    uuid = cells.needed_text("uuid")
    return Instance(
        uuid=uuid,
        name=cells.text("display_name") or uuid,
        project_id=cells.text("project_id"),
        user_id=cells.text("user_id"),
        host=cells.text("host"),
        node=cells.text("node"),
        vm_state=cells.text("vm_state"),
        task_state=cells.text("task_state"),
        deleted=cells.flag("deleted"),
        hidden=cells.flag("hidden"),
        flavor=None,
        flavor_id=cells.integer("instance_type_id"),
        compute_id=cells.integer("compute_id"),
        os_type=cells.text("os_type"),
        power_state=cells.integer("power_state"),
        created_at=cells.moment("created_at"),
        deleted_at=cells.moment("deleted_at"),
        updated_at=cells.moment("updated_at"),
    )


def _extra_cells(instance: Instance, row: Row) -> Cells:
    cells = Cells(f"instance_extra of instance {instance.uuid}", row)
    if cells.integer("extra_id") is None:
        raise SourceInconsistent(SOURCE, f"{cells.where}: the row is missing, so the flavor is unknown")
    return cells


def _instances(
    rows: Iterable[Row], boot_disks: Mapping[str, tuple[Row, ...]]
) -> tuple[tuple[Instance, ...], tuple[str, ...]]:
    chosen: dict[str, Row] = {}
    problems: list[str] = []
    for row in rows:
        uuid = row.get("uuid")
        if not isinstance(uuid, str) or not uuid:
            problems.append(f"instances id {short(row.get('id'))}: uuid is {short(uuid)}")
        elif uuid not in chosen or _extra_rank(row) > _extra_rank(chosen[uuid]):
            chosen[uuid] = row
    return tuple(_one_instance(chosen[uuid], boot_disks.get(uuid, ())) for uuid in sorted(chosen)), tuple(problems)


def _extra_rank(row: Row) -> tuple[bool, int]:
    # The schema allows two ``instance_extra`` rows for one instance: use the undeleted row, or else the newest row.
    number = row.get("extra_id")
    return row.get("extra_deleted") == 0, number if isinstance(number, int) else -1


def _one_instance(row: Row, boot_disks: Iterable[Row]) -> Instance:
    try:
        return instance_from_row(row, boot_disks)
    except SourceInconsistent as error:
        return replace(_bare_instance({"uuid": row.get("uuid")}), problem=error.message)


def _doubted(instance: Instance, problem: str | None) -> Instance:
    if problem is None or instance.problem is not None:
        return instance
    return replace(instance, flavor=None, problem=problem)


def _each(
    rows: Iterable[Row], read: Callable[[Row], _Numbered]
) -> tuple[tuple[_Numbered, ...], tuple[_Unreadable, ...]]:
    """Return the values of the readable rows, sorted by id, and the unreadable rows."""
    found: dict[int, _Numbered] = {}
    unreadable: list[_Unreadable] = []
    for row in rows:
        try:
            value = read(row)
            found[value.id] = value
        except SourceInconsistent as error:
            uuid = row.get("instance_uuid")
            unreadable.append(_Unreadable(error.message, uuid if isinstance(uuid, str) else None))
    return tuple(found[number] for number in sorted(found)), tuple(unreadable)


def only_service(host: str, rows: tuple[Row, ...]) -> Service | None:
    """Return the service in the rows, None if the rows have no service. Raises SourceInconsistent if they have two."""
    services = {service.id: service for service in map(service_from_row, rows)}
    if len(services) > 1:
        numbers = ", ".join(short(number) for number in sorted(services))
        raise SourceInconsistent(SOURCE, f"table services has several nova-compute rows of host {host}: id {numbers}")
    return next(iter(services.values()), None)


def disks_by_instance(rows: Iterable[Row]) -> dict[str, tuple[Row, ...]]:
    """Return the rows of boot disks, grouped by the uuid of the instance."""
    disks: dict[str, tuple[Row, ...]] = {}
    for row in rows:
        uuid = row.get("instance_uuid")
        if isinstance(uuid, str):
            disks[uuid] = (*disks.get(uuid, ()), row)
    return disks


def _boots_from_volume(instance: Instance, row: Row, boot_disks: Iterable[Row]) -> bool:
    """Return whether the instance boots from a volume, by nova's rule.

    The boot disk's ``destination_type`` decides. A very old instance has no boot disk row; such an instance boots from
    a volume if it has no image.
    """
    # When nova deletes an instance, nova also marks its boot disk rows as deleted. So use deleted rows only for a
    # deleted instance.
    disks = [Cells(f"block_device_mapping id {short(disk.get('id'))}", disk) for disk in boot_disks]
    counted = [disk for disk in disks if instance.deleted or not disk.flag("deleted")]
    if not counted:
        return not Cells(f"instances uuid {instance.uuid}", row).text("image_ref")
    return min(counted, key=lambda disk: disk.needed_integer("id")).text("destination_type") == "volume"


def _parsed(cells: Cells, column: str, parse: Callable[[str, str], _Parsed]) -> _Parsed | None:
    text = cells.text(column)
    return None if text is None else parse(text, f"{cells.where}: {column}")
