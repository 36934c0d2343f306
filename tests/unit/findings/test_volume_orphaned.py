"""volume-orphaned: the disk of an instance that is not here any more."""

from __future__ import annotations

import pytest

from agent.model.finding import Severity
from agent.model.host.facts import Disk
from agent.model.snapshot import LIBVIRT, LVM, STATE
from tests.rigs.facts import (
    ROOT_UUID,
    decided,
    domain,
    findings,
    group,
    host,
    instance,
    lvm_settings,
    migration,
    proof,
    reserves,
    snapshot,
    state,
    uuid,
    volume,
    without,
)

CODE = "volume-orphaned"
I1 = uuid("i1")
DISK = volume(f"{I1}_disk", 5)
WORLD = snapshot(lvm=group(20, DISK))
TOLD = {
    "no row": WORLD,
    "deleted": snapshot(nova=state(instance(deleted=True)), lvm=group(20, DISK)),
    "lives elsewhere": snapshot(nova=state(instance(host="cmp2", node="x")), lvm=group(20, DISK)),
    "its move is over": snapshot(
        nova=state(instance(host="cmp2", node="x"), migrations=(migration(status="confirmed"),)), lvm=group(20, DISK)
    ),
}


@pytest.mark.parametrize("world", TOLD.values(), ids=TOLD.keys())
def test_an_orphaned_volume_is_reported(world):
    """The finding shows an LVM volume, its size, and its instance, which is no longer on this host."""
    (found,) = findings(world, CODE, lvm_settings())
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, I1, "DISK_GB")
    assert found.subject == f"vg0/{I1}_disk"
    assert found.expected == "every volume named after an instance belongs to an instance of this host"
    assert dict(found.facts)["size_bytes"] == 5368709120
    assert proof(found) == [("lvm", "DISK_GB", 5)]
    assert found.severity is Severity.WARNING
    remove = (
        f"nothing brings the data back: lvremove {found.subject}; "
        "as long as the volume exists, the agent reserves its size; "
    )
    assert remove in found.remedy
    assert reserves(decided(world, lvm_settings()))["DISK_GB"] == 5


USED = Disk(target="vda", kind="block", source=f"/dev/vg0/{I1}_disk")
QUIET = {
    "an instance of this host": snapshot(nova=state(instance()), lvm=group(20, DISK)),
    "soft-deleted": snapshot(nova=state(instance(vm_state="soft-delete")), lvm=group(20, DISK)),
    "left, room kept for a revert": snapshot(
        nova=state(instance(host="cmp2", node="x"), migrations=(migration(status="finished"),)), lvm=group(20, DISK)
    ),
    "coming": snapshot(
        nova=state(instance(host="cmp2", node="x"), migrations=(migration(kind="evacuation"),)), lvm=group(20, DISK)
    ),
    "its guest still uses it": snapshot(libvirt=host(domain("i1", disks=(USED,))), lvm=group(20, DISK)),
    "made by hand": snapshot(lvm=group(20, volume("by-hand", 1))),
    "state not read": without(WORLD, STATE),
    "libvirt not read": without(WORLD, LIBVIRT),
    "lvm not read": without(WORLD, LVM),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_a_possibly_needed_volume_is_not_reported_as_orphaned(world):
    """The agent reports no LVM volume as orphaned if an instance may still need it."""
    assert findings(world, CODE, lvm_settings()) == ()
