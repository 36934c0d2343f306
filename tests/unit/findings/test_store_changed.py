"""store-changed: DISK_GB would count another store than before."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.model.snapshot import LIBVIRT
from agent.model.units import GIB
from tests.rigs.facts import (
    INSTANCES,
    ROOT_UUID,
    decided,
    findings,
    group,
    host,
    inventory,
    lvm_settings,
    root,
    settings,
    snapshot,
    view,
)
from tests.rigs.stores import DISK, guest, mark, on_disk, on_root, store, vg_mark

CODE = "store-changed"
HELD = view(provider=root(inventory("DISK_GB", 300)))
LOST = store(snapshot(placement=HELD), on_root(251), before=mark(300))


def test_the_finding_describes_the_old_and_new_disk_storage():
    """If the guests' disk storage has changed, the finding describes the old and the new storage."""
    (found,) = findings(LOST, CODE)
    assert (found.severity, found.provider_uuid, found.resource_class) == (Severity.ERROR, ROOT_UUID, "DISK_GB")
    assert found.subject == INSTANCES
    assert "300 GiB" in found.expected
    assert (
        "folder / of file system /dev/vdb (xfs, mounted at /var/lib/nova/instances with UUID store-uuid)"
        in found.expected
    )
    assert "not the same store as before: its UUID is root-uuid, but was store-uuid" in found.actual
    assert "251 GiB" in found.actual
    assert "stocktake adopt --store" in found.remedy
    facts = dict(found.facts)
    assert (facts["size_bytes_before"], facts["size_bytes"], facts["missing_disks"]) == (300 * GIB, 251 * GIB, 0)


def test_a_changed_disk_store_stops_updates_of_disk_gb():
    """If the guests' disk storage is not the same as before, the agent keeps DISK_GB in Placement unchanged."""
    decision = decided(LOST)
    assert [i for i in decision.tree.root.inventories if i.resource_class == "DISK_GB"] == []
    (held,) = [h for h in decision.plan.held_back if h.what == "DISK_GB"]
    assert "(finding store-changed)" in held.why
    for write in decision.plan.writes:
        assert [i.total for i in getattr(write, "inventories", ()) if i.resource_class == "DISK_GB"] in ([], [300])


def test_a_missing_guest_disk_reveals_changed_disk_storage():
    """Even without saved data of the old disk storage, the agent reports a change if a guest disk is missing."""
    world = store(snapshot(placement=HELD, libvirt=host(guest())), on_root(251), before=None, missing=(DISK,))
    (found,) = findings(world, CODE)
    assert "its size is 300 GiB (Placement's total of DISK_GB)" in found.expected
    assert DISK in found.actual
    assert dict(found.facts)["first_missing_disk"] == DISK


def test_a_new_uuid_of_a_volume_group_is_reported():
    """If the LVM volume group has another UUID than before, the finding shows the old and the new UUID."""
    world = dataclasses.replace(snapshot(lvm=group(20)), store=vg_mark(20, uuid="older"))
    (found,) = findings(world, CODE, lvm_settings())
    assert (found.subject, found.resource_class) == ("vg0", "DISK_GB")
    assert "its UUID is uuid-of-vg0, but was older" in found.actual


QUIET = {
    "the same store": (store(snapshot(), on_disk(300), before=mark(300)), settings()),
    "nothing remembered, nothing in Placement": (store(snapshot(), on_disk(300), before=None), settings()),
    "another path is remembered": (store(snapshot(), on_root(251), before=mark(300, name="/srv")), settings()),
    "it was not read": (
        dataclasses.replace(snapshot(placement=HELD, lost=("filesystem",)), store=mark(300)),
        settings(),
    ),
    "DISK_GB counts Ceph": (LOST, settings(images_type="rbd", images_rbd_pool="vms")),
    "libvirt is unread, and nothing has fallen": (
        store(snapshot(lost=(LIBVIRT,)), on_disk(300), before=mark(300)),
        settings(),
    ),
}


@pytest.mark.parametrize(("world", "chosen"), QUIET.values(), ids=QUIET.keys())
def test_unchanged_or_unread_disk_storage_is_not_reported(world, chosen):
    """If disk storage is unchanged, unread or in Ceph, the agent does not report the storage as changed."""
    assert findings(world, CODE, chosen) == ()
