"""volume-foreign: story 2 of the README, a volume made by hand beside the guests' disks."""

from __future__ import annotations

import pytest

from agent.model.finding import Severity
from agent.model.host.facts import Disk
from agent.model.host.storage import StorageFacts, Volume
from agent.model.settings import UnmanagedPolicy
from agent.model.snapshot import LIBVIRT, LVM, PLACEMENT, STATE
from agent.model.units import GIB
from tests.rigs.facts import (
    ROOT_UUID,
    decided,
    domain,
    findings,
    group,
    host,
    instance,
    lvm_settings,
    proof,
    reserves,
    settings,
    snapshot,
    state,
    uuid,
    volume,
    without,
)

CODE = "volume-foreign"
BY_HAND = volume("by-hand", 2.5)
WORLD = snapshot(lvm=group(20, BY_HAND))


@pytest.mark.parametrize("world", [WORLD, without(WORLD, PLACEMENT)], ids=["all read", "without placement"])
def test_an_unknown_volume_is_reported_with_its_size(world):
    """If an LVM volume belongs to no instance and no known service, the finding shows its name and exact size."""
    (found,) = findings(world, CODE, lvm_settings())
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, None, "DISK_GB")
    assert found.subject == "vg0/by-hand"
    assert found.actual == (
        "volume vg0/by-hand takes 2.5 GiB (2684354560 bytes, counted in DISK_GB; [lvm] foreign_volumes = reserve)"
    )
    assert found.facts == (("volume", "vg0/by-hand"), ("size_bytes", 2684354560), ("counted_in_disk_gb", True))
    assert proof(found) == [("lvm", "DISK_GB", 3)]
    assert [claim.size_bytes for claim in found.evidence] == [2684354560]
    assert found.severity is Severity.WARNING
    assert not found.rests_on_recorded
    assert found.remedy == (
        "find the volume's owner: lvs -o +lv_time,lv_tags vg0/by-hand; if the volume is not needed, remove it; "
        "warning: lvremove destroys the volume's data, and nothing brings the data back: lvremove vg0/by-hand; "
        "if the volume is needed, move it to another volume group; "
        "as long as the volume exists, the agent reserves its size; "
        "after you remove the volume, add its space to the inventory in Placement (a running agent does so itself): "
        "stocktake audit --publish; to keep the volume without this finding, add vg0/by-hand to [lvm] "
        "accepted_volumes, and reload the agent (SIGHUP): systemctl reload stocktake-agent"
    )
    assert found.headline == (
        "vg0/by-hand: this volume of 2.5 GiB on cmp1 belongs to no instance and to no known service"
    )


@pytest.mark.parametrize(
    ("policy", "told", "reserved"),
    [(UnmanagedPolicy.RESERVE, 1, 3), (UnmanagedPolicy.REPORT, 1, 0), (UnmanagedPolicy.IGNORE, 0, 0)],
    ids=["reserve", "report", "ignore"],
)
def test_an_option_decides_about_unknown_volumes(policy, told, reserved):
    """The option [lvm] foreign_volumes decides whether unknown LVM volumes are reserved, reported or ignored."""
    chosen = lvm_settings(foreign_volumes=policy)
    found = findings(WORLD, CODE, chosen)
    assert len(found) == told
    assert ["; as long as the volume exists, the agent reserves its size; " in one.remedy for one in found] == [
        reserved > 0
    ] * told
    assert reserves(decided(WORLD, chosen))["DISK_GB"] == reserved


def test_a_finding_mentions_no_reserve_if_nothing_is_reserved():
    """With [lvm] foreign_volumes = report, the agent reserves nothing, so the finding mentions no reserve."""
    (found,) = findings(WORLD, CODE, lvm_settings(foreign_volumes=UnmanagedPolicy.REPORT))
    assert found.actual == "volume vg0/by-hand takes 2.5 GiB (2684354560 bytes, counted in DISK_GB)"
    assert "reserve" not in found.remedy


@pytest.mark.parametrize(
    "chosen",
    [settings(volume_groups=("vg1",)), lvm_settings(volume_groups=("vg0", "vg1"))],
    ids=["guests' disks are files", "another group than the guests'"],
)
def test_a_volume_outside_the_guests_group_is_not_reserved(chosen):
    """An unknown LVM volume is not in the volume group of the guests' disks.

    The agent reports the volume and reserves nothing.
    """
    groups = StorageFacts(
        groups=(*group(20).groups, *group(9, name="vg1").groups), volumes=(volume("x", 1, in_group="vg1"),)
    )
    world = snapshot(lvm=groups)
    (found,) = findings(world, CODE, chosen)
    assert found.resource_class is None
    assert dict(found.facts)["counted_in_disk_gb"] is False
    assert found.actual == "volume vg1/x takes 1 GiB (1073741824 bytes, not counted in DISK_GB)"
    assert "reserve" not in found.remedy
    assert reserves(decided(world, chosen))["DISK_GB"] == 0


def thin(name, pool):
    return Volume(group="vg0", name=name, uuid=name, size_bytes=9 * GIB, extent_bytes=0, pool=pool)


USED = Disk(target="vda", kind="block", source="/dev/vg0/by-hand")
QUIET = {
    "an instance's": snapshot(nova=state(instance()), lvm=group(20, volume(f"{uuid('i1')}_disk", 1))),
    "a guest uses it": snapshot(libvirt=host(domain("i1", disks=(USED,))), lvm=group(20, BY_HAND)),
    "block storage's": snapshot(lvm=group(20, volume(f"volume-{uuid('c')}", 1))),
    "block storage's pool": snapshot(lvm=group(20, volume("vg0-pool", 5), thin("x", "vg0-pool"))),
    "an orphan": snapshot(lvm=group(20, volume(f"{uuid('i1')}_disk", 1))),
    "takes nothing of its own": snapshot(lvm=group(20, thin("x", "vg0-pool"), volume("vg0-pool", 5))),
    "an empty group": snapshot(lvm=group(20)),
    "libvirt not read: it may be a guest's": without(WORLD, LIBVIRT),
    "lvm not read": without(WORLD, LVM),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_a_volume_with_a_possible_owner_is_not_reported(world):
    """The agent reports no LVM volume as unknown if a guest or a storage service may own it."""
    assert findings(world, CODE, lvm_settings()) == ()


def test_an_unknown_volume_is_reported_without_nova_data():
    """The agent reports an unknown LVM volume even if nova's database could not be read."""
    assert len(findings(without(WORLD, STATE), CODE, lvm_settings())) == 1


@pytest.mark.parametrize(
    ("accepted", "told"), [(("vg0/by-hand",), 0), (("vg0/by-*",), 0), (("vg1/by-hand", "by-hand"), 1)]
)
def test_an_accepted_volume_is_reserved_and_not_reported(accepted, told):
    """The agent reserves the size of an LVM volume in [lvm] accepted_volumes and does not report the volume."""
    chosen = lvm_settings(accepted_volumes=accepted)
    assert len(findings(WORLD, CODE, chosen)) == told
    assert reserves(decided(WORLD, chosen))["DISK_GB"] == 3
