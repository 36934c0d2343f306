"""consumer-on-several-providers: story 3 of the README, zombies, as opposed to shared storage and moves."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from tests.rigs.facts import (
    HOST,
    NOW,
    ROOT_UUID,
    allocations,
    consumer,
    findings,
    instance,
    migration,
    proof,
    root,
    settled_world,
    snapshot,
    state,
    uuid,
    view,
    without,
)

CODE = "consumer-on-several-providers"
I1 = uuid("i1")
A = {"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1}
A_HERE = allocations(I1, **A)
ZOMBIE = consumer("i1", here=A, cmp2={"VCPU": 1, "MEMORY_MB": 128})


def recorded(*records, nova=None, **changes):
    placement = view(A_HERE, consumers=records, **changes)
    return snapshot(**settled_world(placement=placement, **({"nova": nova} if nova else {})))


WORLD = recorded(ZOMBIE)


@pytest.mark.parametrize("world", [WORLD, without(WORLD, LIBVIRT)], ids=["all read", "without libvirt"])
def test_an_instance_with_allocations_on_two_hosts_is_reported(world):
    """If an instance has VCPU and MEMORY_MB allocated on two hosts, the finding shows the amounts on each host."""
    (found,) = findings(world, CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, I1, None)
    assert found.expected == f"each resource class of consumer {I1} is allocated in one provider tree only"
    assert found.actual == (
        "the consumer has 1 GiB of DISK_GB, 128 MiB of MEMORY_MB, 1 VCPU allocated on this host and "
        f"128 MiB of MEMORY_MB, 1 VCPU on {uuid('cmp2')}"
    )
    assert found.facts == (("other_providers", uuid("cmp2")), ("instance_host", "cmp1"))
    assert proof(found) == [
        ("placement", "DISK_GB", 1),
        ("placement", "MEMORY_MB", 128),
        ("placement", "MEMORY_MB", 128),
        ("placement", "VCPU", 1),
        ("placement", "VCPU", 1),
    ]
    assert {claim.provider_key.name for claim in found.evidence} == {"", uuid("cmp2")}
    assert found.severity is Severity.ERROR
    assert found.rests_on_recorded
    assert found.rests_on_recorded


OTHER_SIDE = f"allocation unset --provider {uuid('cmp2')} {I1}"
THIS_SIDE = f"allocation unset --provider {ROOT_UUID} {I1}"


@pytest.mark.parametrize(
    ("nova", "there", "never"),
    [
        (state(instance()), OTHER_SIDE, THIS_SIDE),
        (state(instance(host="cmp2", node="x")), THIS_SIDE, OTHER_SIDE),
        (state(), f"find the host of the instance: openstack server show {I1}; ", "heal"),
        (state(instance(deleted=True)), f"openstack resource provider allocation delete {I1}", "unset"),
    ],
    ids=["it lives here", "it lives elsewhere", "nobody knows it", "it is deleted"],
)
def test_the_repair_keeps_the_allocation_on_the_right_host(nova, there, never):
    """If an instance has allocations on two hosts, the repair command keeps the one on the instance's host."""
    (found,) = findings(recorded(ZOMBIE, nova=nova), CODE)
    assert there in found.remedy
    assert never not in found.remedy
    assert (f"stocktake heal --finding {found.id[:8]}; " in found.remedy) == (there is THIS_SIDE)


@pytest.mark.parametrize(
    ("moves", "where"),
    [
        ((migration(status="completed", source_host="cmp2", dest_host=HOST),), "on cmp2, where the instance was"),
        ((), "on the host of the other provider, run"),
        ((migration(1, dest_host="cmp2"), migration(2, dest_host="cmp3")), "on the host of the other provider, run"),
    ],
    ids=["one earlier host", "no migration", "two earlier hosts"],
)
def test_the_finding_says_where_to_run_heal(moves, where):
    """If an instance of this host has an allocation elsewhere, the finding says where to run `stocktake heal`."""
    over = tuple(dataclasses.replace(move, status="completed") for move in moves)
    (found,) = findings(recorded(ZOMBIE, nova=state(instance(), migrations=over)), CODE)
    elsewhere = dataclasses.replace(
        found, code="allocation-stale-move", provider_uuid=uuid("cmp2"), resource_class=None, subject=""
    )
    words = next(remedy.words for remedy in found.remedies if "stocktake heal" in remedy.words)
    assert words.startswith(where)
    assert f"`stocktake heal --finding {elsewhere.id[:8]}`" in words


def test_the_finding_lists_every_other_host_with_allocations():
    """If an instance has allocations on three hosts, the finding of one host lists the two others."""
    (found,) = findings(recorded(consumer("i1", here=A, cmp2=A, cmp3=A)), CODE)
    assert dict(found.facts)["other_providers"] == ", ".join(sorted([uuid("cmp2"), uuid("cmp3")]))


def test_allocations_on_two_hosts_after_a_migration_are_reported():
    """After a completed migration, the agent reports an instance that still has allocations on two hosts."""
    nova = state(instance(), migrations=(migration(status="completed"),))
    assert len(findings(recorded(ZOMBIE, nova=nova), CODE)) == 1


CHILD = root(uuid=uuid("child"), name="child", parent_uuid=ROOT_UUID, traits=frozenset())
QUIET = {
    "all of it here": recorded(consumer("i1", here=A)),
    "a sharing provider serves another class": recorded(
        consumer("i1", here={"VCPU": 1, "MEMORY_MB": 128}, storage={"DISK_GB": 1})
    ),
    "a child of our own tree": recorded(consumer("i1", here=A, child={"VCPU": 1}), providers=(root(), CHILD)),
    "a resize is under way": recorded(
        ZOMBIE, nova=state(instance(task_state="resize_migrating"), migrations=(migration(),))
    ),
    "a resize waits for its confirmation": recorded(
        ZOMBIE, nova=state(instance(vm_state="resized", host="cmp2"), migrations=(migration(status="finished"),))
    ),
    "an evacuation to here is under way": recorded(ZOMBIE, nova=state(instance(task_state="rebuilding"))),
    "its move ended while this audit was reading": recorded(ZOMBIE, nova=state(instance(updated_at=NOW))),
    "its record was not read": recorded(),
    "placement not read": without(WORLD, PLACEMENT),
    "state not read": without(WORLD, STATE),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_allocations_on_two_hosts_are_normal_during_a_resize(world):
    """During a resize, the agent does not report an instance with allocations on two hosts."""
    assert findings(world, CODE) == ()


def test_an_unrelated_migration_does_not_prevent_the_finding():
    """An instance with allocations on two hosts is reported even while a different instance is migrating."""
    nova = state(instance(), instance("i2", task_state="migrating"), migrations=(migration(1, "i2"),))
    assert len(findings(recorded(dataclasses.replace(ZOMBIE), nova=nova), CODE)) == 1
