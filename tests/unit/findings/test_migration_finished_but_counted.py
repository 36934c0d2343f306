"""migration-finished-but-counted: story 1 of the README, a finished evacuation that nova-compute still counts."""

from __future__ import annotations

import pytest

from agent.model.finding import Severity
from agent.model.snapshot import PLACEMENT, STATE
from tests.rigs.facts import (
    FLAVOR_B,
    ROOT_UUID,
    allocations,
    decided,
    domain,
    findings,
    host,
    instance,
    migration,
    proof,
    snapshot,
    state,
    uuid,
    view,
    without,
)

CODE = "migration-finished-but-counted"
I1 = uuid("i1")
RECORDED = view(allocations(I1, VCPU=8, MEMORY_MB=8192))
DONE = migration(5, kind="evacuation", status="done")


def evacuated(*finished, placement=RECORDED, nova=None, libvirt=None):
    away = nova or instance(host="cmp2", node="x", flavor=FLAVOR_B)
    return snapshot(nova=state(away, finished_evacuations=finished), placement=placement, libvirt=libvirt)


WORLD = evacuated(DONE)


@pytest.mark.parametrize("status", ["done", "completed"])
def test_the_finding_shows_the_evacuation_and_the_allocation(status):
    """If an evacuated instance still has an allocation on its old host, the finding shows both."""
    (found,) = findings(evacuated(migration(5, kind="evacuation", status=status)), CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, I1, None)
    assert found.expected == f"evacuation {uuid('migration-5')} to cmp2 is {status}, so the instance uses nothing here"
    assert found.actual == "Placement still counts 8 VCPU, 8192 MiB here; the instance was evacuated to cmp2"
    assert found.facts == (("migration_uuid", uuid("migration-5")), ("migration_status", status))
    assert proof(found) == [("placement", "MEMORY_MB", 8192), ("placement", "VCPU", 8)]
    assert found.severity is Severity.ERROR
    assert found.rests_on_recorded
    assert f"allocation unset --provider {found.provider_uuid} {found.consumer_uuid}" in found.remedy


def test_an_evacuated_instance_needs_nothing_on_the_old_host():
    """The agent counts no resources for an instance that was evacuated to another host."""
    assert decided(WORLD).books.promised.claims == ()


def test_the_finding_shows_the_latest_of_two_evacuations():
    """If an instance was evacuated from this host twice, the finding shows only the later evacuation."""
    world = evacuated(migration(7, kind="evacuation", status="completed"), DONE)
    assert [dict(f.facts)["migration_uuid"] for f in findings(world, CODE)] == [uuid("migration-7")]


QUIET = {
    "nothing recorded here": evacuated(DONE, placement=view()),
    "it came back to this host": evacuated(DONE, nova=instance(), libvirt=host(domain())),
    "it is deleted: a leak, not a move": evacuated(DONE, nova=instance(host="cmp2", node="x", deleted=True)),
    "it moves again": snapshot(
        nova=state(instance(host="cmp2", node="x"), finished_evacuations=(DONE,), migrations=(migration(6),)),
        placement=RECORDED,
    ),
    "no evacuation": evacuated(),
    "another instance's": evacuated(migration(5, "i2", kind="evacuation", status="done")),
    "placement not read": without(WORLD, PLACEMENT),
    "state not read": without(WORLD, STATE),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_no_finding_if_an_evacuated_instance_came_back(world):
    """An evacuated instance is not reported if it has come back to this host."""
    assert findings(world, CODE) == ()
