"""Cases that the model cloud (tests/cloud) found: interrupted moves, and migration rows deleted with their instance."""

import dataclasses

import pytest

from agent.books.compare import compare
from agent.books.ledger import books, promise_of
from agent.model.report import Verdict
from tests.rigs.facts import NODE, allocations, domain, host, instance, migration, settings, snapshot, state, uuid, view

MOVE = migration(status="failed", kind="live-migration", old_type_id=1, new_type_id=1)
AMOUNTS = {"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1}
OF_THE_MOVE = allocations(MOVE.uuid, **AMOUNTS)


def verdicts(world):
    rows = compare(world, books(world, settings(), NODE), promise_of(world, NODE))
    return {row.key: row.verdict for row in rows}


@pytest.mark.parametrize("status", ["failed", "reverted", "cancelled"])
def test_a_guests_only_allocation_is_not_stale(status):
    """If a failed migration has a guest's only allocation, the agent does not call this allocation stale."""
    cut_short = dataclasses.replace(MOVE, status=status)
    found = verdicts(
        snapshot(nova=state(instance(), migrations=(cut_short,)), libvirt=host(domain()), placement=view(OF_THE_MOVE))
    )
    assert found == {uuid("i1"): Verdict.ALLOCATION_MISSING, MOVE.uuid: Verdict.UNKNOWN}


def test_a_second_allocation_of_a_failed_migration_is_stale():
    """The instance has a correct allocation, so the one that its failed live migration left behind is stale."""
    own = allocations(uuid("i1"), **AMOUNTS)
    world = snapshot(
        nova=state(instance(), migrations=(MOVE,)), libvirt=host(domain()), placement=view(own, OF_THE_MOVE)
    )
    assert verdicts(world) == {uuid("i1"): Verdict.AGREED, MOVE.uuid: Verdict.ALLOCATION_STALE_MOVE}


def test_the_allocation_of_a_failed_migration_is_stale():
    """The allocation of a failed migration is stale if the instance of the migration is on another host."""
    away = instance(host="cmp2", node="cmp2.example.org")
    world = snapshot(nova=state(away, migrations=(MOVE,)), placement=view(OF_THE_MOVE))
    assert verdicts(world) == {MOVE.uuid: Verdict.ALLOCATION_STALE_MOVE}


@pytest.mark.parametrize("status", ["pre-migrating", "migrating", "finished", "error"])
def test_an_allocation_of_a_deleted_migration_is_leaked(status):
    """Nova deletes migrations with their instance; a deleted migration's allocation counts as leaked."""
    gone = instance(deleted=True)
    row = dataclasses.replace(MOVE, status=status, deleted=True)
    world = snapshot(nova=state(gone, migrations=(row,)), placement=view(OF_THE_MOVE))
    assert verdicts(world) == {MOVE.uuid: Verdict.ALLOCATION_LEAKED}
    live = dataclasses.replace(row, deleted=False)
    world = snapshot(nova=state(gone, migrations=(live,)), placement=view(OF_THE_MOVE))
    assert verdicts(world) == {MOVE.uuid: Verdict.SETTLING}
