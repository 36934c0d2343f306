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
def test_the_only_allocation_is_marked_unknown_if_a_failed_migration_has_it(status):
    """The rollback never returned the allocation: if heal removed it, the guest's room would be offered again."""
    cut_short = dataclasses.replace(MOVE, status=status)
    found = verdicts(
        snapshot(nova=state(instance(), migrations=(cut_short,)), libvirt=host(domain()), placement=view(OF_THE_MOVE))
    )
    assert found == {uuid("i1"): Verdict.ALLOCATION_MISSING, MOVE.uuid: Verdict.UNKNOWN}


def test_a_second_allocation_left_by_a_failed_migration_is_marked_as_stale():
    """The instance has an allocation that agrees with its flavor."""
    own = allocations(uuid("i1"), **AMOUNTS)
    world = snapshot(
        nova=state(instance(), migrations=(MOVE,)), libvirt=host(domain()), placement=view(own, OF_THE_MOVE)
    )
    assert verdicts(world) == {uuid("i1"): Verdict.AGREED, MOVE.uuid: Verdict.ALLOCATION_STALE_MOVE}


def test_the_allocation_of_a_failed_move_is_stale_if_the_instance_is_elsewhere():
    away = instance(host="cmp2", node="cmp2.example.org")
    world = snapshot(nova=state(away, migrations=(MOVE,)), placement=view(OF_THE_MOVE))
    assert verdicts(world) == {MOVE.uuid: Verdict.ALLOCATION_STALE_MOVE}


@pytest.mark.parametrize("status", ["pre-migrating", "migrating", "finished", "error"])
def test_the_allocation_of_a_deleted_migration_is_marked_as_leaked(status):
    """Nova soft-deletes migrations with their instance, and their status never changes after that."""
    gone = instance(deleted=True)
    row = dataclasses.replace(MOVE, status=status, deleted=True)
    world = snapshot(nova=state(gone, migrations=(row,)), placement=view(OF_THE_MOVE))
    assert verdicts(world) == {MOVE.uuid: Verdict.ALLOCATION_LEAKED}
    live = dataclasses.replace(row, deleted=False)
    world = snapshot(nova=state(gone, migrations=(live,)), placement=view(OF_THE_MOVE))
    assert verdicts(world) == {MOVE.uuid: Verdict.SETTLING}
