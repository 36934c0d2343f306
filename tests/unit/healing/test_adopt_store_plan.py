"""adopt --store remembers the present store instead of the earlier one, or finds nothing to do."""

from __future__ import annotations

import dataclasses

from agent.healing.adopt_store_plan import store_adoption
from agent.model.adoption import StoreStep
from agent.model.settings import Role
from tests.rigs.facts import host, inventory, root, settings, snapshot, view
from tests.rigs.stores import DISK, OF_ROOT, guest, mark, on_disk, on_root, store

FILE = "/var/lib/stocktake/store.json"
HELD = view(provider=root(inventory("DISK_GB", 300)))
LOST = store(snapshot(placement=HELD, libvirt=host(guest())), on_root(251), before=mark(300), missing=(DISK,))


def test_adopt_saves_the_file_system_of_the_guest_disks():
    """`stocktake adopt --store` saves the present file system of the guest disks as the expected one."""
    plan = store_adoption(LOST, settings(), FILE)
    assert plan.steps == (StoreStep(path=FILE, before=mark(300), after=mark(251, OF_ROOT)),)
    assert "after this step, the next audit publishes DISK_GB = 251 in Placement, in place of 300" in plan.notes
    assert "guests' disks that are not found in this store: 1" in plan.notes


def test_adopt_beside_nova_compute_announces_no_new_disk_gb():
    """An agent beside nova-compute publishes no DISK_GB, so `stocktake adopt --store` announces no new value."""
    plan = store_adoption(LOST, settings(role=Role.COMPANION), FILE)
    assert [note for note in plan.notes if "publishes" in note] == []


def test_adopt_plans_no_step_for_an_unchanged_disk_store():
    """`stocktake adopt --store` plans no step if the file system of the guest disks has not changed."""
    plan = store_adoption(store(snapshot(placement=HELD), on_disk(300), before=mark(300)), settings(), FILE)
    assert (plan.steps, plan.refusals) == ((), ())
    assert "nothing to adopt" in plan.notes[0]


def test_adopt_is_refused_for_disks_in_ceph_or_not_read():
    """`stocktake adopt --store` is refused if the guest disks are in Ceph or their file system was not read."""
    unread = dataclasses.replace(snapshot(lost=("filesystem",)), store=mark(300))
    assert "was not read" in store_adoption(unread, settings(), FILE).refusals[0].why
    ceph = settings(images_type="rbd", images_rbd_pool="vms")
    assert "Ceph" in store_adoption(LOST, ceph, FILE).refusals[0].why


def test_a_change_of_4_kib_keeps_the_digest_of_the_adopt_plan():
    """If the file system shrinks by 4 KiB, the digest of the `stocktake adopt --store` plan does not change."""
    smaller = dataclasses.replace(on_root(251.7), size_bytes=on_root(251.7).size_bytes - 4096)
    digests = {
        store_adoption(store(LOST, found, before=mark(300), missing=(DISK,)), settings(), FILE).digest
        for found in (on_root(251.7), smaller)
    }
    assert len(digests) == 1
    larger = store(LOST, on_root(253), before=mark(300), missing=(DISK,))
    assert store_adoption(larger, settings(), FILE).digest not in digests
