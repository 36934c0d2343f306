"""volume-group-missing: lvm2 answered, and the group does not exist or is not complete."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.model.host.storage import StorageFacts
from agent.model.snapshot import LVM
from tests.rigs.facts import (
    ROOT_UUID,
    decided,
    findings,
    group,
    inventory,
    lvm_settings,
    root,
    settings,
    snapshot,
    view,
    without,
)

CODE = "volume-group-missing"
EMPTY = snapshot(lvm=StorageFacts())
BROKEN = dataclasses.replace(group(20).groups[0], missing_pvs=2)


def test_a_missing_volume_group_is_reported():
    """If a configured volume group is missing, the finding shows its name and the option [lvm] volume_groups."""
    (found,) = findings(EMPTY, CODE, lvm_settings())
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, None, "DISK_GB")
    assert found.subject == "vg0"
    assert "[lvm] volume_groups" in found.expected
    assert found.actual == "volume group vg0 is not in lvm2's report; inventory based on the group stays unchanged"
    assert found.facts == (("volume_group", "vg0"),)
    assert found.severity is Severity.ERROR
    assert [remedy.command for remedy in found.remedies] == ["vgs", "pvs", None]


def test_a_missing_volume_group_leaves_disk_gb_unchanged():
    """If lvm2 does not show the configured volume group, the agent keeps the inventory of DISK_GB in Placement."""
    held = root(inventory("DISK_GB", 20, reserved=3))
    world = snapshot(lvm=StorageFacts(), placement=view(provider=held))
    plan = decided(world, lvm_settings()).plan
    for write in plan.writes:
        kept = [i for i in getattr(write, "inventories", ()) if i.resource_class == "DISK_GB"]
        assert kept == [inventory("DISK_GB", 20, reserved=3)]
    assert ("DISK_GB", "volume group vg0 is not in lvm2's report") in [(h.what, h.why) for h in plan.held_back]


def test_a_volume_group_that_lacks_physical_volumes_is_reported():
    (found,) = findings(snapshot(lvm=StorageFacts(groups=(BROKEN,))), CODE, lvm_settings())
    assert found.actual == "volume group vg0 lacks 2 physical volumes"


def test_with_disk_files_a_volume_group_finding_omits_disk_gb():
    """If guest disks are files, the finding about a missing LVM volume group does not show DISK_GB."""
    (found,) = findings(EMPTY, CODE, settings(volume_groups=("vg1",)))
    assert (found.subject, found.resource_class) == ("vg1", None)


QUIET = {
    "there": (snapshot(lvm=group(20)), lvm_settings()),
    "no group configured": (EMPTY, settings()),
    "a group beside the configured ones": (snapshot(lvm=StorageFacts(groups=(BROKEN,))), settings()),
    "lvm2 did not answer: that is another finding's": (without(EMPTY, LVM), lvm_settings()),
}


@pytest.mark.parametrize(("world", "chosen"), QUIET.values(), ids=QUIET.keys())
def test_a_volume_group_without_a_problem_is_not_reported(world, chosen):
    """If an LVM volume group is present or is not configured, the agent reports no problem."""
    assert findings(world, CODE, chosen) == ()
