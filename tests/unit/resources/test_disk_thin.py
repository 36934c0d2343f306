"""DISK_GB with a thin pool in the group: the pool's room can be allocated; the rest of the pool reduces the group."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.books.compared import still as facts_of_books
from agent.books.storage_ledger import volume_group_rows
from agent.model.claim import Cause
from agent.model.host.storage import StorageFacts, Volume
from agent.model.settings import UnmanagedPolicy
from agent.model.snapshot import Snapshot
from agent.model.units import GIB
from agent.resources.disk import Disk
from tests.rigs.facts import decided, good, instance, lvm_settings, reserves, state, uuid
from tests.rigs.thin_pools import pool_world


def with_cloud(world: Snapshot, *names: str) -> Snapshot:
    """Return the same host with these instances on it."""
    return replace(world, nova=good("state", state(*(instance(name) for name in names))))


def held(world: Snapshot) -> dict[tuple[str, Cause], int | None]:
    return {(c.consumer.key, c.cause): c.size_bytes for c in Disk().held(world, lvm_settings())}


def reserved(world: Snapshot, **changes: object) -> int:
    return reserves(decided(world, lvm_settings(**changes)))["DISK_GB"]


def test_thin_pool_metadata_counts_as_reserved() -> None:
    """If a thin pool stores only instance disks, `reserved` of DISK_GB contains only the pool's metadata."""
    world = with_cloud(pool_world(20, 10), "i0", "i1")
    assert held(world) == {
        (uuid("i0"), Cause.INSTANCE): 20 * GIB,
        (uuid("i1"), Cause.INSTANCE): 10 * GIB,
        ("vg0/tpool", Cause.THIN_POOL): GIB,
    }
    assert reserved(world) == 1


def test_an_orphaned_thin_volume_is_reserved_once() -> None:
    """If the instance of a thin volume is gone, the volume counts only once in `reserved` of DISK_GB."""
    world = with_cloud(pool_world(20, 10), "i0")
    assert held(world)[uuid("i0"), Cause.INSTANCE] == 20 * GIB
    assert reserved(world) == 10 + 1


def test_a_thin_pool_without_instance_disks_is_reserved() -> None:
    """If no disk in a thin pool belongs to an instance here, `reserved` of DISK_GB contains the whole pool."""
    assert reserved(with_cloud(pool_world(20), "i7")) == 51


def test_an_empty_thin_pool_is_reserved() -> None:
    """If a thin pool contains no volume, `reserved` of DISK_GB contains the whole pool."""
    assert reserved(with_cloud(pool_world(), "i0")) == 51


@pytest.mark.parametrize("policy", [UnmanagedPolicy.REPORT, UnmanagedPolicy.IGNORE])
def test_a_thin_pool_can_be_left_out_of_reserved(policy: UnmanagedPolicy) -> None:
    """If the option foreign_volumes is report or ignore, `reserved` of DISK_GB contains no part of a thin pool."""
    assert reserved(with_cloud(pool_world(20, 10), "i0"), foreign_volumes=policy) == 0


def test_guest_disk_sizes_ignore_how_full_a_thin_pool_is() -> None:
    """A guest's disk in a thin pool counts with the same size, whether 1 or 79 percent of the pool are in use."""
    still, moved = (pool_world(20, 10, data=percent, metadata=percent) for percent in (1.0, 79.0))
    assert held(with_cloud(still, "i0")) == held(with_cloud(moved, "i0"))
    assert facts_of_books(still) == facts_of_books(moved)
    assert volume_group_rows(still) != volume_group_rows(moved)


def test_raid_copies_of_a_thin_pool_are_reserved() -> None:
    """If a thin pool is stored twice by RAID, the second copy counts in `reserved` of DISK_GB."""
    world = with_cloud(pool_world(20, group_gib=111), "i0")
    (lvm, *others) = world.storage
    assert lvm.value is not None
    copy = Volume(group="vg0", name="tpool_tdata_rimage_1", uuid="r", size_bytes=50 * GIB, extent_bytes=50 * GIB,
                  parent="tpool_tdata", hidden=True)  # fmt: skip
    facts: StorageFacts = replace(lvm.value, volumes=(*lvm.value.volumes, copy))
    assert reserved(replace(world, storage=(replace(lvm, value=facts), *others))) == 50 + 1
