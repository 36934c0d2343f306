"""consumer-unknown: scenario 48; an audit reports the consumer and leaves it alone."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.model.snapshot import PLACEMENT, STATE
from tests.rigs.facts import (
    ROOT_UUID,
    allocations,
    consumer,
    domain,
    findings,
    host,
    instance,
    migration,
    proof,
    settled_world,
    snapshot,
    state,
    uuid,
    view,
    without,
)

CODE = "consumer-unknown"
I1 = uuid("i1")
HELD = allocations(I1, VCPU=2, DISK_GB=5)


def recorded(consumer_type=None):
    """Return a Placement view with the consumer's own record, of that type."""
    whole = dataclasses.replace(consumer("i1", here={"VCPU": 2, "DISK_GB": 5}), consumer_type=consumer_type)
    return view(HELD, consumers=(whole,))


RECORDED = recorded()
WORLD = snapshot(placement=RECORDED)


@pytest.mark.parametrize("consumer_type", [None, "INSTANCE", "MIGRATION"])
def test_s48_the_finding_shows_the_unknown_consumer(consumer_type):
    """If Placement has allocations of a consumer that nova does not know, the finding shows its UUID and amounts."""
    (found,) = findings(snapshot(placement=recorded(consumer_type)), CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, I1, None)
    assert found.expected == "every consumer is an instance or a migration of this cell"
    assert found.actual == f"Placement records 5 GiB of DISK_GB, 2 VCPU for {I1}, which has no row in this cell"
    assert proof(found) == [("placement", "DISK_GB", 5), ("placement", "VCPU", 2)]
    assert found.severity is Severity.WARNING
    assert found.rests_on_recorded
    assert "find who created the consumer before you remove anything" in found.remedy


QUIET = {
    "an instance of this host": snapshot(**settled_world()),
    "deleted": snapshot(nova=state(instance(deleted=True)), placement=RECORDED),
    "being built": snapshot(nova=state(instance(host=None, node=None)), placement=RECORDED),
    "a migration": snapshot(
        nova=state(migrations=(migration(),)), placement=view(allocations(uuid("migration-1"), VCPU=1))
    ),
    "a finished migration whose instance is gone": snapshot(
        nova=state(migrations=(migration(status="done"),)), placement=view(allocations(uuid("migration-1"), VCPU=1))
    ),
    "another service's, by its type": snapshot(placement=recorded("CYBORG_ARQ")),
    "one of our own type": snapshot(placement=recorded("STOCKTAKE_UNMANAGED")),
    "its record was not read, so its type is not known": snapshot(placement=view(HELD)),
    "its row is there and does not parse": snapshot(
        nova=state(unreadable=(f"migrations id 7 uuid {I1}: status is NULL",)), placement=RECORDED
    ),
    "a guest of that uuid runs here": snapshot(libvirt=host(domain()), placement=RECORDED),
    "placement not read": without(WORLD, PLACEMENT),
    "state not read": without(WORLD, STATE),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_a_consumer_that_nova_knows_is_not_reported(world):
    """A consumer in Placement is not reported as unknown if nova's database has its UUID."""
    assert findings(world, CODE) == ()
