"""Create a cell database with nova's tables, and write rows as nova writes them.

Only the demo and the tests use this module: an agent never writes to a cell database. The tables come from
``cell_schema.json``, which ``tools/make_cell_schema.py`` creates with nova's own migrations. The functions take the
same types that the agent's reader of nova's database returns, so a test can compare written and read values with
``==``.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import importlib.resources
import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import Connection, Engine, MetaData, Table, types

from agent.model.nova import ComputeNode, Flavor, Instance, InstanceCell, Migration, PciRow, Service

# An index covers only the first 100 characters of a wide column, because MariaDB rejects an index over more than 3,072
# bytes. nova's own migrations set such prefix lengths too. But cell_schema.json comes from SQLite, which has no prefix
# lengths, so this module sets them.
INDEX_PREFIX = 100
# The demo's cell has one row for a nova-conductor, whose heartbeat shows that the cell database is current. HEART_ID is
# the id of this row in ``services``; it must differ from the ids of all other services.
HEART_HOST = "cell-conductor"
HEART_ID = 900_000
# The version in the row with HEART_ID. The version belongs to the same nova release as the database schema.
HEART_VERSION = 74


# The file that describes nova's tables. Tests with another nova release replace SCHEMA and HEART_VERSION.
SCHEMA: Traversable = importlib.resources.files(__package__).joinpath("cell_schema.json")


@functools.cache
def tables() -> MetaData:
    """Return the tables of the schema file, for any SQL dialect."""
    metadata = MetaData()
    schema = json.loads(SCHEMA.read_text())
    for name, table in schema["tables"].items():
        columns = [_column(column, table["primary_key"]) for column in table["columns"]]
        uniques = [sqlalchemy.UniqueConstraint(*names) for names in table["unique"]]
        made = Table(name, metadata, *columns, *uniques)
        for index in table["indexes"]:
            _index(made, index)
    return metadata


@contextlib.contextmanager
def writing(file: Path) -> Iterator[Connection]:
    """Open the cell database in this SQLite file to change rows; commit at the end of the block."""
    engine = sqlalchemy.create_engine(f"sqlite:///{file}")
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def create_tables(engine: Engine) -> None:
    """Create every table in an empty database."""
    tables().create_all(engine)


def add_service(
    connection: Connection, host: str, service: Service, binary: str = "nova-compute", topic: str = "compute"
) -> None:
    """Add the row that a service writes into the table ``services`` when the service registers itself."""
    _insert(
        connection,
        "services",
        id=service.id,
        host=host,
        binary=binary,
        topic=topic,
        report_count=1,
        version=service.version,
        disabled=service.disabled,
        forced_down=service.forced_down,
        last_seen_up=service.last_seen_up,
        created_at=service.created_at,
        deleted=0,
    )


def add_heartbeat(connection: Connection) -> None:
    """Add a nova-conductor whose heartbeat is now; without a recent heartbeat, the agent considers the cell stale."""
    now = sqlalchemy.text("datetime('now')" if connection.dialect.name == "sqlite" else "UTC_TIMESTAMP()")
    moment = connection.execute(sqlalchemy.select(now)).scalar()
    if isinstance(moment, str):
        moment = datetime.datetime.fromisoformat(moment)
    heart = Service(
        id=HEART_ID,
        version=HEART_VERSION,
        disabled=False,
        forced_down=False,
        last_seen_up=moment,
        created_at=moment,
    )
    add_service(connection, HEART_HOST, heart, "nova-conductor", "conductor")


def add_compute_node(connection: Connection, node: ComputeNode, service_id: int | None = None) -> None:
    """Add a compute node record."""
    _insert(
        connection,
        "compute_nodes",
        id=node.id,
        uuid=node.uuid,
        host=node.host,
        hypervisor_hostname=node.hypervisor_hostname,
        service_id=service_id,
        vcpus=node.vcpus,
        vcpus_used=0,
        memory_mb=node.memory_mib,
        memory_mb_used=0,
        local_gb=node.local_gib,
        local_gb_used=0,
        free_ram_mb=node.memory_mib,
        free_disk_gb=node.local_gib,
        hypervisor_type="QEMU",
        hypervisor_version=9000000,
        cpu_info="{}",
        stats="{}",
        mapped=1,
        deleted=node.id if node.deleted else 0,
    )


def add_instance(connection: Connection, instance: Instance) -> None:
    """Add an instance, its row in ``instance_extra`` and its boot disk. If ``flavor`` is None, it is stored as NULL."""
    number, extra_number = _next_id(connection, "instances"), _next_id(connection, "instance_extra")
    _insert(
        connection,
        "instances",
        id=number,
        uuid=instance.uuid,
        display_name=instance.name,
        project_id=instance.project_id,
        user_id=instance.user_id,
        host=instance.host,
        node=instance.node,
        vm_state=instance.vm_state,
        task_state=instance.task_state,
        hidden=instance.hidden,
        instance_type_id=instance.flavor_id,
        compute_id=instance.compute_id,
        os_type=instance.os_type,
        power_state=instance.power_state,
        created_at=instance.created_at,
        image_ref="" if instance.boots_from_volume else "b9b8e5a6-0d4f-4f0c-9a53-6f3f2a3c0f10",
        updated_at=instance.updated_at,
        deleted_at=instance.deleted_at,
        deleted=number if instance.deleted else 0,
    )
    _insert(
        connection,
        "instance_extra",
        id=extra_number,
        instance_uuid=instance.uuid,
        flavor=None if instance.flavor is None else flavor_document(instance),
        numa_topology=None if instance.numa is None else json.dumps(numa_primitive(instance.numa)),
        migration_context=migration_context_document(instance),
        deleted=extra_number if instance.deleted else 0,
    )
    add_boot_disk(connection, instance.uuid, "volume" if instance.boots_from_volume else "local")


def add_boot_disk(connection: Connection, instance_uuid: str, destination_type: str) -> None:
    """Add the boot disk; ``destination_type`` is ``volume`` if the instance boots from a volume, else ``local``."""
    _insert(
        connection,
        "block_device_mapping",
        id=_next_id(connection, "block_device_mapping"),
        instance_uuid=instance_uuid,
        boot_index=0,
        source_type="volume" if destination_type == "volume" else "image",
        destination_type=destination_type,
        device_name="/dev/vda",
        deleted=0,
    )


def add_migration(connection: Connection, migration: Migration) -> None:
    """Add a migration, which may have any status."""
    _insert(
        connection,
        "migrations",
        id=migration.id,
        uuid=migration.uuid,
        instance_uuid=migration.instance_uuid,
        migration_type=migration.kind,
        status=migration.status,
        source_compute=migration.source_host,
        source_node=migration.source_node,
        dest_compute=migration.dest_host,
        dest_node=migration.dest_node,
        old_instance_type_id=migration.old_type_id,
        new_instance_type_id=migration.new_type_id,
        created_at=migration.created_at,
        updated_at=migration.updated_at,
        hidden=False,
        deleted=0,
    )


def add_pci_device(connection: Connection, device: PciRow) -> None:
    """Add a PCI device, as nova-compute's PCI tracker stores it."""
    _insert(
        connection,
        "pci_devices",
        id=device.id,
        compute_node_id=device.compute_node_id,
        address=device.address,
        vendor_id=device.vendor_id,
        product_id=device.product_id,
        dev_type=device.kind,
        dev_id=f"pci_{device.address.replace(':', '_').replace('.', '_')}",
        label=f"label_{device.vendor_id}_{device.product_id}",
        status=device.status,
        instance_uuid=device.instance_uuid,
        numa_node=device.numa_node,
        parent_addr=device.parent_address,
        extra_info="{}",
        deleted=0,
    )


