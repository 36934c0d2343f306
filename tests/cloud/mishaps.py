"""Faults besides nova's operations: nova's known bugs, operators, archivers, other services, failing hosts.

Each mishap changes rows, Placement and the truth in one step, on an instance without a running operation.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

from tests.cloud.cloud import HOSTS, Cloud, amounts_of
from tests.cloud.operations import destroyed
from tests.cloud.placement_model import Wanted
from tests.rigs.facts import FLAVOR_A, FLAVOR_B

Mishap = Callable[[Cloud, random.Random, str], None]


def zombie(cloud: Cloud, dice: random.Random, uuid: str) -> None:
    """Another client records the instance on a host where it is not."""
    host = dice.choice([h for h in HOSTS if h != cloud.instances[uuid].host])
    _rewrite(cloud, uuid, host, dict(amounts_of(FLAVOR_A)))


def wrong_amount(cloud: Cloud, dice: random.Random, uuid: str) -> None:
    """heal_allocations --force with another flavor."""
    row = cloud.instances[uuid]
    if row.host is not None:
        _rewrite(cloud, uuid, row.host, dict(amounts_of(FLAVOR_B if row.flavor_id == 1 else FLAVOR_A)))


def missing(cloud: Cloud, dice: random.Random, uuid: str) -> None:
    """Another client deletes the allocation of a living instance."""
    cloud.release(uuid)


def deleted_without_allocation(cloud: Cloud, dice: random.Random, uuid: str) -> None:
    """A local delete of an older nova (bug 1679750): the row goes, the allocation stays, the guest may stay too."""
    if dice.random() < 0.7:
        cloud.undefine(cloud.instances[uuid].host, uuid)
    destroyed(cloud, uuid)


def hidden(cloud: Cloud, dice: random.Random, uuid: str) -> None:
    """The hidden half of a cross-cell resize: deleted, and still needed."""
    row = cloud.instances[uuid]
    if row.host is not None:
        cloud.settle(uuid)
        cloud.undefine(row.host, uuid)
        cloud.instances[uuid] = dataclasses.replace(row, deleted=True, hidden=True, deleted_at=cloud.now())


def wrong_project(cloud: Cloud, dice: random.Random, uuid: str) -> None:
    """Another client records the instance for another project."""
    found = cloud.placement.held(uuid)
    if found is not None:
        cloud.placement.put(uuid, Wanted(holdings=found.holdings, generation=found.generation, project="someone's"))


def wrong_record(cloud: Cloud, dice: random.Random, uuid: str) -> None:
    """Another client records the instance with another flavor's amounts, and for another project."""
    wrong_amount(cloud, dice, uuid)
    wrong_project(cloud, dice, uuid)


def stranger(cloud: Cloud, dice: random.Random, uuid: str) -> None:
    """A consumer without any row."""
    found = cloud.new_uuid("stranger")
    _rewrite(cloud, found, dice.choice(HOSTS), dict(amounts_of(FLAVOR_A)))
    cloud.strangers.add(found)


def other_service(cloud: Cloud, dice: random.Random, uuid: str) -> None:
    """Another service's consumer with its own type: rightful, and not nova's."""
    found, host = cloud.new_uuid("other"), dice.choice(HOSTS)
    holdings = {cloud.roots[host]: dict(amounts_of(FLAVOR_A))}
    if cloud.placement.put(found, Wanted(holdings=holdings, generation=None, kind="BAREMETAL")).ok:
        cloud.need(found, host, FLAVOR_A)


def archived(cloud: Cloud, dice: random.Random, uuid: str) -> None:
    """Deleted rows move to the shadow tables; their consumers that Placement still records have no row any more."""
    for row in [r for r in cloud.instances.values() if r.deleted and not r.hidden]:
        cloud.strangers.add(row.uuid)
        cloud.strangers |= {m.uuid for m in cloud.migrations.values() if m.instance_uuid == row.uuid and m.uuid}
        cloud.archive(row.uuid)


def reaped(cloud: Cloud, dice: random.Random, uuid: str) -> None:
    """_cleanup_running_deleted_instances: guests of deleted rows are destroyed."""
    for host in HOSTS:
        for guest in [g for g in cloud.guests[host] if g not in cloud.instances or cloud.instances[g].deleted]:
            cloud.undefine(host, guest)


MISHAPS: tuple[Mishap, ...] = (
    zombie,
    wrong_amount,
    missing,
    deleted_without_allocation,
    hidden,
    wrong_project,
    wrong_record,
    stranger,
    other_service,
    archived,
    reaped,
)


def _rewrite(cloud: Cloud, uuid: str, host: str, amounts: dict[str, int]) -> None:
    found = cloud.placement.held(uuid)
    holdings = {p: dict(held) for p, held in found.holdings.items()} if found else {}
    holdings[cloud.roots[host]] = amounts
    cloud.placement.put(uuid, Wanted(holdings=holdings, generation=found.generation if found else None))


def mended(cloud: Cloud, uuid: str) -> None:
    """Correct a stuck instance's state and its migrations as an operator would; it is then at rest where it is."""
    row = cloud.instances[uuid]
    if row.vm_state == "deleted":
        cloud.release(uuid)
        destroyed(cloud, uuid)
        return
    for move in cloud.under_way(uuid):
        cloud.save_migration(move.id, status="error")
    kept = {"active", "soft-delete"} | ({"shelved_offloaded"} if row.host is None else set())
    state = row.vm_state if row.vm_state in kept else "error"
    cloud.save(uuid, vm_state=state, task_state=None)
