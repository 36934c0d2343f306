"""migration-stuck: scenario 38; the audit reports the migration and does not write to it."""

from __future__ import annotations

import pytest

from agent.model.snapshot import STATE
from tests.rigs.facts import FLAVOR_A, FLAVOR_B, INCOMING, findings, instance, migration, snapshot, state, uuid, without

CODE = "migration-stuck"


def resizing(context):
    moving = instance(
        task_state="resize_prep",
        host="cmp2",
        node="x",
        old_flavor=FLAVOR_A,
        new_flavor=FLAVOR_B,
        migration_context_id=context,
    )
    return snapshot(nova=state(moving, migrations=(migration(1, **INCOMING),)))


def test_s38_a_stuck_migration_is_reported():
    """A migration is reported as stuck if its instance's migration context contains the id of another migration."""
    (found,) = findings(resizing(context=2), CODE)
    assert (found.consumer_uuid, found.subject) == (uuid("i1"), uuid("migration-1"))
    assert found.actual.endswith("belongs to migration 2; the agent counts no resources for this migration")
    assert uuid("i1") in found.remedy


@pytest.mark.parametrize(
    "world",
    [resizing(context=1), resizing(context=None), without(resizing(context=2), STATE)],
    ids=["its own context", "no context", "state not read"],
)
def test_a_migration_that_can_go_on_is_not_stuck(world):
    """A migration can go on if the instance's migration_context names this migration or is empty."""
    assert findings(world, CODE) == ()