def delete_instance(connection: Connection, uuid: str, at: datetime.datetime) -> None:
    """Soft-delete an instance and its dependent rows, migrations included, as nova's instance_destroy does."""
    set_columns(connection, "instances", {"uuid": uuid}, vm_state="deleted", task_state=None)
    for name, column in (
        ("instances", "uuid"),
        ("instance_extra", "instance_uuid"),
        ("block_device_mapping", "instance_uuid"),
        ("migrations", "instance_uuid"),
    ):
        table = tables().tables[name]
        connection.execute(
            table.update()
            .where(table.c[column] == uuid, table.c.deleted == 0)
            .values(deleted=table.c.id, deleted_at=at)
        )


def set_columns(connection: Connection, table_name: str, where: Mapping[str, object], **values: object) -> None:
    """Change columns of the matching rows, for example to finish an evacuation, rename a host or corrupt a document."""
    table = tables().tables[table_name]
    matches = [table.c[name] == value for name, value in where.items()]
    connection.execute(table.update().where(*matches).values(**values))


def remove_rows(connection: Connection, table_name: str, where: Mapping[str, object]) -> None:
    """Delete the matching rows, as nova's archiving does."""
    table = tables().tables[table_name]
    connection.execute(table.delete().where(*[table.c[name] == value for name, value in where.items()]))


