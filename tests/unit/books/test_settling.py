"""What a row with the verdict settling waits for: the agent names nova's move, task or build."""

import datetime

import pytest

from agent.model.report import Verdict
from agent.model.snapshot import STATE
from tests.rigs.facts import (
    HOST,
    NODE,
    NOW,
    allocations,
    decided,
    instance,
    migration,
    settled_world,
    snapshot,
    state,
    uuid,
    view,
    without,
)

HERE = {"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1}


def world(nova):
    return snapshot(**settled_world(nova=nova, placement=view(allocations(uuid("i1"), **HERE))))


def reasons(nova):
    rows = decided(world(nova)).ledger
    return {(row.verdict, row.settling) for row in rows if row.consumer_uuid == uuid("i1")}


MOVE_OUT = migration(kind="live-migration", status="running", dest_host="cmp2")
MOVE_IN = migration(source_host="cmp3", source_node="cmp3", dest_host=HOST, dest_node=NODE, status="migrating")
UNKNOWN = migration(dest_host=None, dest_node=None, status="queued")


@pytest.mark.parametrize(
    ("nova", "reason"),
    [
        (
            state(instance(task_state="migrating"), migrations=(MOVE_OUT,)),
            "live-migration to cmp2 has status running",
        ),
        (
            state(instance(host="cmp3", node="cmp3", task_state="resize_migrating"), migrations=(MOVE_IN,)),
            "resize from cmp3 has status migrating",
        ),
        (
            state(instance(task_state="resize_prep"), migrations=(UNKNOWN,)),
            "resize to a host that nova has not chosen yet has status queued",
        ),
        (state(instance(task_state="image_uploading")), "the instance has task_state image_uploading"),
        (state(instance(vm_state="building")), "the instance has vm_state building"),
        (
            state(instance(host="cmp2", node="cmp2", updated_at=NOW), now=NOW),
            "nova changed the database row less than 10 s before the agent read the row",
        ),
    ],
    ids=["move away", "move to here", "no host yet", "task", "build", "just changed"],
)
def test_an_instance_row_shows_the_unfinished_operation(nova, reason):
    """Nova still moves or builds an instance.

    The agent says so in its row, such as "live-migration to cmp2 has status running".
    """
    assert reasons(nova) == {(Verdict.SETTLING, reason)}


def test_a_correct_instance_shows_no_unfinished_operation():
    """The ledger row of an instance with a correct allocation shows no unfinished operation of nova."""
    long_ago = NOW - datetime.timedelta(hours=1)
    assert reasons(state(instance(updated_at=long_ago), now=NOW)) == {(Verdict.AGREED, "")}


def test_the_field_settling_is_empty_if_nova_is_unread():
    """A row's field `settling` shows an unfinished operation of nova. Without nova's data the field is empty."""
    rows = decided(without(world(state(instance(task_state="migrating"))), STATE)).ledger
    assert {row.settling for row in rows} == {""}
