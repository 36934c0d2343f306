"""One cell of four hosts with every kind of row that a state source must distinguish, as model values and as rows."""

import datetime
from dataclasses import dataclass, replace

from sqlalchemy import Engine

from agent.demo import cell
from agent.model.nova import (
    ComputeNode,
    Flavor,
    Instance,
    InstanceCell,
    Migration,
    MigrationContext,
    NovaState,
    PciRow,
    Service,
    StateKind,
)

HOST = "cmp1"
NODE = "cmp1.example.org"
T0 = datetime.datetime(2026, 11, 21, 10, 0, 0)  # noqa: DTZ001 - nova's columns have no zone
SMALL = Flavor(id=1, name="m1.small", vcpus=4, memory_mib=2048, root_gib=20, ephemeral_gib=1, swap_mib=512)
LARGE = Flavor(
    id=2,
    name="m1.large",
    vcpus=8,
    memory_mib=8192,
    root_gib=80,
    ephemeral_gib=0,
    swap_mib=0,
    extra_specs=(("hw:cpu_policy", "dedicated"), ("note", "größer")),
)
FLOATING = (InstanceCell(id=0, memory_mib=2048, cpuset=(0, 1, 2, 3)),)
PINNED = (
    InstanceCell(
        id=0,
        memory_mib=4096,
        pcpuset=(0, 1, 2, 3),
        pinning=((0, 4), (1, 5), (2, 6), (3, 7)),
        reserved_cpus=(8,),
        page_kib=2048,
        cpu_policy="dedicated",
        thread_policy="isolate",
    ),
    InstanceCell(
        id=1,
        memory_mib=4096,
        cpuset=(4, 5),
        pcpuset=(6, 7),
        pinning=((6, 30), (7, 31)),
        page_kib=2048,
        cpu_policy="mixed",
    ),
)


def uuid(number: int) -> str:
    """Return a readable uuid made from a number."""
    return f"00000000-0000-4000-8000-{number:012d}"


def instance(number: int, **changes: object) -> Instance:
    """Return an ordinary running instance of HOST."""
    plain = Instance(
        uuid=uuid(number),
        name=f"vm{number}",
        project_id="p1",
        user_id="u1",
        host=HOST,
        node=NODE,
        vm_state="active",
        task_state=None,
        deleted=False,
        hidden=False,
        flavor=SMALL,
        flavor_id=1,
        updated_at=T0,
    )
    return replace(plain, **changes)


def migration(number: int, instance_uuid: str, **changes: object) -> Migration:
    """Return a cold migration away from HOST that is finished on the destination and unconfirmed."""
    plain = Migration(
        id=number,
        uuid=uuid(900 + number),
        instance_uuid=instance_uuid,
        kind="migration",
        status="finished",
        source_host=HOST,
        source_node=NODE,
        dest_host="cmp2",
        dest_node="cmp2.example.org",
        old_type_id=1,
        new_type_id=1,
        created_at=T0,
        updated_at=T0 + datetime.timedelta(minutes=number),
    )
    return replace(plain, **changes)


@dataclass(frozen=True)
class World:
    """The rows to write, and the result that a read of HOST with ``consumers`` must return."""

    expected: NovaState
    consumers: frozenset[str]
    other_instances: tuple[Instance, ...]
    other_migrations: tuple[Migration, ...]
    other_nodes: tuple[ComputeNode, ...]
    other_devices: tuple[PciRow, ...]

    def fill(self, engine: Engine) -> None:
        """Write all rows into existing tables."""
        everything = self.expected
        with engine.begin() as connection:
            assert everything.service is not None
            cell.add_service(connection, HOST, everything.service)
            cell.add_service(connection, "cmp2", replace(everything.service, id=2))
            for node in (*everything.nodes, *self.other_nodes):
                cell.add_compute_node(connection, node)
            for device in (*everything.pci_devices, *self.other_devices):
                cell.add_pci_device(connection, device)
            for each in (*everything.instances, *self.other_instances):
                cell.add_instance(connection, each)
            rows = {m.id: m for m in (*everything.migrations, *everything.finished_evacuations, *self.other_migrations)}
            for each_migration in rows.values():
                cell.add_migration(connection, each_migration)


