"""Plant faults in a practice cloud, as programs and people cause them in real clouds. A trainee repairs the faults.

Each fault is repaired with commands that the finding prints and that run in the demo: ``stocktake heal``, lvm2's
commands, a statement for the cell database, or the removal of a folder.
"""

from __future__ import annotations

import dataclasses
import datetime
import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import sqlalchemy

from agent.demo import cast, cell
from agent.demo.cast import SMALL, Guest, HostCast
from agent.demo.cloud import DemoCloud, allocate, amounts, instance_row, node_row, placement_answer
from agent.model.nova import Migration
from agent.model.units import GIB, MIB

_FOREIGN = ("old-db-copy", "scratch", "iso-store", "restore-test", "images-moved", "tmp-export")
_GONE = ("loadtest", "trial", "staging", "canary", "demo", "sandbox")
_OLD_NAMES = ("{host}.old.example.org", "{host}.localdomain", "new-{host}", "{host}.lab")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where a fault is planted: the cloud, its open database, and guests that no other fault touches.

    ``here`` is the host with the fault, and ``there`` is the other host. ``guest`` runs on ``here``, and ``away`` runs
    on ``there``. ``number`` is different for each fault.
    """

    cloud: DemoCloud
    connection: sqlalchemy.Connection
    draw: random.Random
    now: datetime.datetime
    here: HostCast
    there: HostCast
    guest: Guest
    away: Guest
    number: int

    def hours_ago(self) -> datetime.datetime:
        """Return a moment between two hours and ten days ago."""
        return self.now - datetime.timedelta(minutes=self.draw.randint(120, 14_400))

    def uuid(self) -> str:
        """Return a uuid that nothing in the cloud has."""
        return str(uuid.UUID(int=self.draw.getrandbits(128), version=4))


def plant(cloud: DemoCloud, count: int, draw: random.Random) -> tuple[str, ...]:
    """Plant ``count`` faults with different codes on the first host; return the codes of their findings."""
    chosen = draw.sample(sorted(FAULTS), count)
    here, there = cloud.hosts
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None, microsecond=0)
    with cell.writing(cloud.cell_file) as connection:
        for number, code in enumerate(chosen):
            ground = Ground(
                cloud=cloud,
                connection=connection,
                draw=draw,
                now=now,
                here=here,
                there=there,
                guest=here.guests[number],
                away=there.guests[number % len(there.guests)],
                number=number,
            )
            FAULTS[code](ground)
    return tuple(chosen)


def _leaked(ground: Ground) -> None:
    """An instance is deleted, but its allocation stays: the delete failed between nova and Placement."""
    allocate(ground.cloud, _deleted(ground).uuid, {ground.here.root_uuid: amounts(Guest(name="", flavor=SMALL))})


def _stale_move(ground: Ground) -> None:
    """An instance has moved away, but its allocation here stays."""
    at, guest = ground.hours_ago(), ground.away
    kind, status = ground.draw.choice((("evacuation", "done"), ("live-migration", "completed")))
    move = Migration(
        id=ground.draw.randint(100, 9_999),
        uuid=ground.uuid(),
        instance_uuid=guest.uuid,
        kind=kind,
        status=status,
        source_host=ground.here.name,
        source_node=ground.here.name,
        dest_host=ground.there.name,
        dest_node=ground.there.name,
        old_type_id=guest.flavor.id,
        new_type_id=guest.flavor.id,
        created_at=at,
        updated_at=at,
    )
    cell.add_migration(ground.connection, move)
    _record(ground.cloud, guest, {each.root_uuid: amounts(guest) for each in (ground.here, ground.there)})


def _missing(ground: Ground) -> None:
    """An operator removed the allocation of an instance that runs here."""
    _record(ground.cloud, ground.guest, {})


def _differs(ground: Ground) -> None:
    """Placement records fewer VCPU and less memory than the flavor has: a resize was only half recorded."""
    held = amounts(ground.guest)
    _record(ground.cloud, ground.guest, {ground.here.root_uuid: held | {"VCPU": max(1, held["VCPU"] // 2)}})


def _wrong_project(ground: Ground) -> None:
    """Placement records the allocation for another project than the instance's."""
    here = {ground.here.root_uuid: amounts(ground.guest)}
    _record(ground.cloud, ground.guest, here, project=ground.uuid())


def _on_both_hosts(ground: Ground) -> None:
    """An instance that runs here also has an allocation on the other host: a move there failed and was not undone."""
    both = {each.root_uuid: amounts(ground.guest) for each in (ground.here, ground.there)}
    _record(ground.cloud, ground.guest, both)


def _foreign_volume(ground: Ground) -> None:
    """An operator created a logical volume in the group of the guests' disks."""
    _add_volume(ground, ground.draw.choice(_FOREIGN), ground.draw.randint(8, 90) * GIB)


def _orphaned_volume(ground: Ground) -> None:
    """The disk of a deleted instance stayed."""
    _add_volume(ground, f"{_deleted(ground).uuid}_disk", ground.draw.choice((20, 40, 80)) * GIB)


def _old_node(ground: Ground) -> None:
    """The host had another name once, and the compute node row of that name stayed."""
    name = ground.draw.choice(_OLD_NAMES).format(host=ground.here.name)
    number = ground.draw.randint(10, 99)
    cell.add_compute_node(ground.connection, node_row(number, ground.uuid(), ground.here, name))


def _left_folder(ground: Ground) -> None:
    """The folder of a deleted instance stayed below instances_path."""
    folder = ground.cloud.folder / ground.here.name / "instances" / _deleted(ground).uuid
    folder.mkdir(parents=True)
    with (folder / "disk.config").open("wb") as file:
        file.write(bytes(ground.draw.randint(1, 4) * MIB))


FAULTS: Mapping[str, Callable[[Ground], None]] = {
    "allocation-differs": _differs,
    "allocation-leaked": _leaked,
    "allocation-missing": _missing,
    "allocation-stale-move": _stale_move,
    "compute-node-orphaned": _old_node,
    "consumer-on-several-providers": _on_both_hosts,
    "consumer-project-differs": _wrong_project,
    "image-leftover": _left_folder,
    "volume-foreign": _foreign_volume,
    "volume-orphaned": _orphaned_volume,
}


def _deleted(ground: Ground) -> Guest:
    """Add the row of an instance that was deleted on this host; return the instance."""
    gone = Guest(name=f"{ground.draw.choice(_GONE)}-{10 * ground.number + ground.draw.randint(10, 19)}", flavor=SMALL)
    row = dataclasses.replace(
        instance_row(gone, ground.here.name), vm_state="deleted", deleted=True, deleted_at=ground.hours_ago()
    )
    cell.add_instance(ground.connection, row)
    return gone


def _add_volume(ground: Ground, name: str, size_bytes: int) -> None:
    (group,) = (each for each in ground.cloud.groups if each.name == ground.here.group)
    group.add_volume(name, size_bytes)


def _record(
    cloud: DemoCloud, guest: Guest, holdings: Mapping[str, Mapping[str, int]], project: str = cast.PROJECT
) -> None:
    """Replace all allocations of the guest, which has some already."""
    before = placement_answer(cloud, "GET", f"/allocations/{guest.uuid}", None)
    body = {
        "allocations": {provider: {"resources": dict(held)} for provider, held in holdings.items()},
        "project_id": project,
        "user_id": cast.USER,
        "consumer_generation": before["consumer_generation"],
    }
    placement_answer(cloud, "PUT", f"/allocations/{guest.uuid}", body)
