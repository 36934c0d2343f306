"""The owner of every byte of a volume group: one row per cause, and the rows add up to the group's size."""

from __future__ import annotations

import pathlib
from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.books.storage_ledger import storage_ledger, volume_group_rows
from agent.model.host.facts import Disk
from agent.model.host.storage import StorageFacts, ThinPool, Volume
from agent.model.report import StorageRow
from agent.model.snapshot import LIBVIRT, LVM, STATE, Snapshot
from agent.model.units import GIB, MIB
from agent.sources.storage.lvm_json import parse_groups, parse_storage
from tests.rigs.facts import (
    domain,
    filesystem,
    good,
    group,
    host,
    instance,
    snapshot,
    state,
    uuid,
    volume,
    without,
)

RECORDED = pathlib.Path(__file__).parents[2] / "rigs" / "lvm_recorded"
EXTENT = 4 * 1024 * 1024
HERE, OTHER, GONE = uuid("i1"), uuid("i2"), uuid("gone")
NOVA = state(instance("i1"), instance("i2"))


def rows_of(*volumes: Volume, size_gib: int = 100, pools: tuple[ThinPool, ...] = ()) -> list[tuple[str, str, str, int]]:
    """Return (owner kind, owner, what, GiB) of each row."""
    world = snapshot(nova=NOVA, lvm=replace(group(size_gib, *volumes), thin_pools=pools))
    rows = volume_group_rows(world)
    assert_complete(rows)
    assert all(row.size_bytes % GIB == 0 for row in rows)
    return [(row.owner_kind, row.owner, row.what, row.size_bytes // GIB) for row in rows]


def assert_complete(rows: tuple[StorageRow, ...]) -> None:
    by_store: dict[tuple[str, int], int] = defaultdict(int)
    for row in rows:
        by_store[row.store, row.store_bytes] += row.size_bytes
    assert all(found == size for (_, size), found in by_store.items())
    assert len(by_store) == len({row.store for row in rows})


def pool(size: int, *inside: Volume, copies: int = 1) -> tuple[Volume, ...]:
    head = Volume(group="vg0", name="tpool", uuid="tpool", size_bytes=size * GIB, extent_bytes=0,
                  segment_type="thin-pool")  # fmt: skip
    names = ["tpool_tdata"] if copies == 1 else [f"tpool_tdata_rimage_{leg}" for leg in range(copies)]
    legs = [part(name, "tpool_tdata" if copies > 1 else "tpool", size, "private,raid,image") for name in names]
    data = part("tpool_tdata", "tpool", 0 if copies > 1 else size, "private,thin,pool,data")
    return (head, data, *(legs if copies > 1 else ()), part("tpool_tmeta", "tpool", 1, "private,thin,pool,metadata"),
            part("lvol0_pmspare", "tpool", 1, "private,pool,spare"), *inside)  # fmt: skip


def part(name: str, parent: str, size: int, role: str) -> Volume:
    return replace(volume(name, size), parent=parent, hidden=True, role=role)


def thin(name: str, size: int, **fields: object) -> Volume:
    return Volume(group="vg0", name=name, uuid=name, size_bytes=size * GIB, extent_bytes=0, pool="tpool",
                  segment_type="thin", **fields)  # type: ignore[arg-type]  # fmt: skip


def fill(size: int, percent: float | None, **mapped: int) -> tuple[ThinPool, ...]:
    """Return a thin pool with ``mapped`` GiB per volume; an underscore stands for a dash of the volume's name."""
    return (
        ThinPool(
            group="vg0",
            name="tpool",
            size_bytes=size * GIB,
            metadata_bytes=GIB,
            data_percent=percent,
            metadata_percent=percent,
            mapped=tuple(sorted((name, written * GIB) for name, written in mapped.items())),
        ),
    )


METADATA = [
    ("thin-pool", "vg0/tpool", "pool spare lvol0_pmspare of tpool", 1),
    ("thin-pool", "vg0/tpool", "thin pool metadata tpool_tmeta of tpool", 1),
]


def test_volume_group_rows_show_each_volume_with_its_owner() -> None:
    """The owner of an LVM volume is an instance, a deleted instance, Cinder's block storage or something unknown."""
    found = rows_of(
        replace(volume(f"{HERE}_disk", 10), segment_type="linear"),
        replace(volume("before", 2), origin=f"{HERE}_disk", segment_type="linear"),
        replace(volume(f"{GONE}_disk", 3), segment_type="linear"),
        replace(volume(f"volume-{uuid('v')}", 4), segment_type="striped"),
        replace(volume("by-hand", 0), segment_type="raid1"),
        part("by-hand_rimage_0", "by-hand", 5, "private,raid,image"),
        part("by-hand_rimage_1", "by-hand", 5, "private,raid,image"),
    )
    assert found == [
        ("block-storage", f"vg0/volume-{uuid('v')}", f"striped volume volume-{uuid('v')}", 4),
        ("foreign", "vg0/by-hand", "raid image by-hand_rimage_0 of by-hand", 5),
        ("foreign", "vg0/by-hand", "raid image by-hand_rimage_1 of by-hand", 5),
        ("instance", HERE, f"linear volume {HERE}_disk", 10),
        ("instance", HERE, f"snapshot before of {HERE}_disk", 2),
        ("orphaned", GONE, f"linear volume {GONE}_disk", 3),
        ("free", "", "free extents", 71),
    ]


@pytest.mark.parametrize(("known", "kind"), [(True, "instance"), (False, "domain")])
def test_a_volume_belongs_to_the_guest_that_uses_it(known: bool, kind: str) -> None:
    """The agent lists an LVM volume under the guest that has the volume as a disk."""
    used = Disk(target="vda", kind="block", source="/dev/vg0/by-hand")
    world = snapshot(
        nova=state(instance("i1")) if known else state(),
        libvirt=host(domain("i1", disks=(used,))),
        lvm=group(20, volume("by-hand", 5)),
    )
    (row, _) = volume_group_rows(world)
    assert (row.owner_kind, row.owner, row.source) == (kind, HERE, "lvm vg0/by-hand")


def test_thin_pool_rows_show_the_space_that_volumes_use() -> None:
    """The agent lists a thin volume with the bytes written to it, not with its full size."""
    inside = pool(40, thin("a", 100), thin(f"{HERE}_disk", 30), thin(f"{OTHER}_disk", 30))
    found = rows_of(*inside, pools=fill(40, 50.0, a=4, **{f"{HERE}_disk": 15, f"{OTHER}_disk": 1}))
    assert (
        found
        == [
            ("foreign", "vg0/a", "thin volume a in tpool", 4),
            ("instance", HERE, f"thin volume {HERE}_disk in tpool", 15),
            ("instance", OTHER, f"thin volume {OTHER}_disk in tpool", 1),
            ("thin-pool", "vg0/tpool", "free space in thin pool tpool", 20),
            *METADATA,
            ("free", "", "free extents", 58),
        ][: len(found)]
    )
    assert len(found) == 7


def test_blocks_shared_with_a_snapshot_are_counted_once() -> None:
    """A thin volume and its snapshot share 20 GiB in the pool; their two rows add up to 20 GiB, not to 40."""
    snap = thin("before", 30, origin=f"{HERE}_disk")
    inside = pool(40, thin(f"{HERE}_disk", 30), thin(f"{OTHER}_disk", 30), snap)
    mapped = {f"{HERE}_disk": 20, "before": 20, f"{OTHER}_disk": 6}
    assert rows_of(*inside, pools=fill(40, 65.0, **mapped))[:4] == [
        ("instance", HERE, f"thin volume {HERE}_disk in tpool", 10),
        ("instance", HERE, "thin volume before in tpool", 10),
        ("instance", OTHER, f"thin volume {OTHER}_disk in tpool", 6),
        ("thin-pool", "vg0/tpool", "free space in thin pool tpool", 14),
    ]


def test_a_thin_volume_has_full_size_if_pool_use_is_unknown() -> None:
    """If LVM reports no fill level of a thin pool, the row of a thin volume shows the volume's full size."""
    found = rows_of(*pool(40, thin(f"{HERE}_disk", 30)), pools=fill(40, None))
    unsure = " (the pool's fill level is unknown, so this is the maximum)"
    assert found[:2] == [
        ("instance", HERE, f"thin volume {HERE}_disk in tpool{unsure}", 30),
        ("thin-pool", "vg0/tpool", "free space in thin pool tpool", 10),
    ]


@pytest.mark.parametrize(
    ("percent", "shares"),
    [(50.0, {HERE: 15, "before": 1, OTHER: 4, "free": 20}), (47.5, {HERE: 15, OTHER: 4, "free": 21})],
    ids=["the rest is its own", "no rest: all it has it shares"],
)
def test_the_row_of_an_inactive_thin_volume_shows_the_rest(percent: float, shares: dict[str, int]) -> None:
    """A thin pool uses 20 GiB, and its active volumes use 19. The inactive volume's row shows the rest, 1 GiB."""
    snap = thin("before", 10, origin=f"{HERE}_disk")
    inside = pool(40, thin(f"{HERE}_disk", 30), thin(f"{OTHER}_disk", 10), snap)
    found = rows_of(*inside, pools=fill(40, percent, **{f"{HERE}_disk": 15, f"{OTHER}_disk": 4}))
    names = {f"thin volume {HERE}_disk in tpool": HERE, f"thin volume {OTHER}_disk in tpool": OTHER,
             "thin volume before in tpool": "before", "free space in thin pool tpool": "free"}  # fmt: skip
    assert {names[what]: size for _, _, what, size in found if what in names} == shares


def test_thin_pool_data_without_a_volume_has_a_row() -> None:
    """A thin pool has 10 GiB in use but no volume; the agent lists the 10 GiB as "in use, but not by a volume"."""
    found = rows_of(*pool(40), pools=fill(40, 25.0))
    assert found[:2] == [
        ("foreign", "vg0/tpool", "free space in thin pool tpool", 30),
        ("foreign", "vg0/tpool", "in use in thin pool tpool, but not by a volume", 10),
    ]


def test_raid_copies_of_a_thin_pool_have_their_own_row() -> None:
    """A mirrored thin pool of 40 GiB takes 80 GiB of the volume group; the second 40 GiB are listed as RAID copies."""
    found = rows_of(*pool(40, thin(f"{HERE}_disk", 30), copies=2), pools=fill(40, 0.0, **{f"{HERE}_disk": 0}))
    assert found[:2] == [
        ("thin-pool", "vg0/tpool", "RAID copies or cache of thin pool tpool", 40),
        ("thin-pool", "vg0/tpool", "free space in thin pool tpool", 40),
    ]


def test_a_thin_pool_of_cinder_is_listed_as_block_storage() -> None:
    """Every byte in Cinder's thin pool counts as block storage, also the pool's free space."""
    theirs = [replace(v, name=v.name.replace("tpool", "vg0-pool"), parent=v.parent and "vg0-pool") for v in pool(40)]
    assert {kind for kind, *_ in rows_of(*theirs)} == {"block-storage", "free"}


@pytest.mark.parametrize("name", ["every_kind", "missing_disk", "two_groups", "device_mapper"])
def test_rows_from_real_lvm_output_add_up_to_the_group(name: str) -> None:
    """The rows that the agent makes from recorded `vgs` and `lvs` output add up to the volume group's size."""
    groups = parse_groups((RECORDED / f"{name}.vgs.json").read_text())
    facts = parse_storage((RECORDED / f"{name}.lvs.json").read_text(), groups)
    rows = volume_group_rows(snapshot(lvm=facts))
    assert_complete(rows)
    assert {row.store: row.store_bytes for row in rows} == {f"vg {found.name}": found.size_bytes for found in groups}
    free = {row.store: row.size_bytes for row in rows if row.owner_kind == "free"}
    assert free == {f"vg {found.name}": found.free_bytes for found in groups}


def test_thin_volume_rows_show_the_bytes_written() -> None:
    """100 MiB were written to a thin volume, and the volume's row shows 100 MiB."""
    groups = parse_groups((RECORDED / "device_mapper.vgs.json").read_text())
    facts = parse_storage((RECORDED / "device_mapper.lvs.json").read_text(), groups)
    (pool_facts,) = facts.thin_pools
    assert (pool_facts.data_percent, pool_facts.metadata_percent) == (16.6, 11.28)
    rows = volume_group_rows(snapshot(lvm=facts))
    written = {row.what.split()[2]: row.size_bytes / MIB for row in rows if row.what.startswith("thin volume")}
    first, second = "11111111-1111-4111-8111-111111111111_disk.eph0", "22222222-2222-4222-8222-222222222222_disk"
    assert written[first] == pytest.approx(100, abs=0.0001 * 2048)
    assert written["by-hand-thin"] == pytest.approx(20, abs=0.0001 * 300)
    assert written[second] + written["thin-snap"] == pytest.approx(50, abs=0.0001 * 1024 * 2)


def test_the_row_of_a_hidden_volume_shows_its_visible_volume() -> None:
    """A row for an internal LVM volume, such as a mirror log, also shows the visible volume to which it belongs."""
    groups = parse_groups((RECORDED / "every_kind.vgs.json").read_text())
    facts = parse_storage((RECORDED / "every_kind.lvs.json").read_text(), groups)
    said = {row.what: (row.owner, row.size_bytes // EXTENT) for row in volume_group_rows(snapshot(lvm=facts))}
    assert said["pvmove pvmove0 of moved"] == ("vg0/moved", 6)
    assert said["cache pool metadata cp_cpool_cmeta of cp_cpool"] == ("vg0/c", 1)
    assert said["mirror log m_mlog of m"] == ("vg0/m", 1)


def test_the_list_of_storage_use_is_empty_if_lvm_cannot_be_read() -> None:
    assert storage_ledger(without(snapshot(), LVM)) == ()


def test_volume_rows_add_up_without_nova_or_libvirt() -> None:
    """Without data from nova or libvirt some owners are "unknown", but all rows add up to the volume group."""
    world = snapshot(nova=NOVA, lvm=group(20, volume(f"{HERE}_disk", 5), volume("x", 1)))
    for lost in (STATE, LIBVIRT):
        rows = volume_group_rows(without(world, lost))
        assert_complete(rows)
        assert "unknown" in {row.owner_kind for row in rows}


# There are few names, so that pools, parents and origins coincide and form cycles and self-references.
names = st.sampled_from([f"{HERE}_disk", f"{GONE}_disk", f"volume-{GONE}", "vg0-pool", "a", "b", "c", "d"])
links = st.none() | names
volumes = st.builds(
    Volume,
    group=st.sampled_from(["vg0", "vg1"]),
    name=names,
    uuid=st.just("u"),
    size_bytes=st.integers(0, 99),
    extent_bytes=st.integers(0, 99),
    pool=links,
    origin=links,
    parent=links,
    hidden=st.booleans(),
    role=st.sampled_from(["", "public", "private,thin,pool,data", "private,raid,image"]),
    segment_type=st.sampled_from(["linear", "thin", "thin-pool"]),
)
fills = st.builds(
    ThinPool,
    group=st.sampled_from(["vg0", "vg1"]),
    name=names,
    size_bytes=st.integers(0, 99),
    metadata_bytes=st.just(1),
    data_percent=st.none() | st.floats(0, 100),
    metadata_percent=st.none(),
    mapped=st.dictionaries(names, st.integers(0, 99)).map(lambda found: tuple(sorted(found.items()))),
)


def random_world(found: list[Volume], pools: list[ThinPool], frees: tuple[int, int]) -> Snapshot:
    groups = []
    for name, free in zip(("vg0", "vg1"), frees, strict=True):
        size = sum(one.extent_bytes for one in found if one.group == name) + free
        groups.append(replace(group(1, name=name).groups[0], size_bytes=size, free_bytes=free))
    facts = StorageFacts(groups=tuple(groups), volumes=tuple(found), thin_pools=tuple(pools))
    return replace(snapshot(nova=NOVA), storage=(good(LVM, facts), good("filesystem", filesystem())))


@given(
    st.lists(volumes, max_size=12, unique_by=lambda found: found.path),
    st.lists(fills, max_size=3, unique_by=lambda found: found.path),
    st.tuples(st.integers(0, 99), st.integers(0, 99)),
)
def test_rows_of_random_volumes_add_up_to_the_volume_group(
    found: list[Volume], pools: list[ThinPool], frees: tuple[int, int]
) -> None:
    """The agent's rows for random LVM volumes and thin pools always add up to the size of their volume group."""
    rows = volume_group_rows(random_world(found, pools, frees))
    assert_complete(rows)
    assert all(row.size_bytes > 0 for row in rows if row.owner_kind != "free")
    assert tuple(row.size_bytes for row in rows if row.owner_kind == "free") == frees
    turned = volume_group_rows(random_world(found[::-1], pools[::-1], frees))
    assert turned == rows


@given(
    st.integers(0, 60),
    st.none() | st.integers(0, 100).map(float),
    st.lists(st.tuples(st.integers(1, 80), st.none() | st.integers(0, 80), st.booleans()), max_size=5),
    st.integers(1, 3),
)
def test_thin_volume_rows_add_up_to_the_pool_usage(
    size: int, percent: float | None, found: list[tuple[int, int | None, bool]], copies: int
) -> None:
    """The rows of random thin volumes and snapshots add up to the used bytes that LVM reports for the pool."""
    inside = [
        thin(f"t{number}", room, origin=f"t{number - 1}" if is_snapshot and number else None)
        for number, (room, _, is_snapshot) in enumerate(found)
    ]
    mapped = {f"t{number}": written for number, (_, written, _) in enumerate(found) if written is not None}
    facts = replace(
        group(400, *pool(size, *inside, copies=copies)), thin_pools=fill(size, percent, **mapped) if size else ()
    )
    rows = volume_group_rows(snapshot(lvm=facts))
    assert_complete(rows)
    assert all(row.size_bytes > 0 for row in rows)
    given_out = [row.size_bytes for row in rows if row.what.startswith(("thin volume", "in use in"))]
    if size and percent is not None:
        assert sum(given_out) == round(size * GIB * percent / 100)