def world() -> World:
    """Return the world that the module describes."""
    elsewhere = {"host": "cmp2", "node": "cmp2.example.org"}
    return World(
        expected=NovaState(
            kind=StateKind.SQL,
            host=HOST,
            heartbeat=T0,
            newest_heartbeat=T0,
            nodes=(_node(1, HOST, NODE), _node(3, HOST, "old-name.example.org")),
            service=Service(
                id=1, version=74, disabled=False, forced_down=False, last_seen_up=T0, created_at=T0.replace(hour=1)
            ),
            instances=(
                instance(1, compute_id=1, os_type="linux", power_state=1, created_at=T0, numa=FLOATING),
                instance(
                    2,
                    task_state="resize_migrating",
                    old_flavor=SMALL,
                    new_flavor=LARGE,
                    migration_context_id=1,
                    context=MigrationContext(
                        migration_id=1,
                        old_numa=FLOATING,
                        new_numa=PINNED,
                        old_pci=("0000:81:00.1", "0000:81:00.2"),
                        new_pci=("0000:81:00.0",),
                    ),
                    numa=FLOATING,
                ),
                instance(3, boots_from_volume=True, hidden=True, vm_state="stopped"),
                instance(4, node="old-name.example.org"),
                instance(5, **elsewhere, vm_state="resized"),  # outgoing, unconfirmed
                instance(6, **elsewhere, task_state="resize_prep"),  # incoming: migration 3
                instance(7, **elsewhere),  # evacuated from here, finished
                instance(8, deleted=True, deleted_at=T0, vm_state="deleted"),  # a deleted instance whose consumer leaks
                instance(9, **elsewhere),  # a consumer whose instance runs on another host
                instance(10, host=None, node=None, vm_state="building", task_state="scheduling"),
                instance(11, **elsewhere),  # its migration is a consumer
            ),
            migrations=(
                migration(1, uuid(2), kind="resize", status="migrating", new_type_id=2),
                migration(2, uuid(5)),
                migration(
                    3,
                    uuid(6),
                    kind="resize",
                    status="accepted",
                    source_host="cmp2",
                    source_node="cmp2.example.org",
                    dest_host=HOST,
                    dest_node=NODE,
                ),
                migration(4, uuid(1), kind="live-migration", status="error"),
                migration(7, uuid(11), status="confirmed"),
            ),
            finished_evacuations=(
                migration(5, uuid(7), kind="evacuation", status="done"),
                migration(6, uuid(7), kind="evacuation", status="completed"),
            ),
            pci_devices=(
                _device(1, 1, "0000:81:00.1", status="allocated", instance_uuid=uuid(2), kind="type-VF", numa_node=1),
                _device(2, 1, "0000:82:00.0"),
                _device(3, 3, "0000:82:00.0", status="unavailable"),
            ),
        ),
        consumers=frozenset({uuid(1), uuid(8), uuid(9), uuid(10), uuid(907), uuid(777)}),
        other_instances=(instance(20, **elsewhere), instance(21, deleted=True, deleted_at=T0)),
        other_migrations=(
            *(
                migration(30 + number, uuid(1), status=status)
                for number, status in enumerate(("confirmed", "reverted", "failed", "completed", "cancelled", "done"))
            ),
            migration(40, uuid(20), source_host="cmp2", dest_host="cmp3"),
            migration(41, uuid(20), kind="evacuation", status="done", source_host="cmp3", dest_host="cmp2"),
        ),
        other_nodes=(_node(2, "cmp2", "cmp2.example.org"), replace(_node(4, HOST, "gone"), deleted=True)),
        other_devices=(_device(4, 2, "0000:83:00.0"), _device(5, 4, "0000:83:00.0")),
    )


def _node(number: int, host: str, hostname: str) -> ComputeNode:
    return ComputeNode(
        id=number,
        uuid=uuid(100 + number),
        host=host,
        hypervisor_hostname=hostname,
        deleted=False,
        vcpus=48,
        memory_mib=131072,
        local_gib=900,
    )


def _device(number: int, node_id: int, address: str, **changes: object) -> PciRow:
    plain = PciRow(
        id=number,
        compute_node_id=node_id,
        address=address,
        vendor_id="8086",
        product_id="10ed",
        kind="type-PCI",
        status="available",
        parent_address="0000:81:00.0" if address.startswith("0000:81") else None,
    )
    return replace(plain, **changes)
