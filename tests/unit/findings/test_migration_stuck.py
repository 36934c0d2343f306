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


def test_s38_the_report_of_a_stuck_migration_says_that_no_resources_are_counted():
    (found,) = findings(resizing(context=2), CODE)
    assert (found.consumer_uuid, found.subject) == (uuid("i1"), uuid("migration-1"))
    assert found.actual.endswith("belongs to migration 2; the agent counts no resources for this migration")
    assert uuid("i1") in found.remedy


@pytest.mark.parametrize(
    "world",
    [resizing(context=1), resizing(context=None), without(resizing(context=2), STATE)],
    ids=["its own context", "no context", "state not read"],
)
def test_a_migration_is_not_reported_as_stuck_while_its_instance_refers_to_it(world):
    assert findings(world, CODE) == ()