def flavor_document(instance: Instance) -> str:
    """Return ``instance_extra.flavor``: current, old and new flavor as nova serialises them."""
    flavors = {"cur": instance.flavor, "old": instance.old_flavor, "new": instance.new_flavor}
    return json.dumps({name: flavor and flavor_primitive(flavor) for name, flavor in flavors.items()})


def flavor_primitive(flavor: Flavor) -> dict[str, object]:
    """Return one flavor as the versioned object Flavor 1.2."""
    fields = {
        "id": flavor.id,
        "name": flavor.name,
        "memory_mb": flavor.memory_mib,
        "vcpus": flavor.vcpus,
        "root_gb": flavor.root_gib,
        "ephemeral_gb": flavor.ephemeral_gib,
        "flavorid": str(flavor.id),
        "swap": flavor.swap_mib,
        "rxtx_factor": 1.0,
        "vcpu_weight": 0,
        "disabled": False,
        "is_public": True,
        "extra_specs": dict(flavor.extra_specs),
        "description": None,
    }
    return _envelope("Flavor", "1.2", fields)


def numa_primitive(cells: Iterable[InstanceCell]) -> dict[str, object]:
    """Return the NUMA cells of an instance as the versioned object InstanceNUMATopology 1.3."""
    made = [
        _envelope(
            "InstanceNUMACell",
            "1.6",
            {
                "id": cell.id,
                "cpuset": list(cell.cpuset),
                "pcpuset": list(cell.pcpuset),
                "cpuset_reserved": list(cell.reserved_cpus) or None,
                "memory": cell.memory_mib,
                "pagesize": cell.page_kib,
                "cpu_pinning_raw": {str(guest): host for guest, host in cell.pinning} or None,
                "cpu_policy": cell.cpu_policy,
                "cpu_thread_policy": cell.thread_policy,
            },
        )
        for cell in cells
    ]
    return _envelope("InstanceNUMATopology", "1.3", {"cells": made})


def migration_context_document(instance: Instance) -> str | None:
    """Return ``instance_extra.migration_context``, or None (NULL) if the instance has no migration context."""
    context = instance.context
    if context is None:
        return None
    fields: dict[str, object] = {
        "instance_uuid": instance.uuid,
        "migration_id": context.migration_id,
        "old_numa_topology": None if context.old_numa is None else numa_primitive(context.old_numa),
        "new_numa_topology": None if context.new_numa is None else numa_primitive(context.new_numa),
        "old_pci_devices": _device_list(context.old_pci),
        "new_pci_devices": _device_list(context.new_pci),
    }
    return json.dumps(_envelope("MigrationContext", "1.2", fields))


def _device_list(addresses: Iterable[str]) -> dict[str, object] | None:
    devices = [_envelope("PciDevice", "1.7", {"address": address}) for address in addresses]
    return _envelope("PciDeviceList", "1.3", {"objects": devices}) if devices else None


def _envelope(name: str, version: str, fields: dict[str, object]) -> dict[str, object]:
    return {
        "nova_object.name": name,
        "nova_object.namespace": "nova",
        "nova_object.version": version,
        "nova_object.data": fields,
    }


def _insert(connection: Connection, table_name: str, **values: object) -> None:
    connection.execute(tables().tables[table_name].insert().values(**values))


def _next_id(connection: Connection, table_name: str) -> int:
    newest = connection.execute(sqlalchemy.select(sqlalchemy.func.max(tables().tables[table_name].c.id))).scalar()
    return (newest or 0) + 1


def _column(column: Mapping[str, Any], primary_key: list[str]) -> sqlalchemy.Column[Any]:
    kinds: dict[str, types.TypeEngine[Any]] = {
        "string": types.String(column["length"]),
        "text": types.Text(),
        "integer": types.Integer(),
        "big_integer": types.BigInteger(),
        "boolean": types.Boolean(),
        "datetime": types.DateTime(),
        "float": types.Float(),
    }
    name = column["name"]
    return sqlalchemy.Column(name, kinds[column["type"]], nullable=column["nullable"], primary_key=name in primary_key)


def _index(table: Table, index: Mapping[str, Any]) -> None:
    columns = index["columns"]
    wide = {name: INDEX_PREFIX for name in columns if (getattr(table.c[name].type, "length", None) or 0) > INDEX_PREFIX}
    sqlalchemy.Index(index["name"], *(table.c[name] for name in columns), unique=index["unique"], mysql_length=wide)
