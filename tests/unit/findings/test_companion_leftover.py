"""companion-leftover: consumers of the agent that no companion maintains; each role reports what it does with them."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.claim import Cause
from agent.model.finding import Severity
from agent.model.own_consumers import own_consumer_uuid
from agent.model.settings import Role
from agent.model.snapshot import FILESYSTEM, LIBVIRT, LVM, PLACEMENT, STATE
from tests.rigs.facts import (
    ROOT_UUID,
    allocations,
    consumer,
    domain,
    findings,
    group,
    host,
    lvm_settings,
    settings,
    snapshot,
    uuid,
    view,
    volume,
    without,
)

CODE = "companion-leftover"
VOLUMES = own_consumer_uuid(ROOT_UUID, Cause.FOREIGN_VOLUME)
HELD = view(allocations(VOLUMES, DISK_GB=3))
OBSERVER, COMPANION = lvm_settings(role=Role.OBSERVER), lvm_settings(role=Role.COMPANION)
GONE = snapshot(placement=HELD)
THERE = snapshot(placement=HELD, lvm=group(6, volume("by-hand", 3)))


def test_an_allocation_left_from_an_earlier_role_is_reported():
    """With [agent] role = owner, the agent reports an allocation that it made in an earlier role."""
    for world in (GONE, THERE):
        (found,) = findings(world, CODE, lvm_settings())
        assert (found.provider_uuid, found.consumer_uuid) == (ROOT_UUID, VOLUMES)
        why = (
            "with [agent] role = owner, foreign-volume usage is counted in the inventory's reserved amount, not as an "
            "allocation"
        )
        assert found.expected == f"STOCKTAKE_UNMANAGED {VOLUMES} has no allocations, because {why}"
        assert found.actual == "Placement records 3 GiB of DISK_GB"
        assert "stocktake heal" not in found.remedy
        assert found.severity is Severity.WARNING
        assert found.rests_on_recorded


def test_an_allocation_for_a_deleted_volume_is_reported():
    """With [agent] role = observer, the agent reports an allocation for an LVM volume that no longer exists."""
    (found,) = findings(GONE, CODE, OBSERVER)
    assert "this host has no usage of the kind foreign-volume" in found.expected


def recorded(name, consumer_type):
    record = dataclasses.replace(consumer(name, here={"DISK_GB": 3}), consumer_type=consumer_type)
    return snapshot(placement=view(allocations(uuid(name), DISK_GB=3), consumers=(record,)))


@pytest.mark.parametrize("role", Role)
def test_an_allocation_made_under_an_old_host_uuid_is_reported(role):
    """An agent beside nova-compute made an allocation, and its host then got another UUID.

    The allocation is reported.
    """
    (found,) = findings(recorded("old", "STOCKTAKE_UNMANAGED"), CODE, settings(role=role))
    assert found.consumer_uuid == uuid("old")
    assert f"allocation delete {uuid('old')}" in found.remedy
    assert "stocktake heal" not in found.remedy
    assert findings(recorded("old", "STOCKTAKE_UNMANAGED"), "consumer-unknown", settings(role=role)) == ()


QUIET = {
    "an observer beside a companion whose cause is there": (THERE, OBSERVER),
    "a companion keeps its own right by itself": (GONE, COMPANION),
    "its cause is there": (THERE, COMPANION),
    "another service's consumer": (recorded("arq", "CYBORG_ARQ"), OBSERVER),
    "an instance's": (recorded("i1", None), OBSERVER),
    "placement not read": (without(GONE, PLACEMENT), lvm_settings()),
    **{f"{lost} not read": (without(GONE, lost), OBSERVER) for lost in (STATE, LIBVIRT, LVM, FILESYSTEM)},
    "another cause's guest alone": (
        snapshot(
            placement=view(allocations(own_consumer_uuid(ROOT_UUID, Cause.FOREIGN_GUEST), VCPU=1)),
            libvirt=host(domain("stranger")),
        ),
        OBSERVER,
    ),
}


@pytest.mark.parametrize(("world", "chosen"), QUIET.values(), ids=QUIET.keys())
def test_a_needed_or_foreign_allocation_is_not_reported(world, chosen):
    """The agent does not report an allocation that it still needs or that another service made."""
    assert findings(world, CODE, chosen) == ()
