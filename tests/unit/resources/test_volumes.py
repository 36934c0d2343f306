"""The owner of each volume: a table, row by row, and its laws."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SourceUnavailable
from agent.model.host.facts import Disk, Domain, DomainState, HostFacts
from agent.model.host.storage import StorageFacts, Volume
from agent.model.snapshot import Reading, Snapshot
from agent.resources.volumes import OwnedVolume, OwnerKind, VolumeOwners, owners

HERE = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
GONE = "33333333-3333-4333-8333-333333333333"
GUEST = "99999999-9999-4999-8999-999999999999"
Said = dict[str, tuple[OwnerKind, str | None, int, str | None]]
GUESTS = VolumeOwners(instance_uuids=frozenset({HERE, OTHER}), state_known=True, domains=())


def volume(name: str, extent_bytes: int = 10, group: str = "vg0", **fields: object) -> Volume:
    known = {"uuid": name, "size_bytes": 100, "extent_bytes": extent_bytes, "group": group, "name": name}
    return Volume(**(known | fields))  # type: ignore[arg-type]


def part(name: str, parent: str, extent_bytes: int = 10) -> Volume:
    return volume(name, extent_bytes, parent=parent, hidden=True)


def domain(uuid: str, *sources: str | None) -> Domain:
    disks = tuple(Disk(target=f"vd{n}", kind="block", source=source) for n, source in enumerate(sources))
    return Domain(uuid=uuid, name=uuid, state=DomainState.SHUTOFF, vcpus=1, memory_mib=1, disks=disks)


def snapshot(*volumes: Volume) -> Snapshot:
    def reading(source: str, value: object) -> Reading:
        return Reading(source=source, taken_at="2026-01-01T00:00:00.000Z", duration_s=0.0, value=value)

    host = HostFacts(
        hostname="h",
        driver="QEMU",
        libvirt_version=1,
        hypervisor_version=1,
        cpus=(),
        memory_mib=1,
        memory_used_mib=None,
    )
    storage = (reading("lvm", StorageFacts(volumes=volumes)),)
    return Snapshot(
        placement=reading("placement", 1), nova=reading("state", 1), host=reading("libvirt", host), storage=storage
    )


def without_libvirt(world: Snapshot) -> Snapshot:
    error = SourceUnavailable("libvirt", "down")
    return replace(world, host=Reading(source="libvirt", taken_at=world.host.taken_at, duration_s=0.0, error=error))


def said(rows: tuple[OwnedVolume, ...]) -> Said:
    return {row.volume.name: (row.kind, row.owner_uuid, row.bytes_taken, row.serves) for row in rows}


def owner_of(name: str, guests: VolumeOwners = GUESTS) -> tuple[OwnerKind, str | None]:
    (row,) = owners(snapshot(volume(name)), guests)
    assert row.bytes_taken == 10
    return row.kind, row.owner_uuid


@pytest.mark.parametrize("disk", ["disk", "disk.config", "disk.eph0", "disk.swap", "disk.rescue", "my__disk", ""])
def test_a_volume_named_after_an_instance_belongs_to_it(disk: str) -> None:
    """If an LVM volume's name begins with the uuid of an instance, the volume belongs to this instance."""
    assert owner_of(f"{HERE}_{disk}") == (OwnerKind.INSTANCE, HERE)


def test_a_volume_of_an_absent_instance_is_orphaned() -> None:
    """An LVM volume is orphaned if its name contains the uuid of an instance that is not on this host."""
    assert owner_of(f"{GONE}_disk") == (OwnerKind.ORPHANED, GONE)


def test_a_volume_owner_is_unknown_if_nova_was_not_read() -> None:
    """If nova's database was not read, the agent does not know the owner of a volume named after an instance."""
    guests = VolumeOwners(
        instance_uuids=frozenset(), state_known=False, domains=(domain(GONE, f"/dev/vg0/{GONE}_disk"),)
    )
    assert owner_of(f"{GONE}_disk", guests) == (OwnerKind.UNKNOWN, None)
    assert owner_of("handmade", guests) == (OwnerKind.FOREIGN, None)


@pytest.mark.parametrize("name", [f"volume-{GONE}", f"_snapshot-{GONE}", "vg0-pool"])
def test_a_volume_with_a_cinder_name_belongs_to_cinder(name: str) -> None:
    """An LVM volume with a Cinder name such as volume-UUID belongs to Cinder, even if a guest uses it."""
    attached = replace(GUESTS, domains=(domain(HERE, f"/dev/vg0/{name}"),))
    assert owner_of(name) == owner_of(name, attached) == (OwnerKind.BLOCK_STORAGE, None)


@pytest.mark.parametrize(
    "name", ["handmade", f"volume-{GONE}x", f"x{HERE}_disk", HERE, "vg1-pool", f"{HERE.upper()}x_"]
)
def test_a_volume_with_an_unusual_name_is_unknown_to_nova(name: str) -> None:
    """An LVM volume whose name has neither nova's nor Cinder's form counts as unknown to nova."""
    assert owner_of(name) == (OwnerKind.FOREIGN, None)


@pytest.mark.parametrize(
    ("group", "name", "path"),
    [
        ("vg0", "data", "/dev/vg0/data"),
        ("vg0", "data", "/dev/mapper/vg0-data"),
        ("a-b", "c--d", "/dev/mapper/a--b-c----d"),
    ],
)
def test_a_volume_that_a_domain_uses_belongs_to_the_domain(group: str, name: str, path: str) -> None:
    """If a libvirt domain uses an LVM volume with a name unknown to nova, the volume belongs to the domain."""
    world = snapshot(volume(name, group=group))
    guests = replace(GUESTS, domains=(domain(HERE, None), domain(GUEST, "/srv/x.img", path)))
    (row,) = owners(world, guests)
    assert (row.kind, row.owner_uuid) == (OwnerKind.DOMAIN, GUEST)


def test_an_orphaned_volume_in_use_belongs_to_its_domain() -> None:
    """If an instance is gone from nova and a libvirt domain still uses its volume, the domain owns the volume."""
    guests = replace(GUESTS, domains=(domain(GONE, f"/dev/vg0/{GONE}_disk"),))
    assert owner_of(f"{GONE}_disk", guests) == (OwnerKind.DOMAIN, GONE)


def test_a_volume_owner_is_unknown_if_libvirt_is_down() -> None:
    """If libvirt is down, a domain may use a volume that nova does not know, so the volume's owner is unknown."""
    names = ("handmade", f"{GONE}_disk", f"{HERE}_disk", f"volume-{GONE}")
    rows = owners(without_libvirt(snapshot(*map(volume, names))), GUESTS)
    assert {row.volume.name: row.kind for row in rows} == dict(
        zip(names, (OwnerKind.UNKNOWN, OwnerKind.UNKNOWN, OwnerKind.INSTANCE, OwnerKind.BLOCK_STORAGE), strict=True)
    )


def test_raid_parts_and_snapshots_add_to_the_size_of_a_volume() -> None:
    """The agent adds the sizes of RAID parts and snapshots to the size of the instance's LVM volume."""
    disk = f"{HERE}_disk"
    rows = owners(
        snapshot(
            volume(disk, 0),
            part(f"{disk}_rimage_0", disk),
            part(f"{disk}_rmeta_0", disk, 1),
            part("deeper", f"{disk}_rimage_0", 5),
            volume("before-upgrade", 3, origin=disk),
            volume(f"{OTHER}_disk", 2, origin=disk),
        ),
        GUESTS,
    )
    assert said(rows) == {
        disk: (OwnerKind.INSTANCE, HERE, 19, None),
        f"{disk}_rimage_0": (OwnerKind.PART, None, 0, f"vg0/{disk}"),
        f"{disk}_rmeta_0": (OwnerKind.PART, None, 0, f"vg0/{disk}"),
        "deeper": (OwnerKind.PART, None, 0, f"vg0/{disk}"),
        "before-upgrade": (OwnerKind.PART, None, 0, f"vg0/{disk}"),
        f"{OTHER}_disk": (OwnerKind.INSTANCE, OTHER, 2, None),
    }


def pool(name: str, size_bytes: int, *more: Volume, metadata: int = 1, copies: int = 1) -> tuple[Volume, ...]:
    """Return a thin pool with ``size_bytes`` of room for data, stored ``copies`` times, and volumes in the pool."""
    head = volume(name, 0, size_bytes=size_bytes, segment_type="thin-pool")
    data = [part(f"{name}_tdata", name, 0)] if copies > 1 else [part(f"{name}_tdata", name, size_bytes)]
    legs = [part(f"{name}_tdata_rimage_{n}", f"{name}_tdata", size_bytes) for n in range(copies) if copies > 1]
    return (head, *data, *legs, part(f"{name}_tmeta", name, metadata), *more)


def thin(name: str, size_bytes: int = 100, in_pool: str = "tpool", **fields: object) -> Volume:
    return volume(name, 0, size_bytes=size_bytes, pool=in_pool, segment_type="thin", **fields)


def pool_with(name: str, *inside: str, guests: VolumeOwners = GUESTS) -> Said:
    return said(owners(snapshot(*pool(name, 50, *(thin(found, in_pool=name) for found in inside))), guests))


@pytest.mark.parametrize(
    ("name", "inside", "owner"),
    [
        ("vg0-pool", (f"volume-{GONE}",), (OwnerKind.BLOCK_STORAGE, None)),
        ("vg0-pool", (f"{HERE}_disk", "x"), (OwnerKind.BLOCK_STORAGE, None)),
        ("tpool", ("x",), (OwnerKind.FOREIGN, None)),
        ("tpool", (), (OwnerKind.FOREIGN, None)),
        ("tpool", ("x", f"{GONE}_disk"), (OwnerKind.FOREIGN, None)),
        ("tpool", (f"{GONE}_disk",), (OwnerKind.ORPHANED, GONE)),
    ],
)
def test_a_thin_pool_not_used_by_instances_counts_as_a_whole(
    name: str, inside: tuple[str, ...], owner: tuple[OwnerKind, str | None]
) -> None:
    """If no instance here uses a thin pool, the agent counts the whole pool, and 0 bytes for each volume in it."""
    rows = pool_with(name, *inside)
    assert rows[name] == (*owner, 51, None)
    assert all(rows[found][2] == 0 for found in inside)


def shares(*found: Volume, guests: VolumeOwners = GUESTS) -> dict[str, tuple[OwnerKind, int, int]]:
    """Return kind, bytes taken and free bytes of each volume that takes bytes."""
    rows = owners(snapshot(*found), guests)
    return {row.volume.name: (row.kind, row.bytes_taken, row.free_bytes) for row in rows if row.bytes_taken}


def test_a_thin_pool_larger_than_its_disks_has_free_space() -> None:
    """If a thin pool is larger than the sum of its instance disks, the agent counts the difference as free."""
    assert shares(*pool("tpool", 50, thin(f"{HERE}_disk", 20), thin(f"{OTHER}_disk", 5))) == {
        f"{HERE}_disk": (OwnerKind.INSTANCE, 20, 0),
        f"{OTHER}_disk": (OwnerKind.INSTANCE, 5, 0),
        "tpool": (OwnerKind.THIN_POOL, 25 + 1, 25),
    }


def test_an_overcommitted_thin_pool_is_divided_by_size() -> None:
    """If the disks in a thin pool could outgrow it, the agent divides the pool's space among them by their size."""
    assert shares(*pool("tpool", 50, thin(f"{HERE}_disk", 150), thin(f"{OTHER}_disk", 50))) == {
        f"{HERE}_disk": (OwnerKind.INSTANCE, 37, 0),
        f"{OTHER}_disk": (OwnerKind.INSTANCE, 13, 0),
        "tpool": (OwnerKind.THIN_POOL, 1, 0),
    }


def test_each_volume_in_a_thin_pool_has_its_own_owner() -> None:
    """The agent finds an owner for each volume in a thin pool, such as an instance, a libvirt guest or Cinder."""
    guests = replace(GUESTS, domains=(domain(GUEST, "/dev/vg0/b"),))
    inside = (thin(f"{HERE}_disk", 20), thin("a", 4), thin("b", 3), thin(f"{GONE}_disk", 2), thin(f"volume-{GONE}", 1))
    assert shares(*pool("tpool", 50, *inside), guests=guests) == {
        f"{HERE}_disk": (OwnerKind.INSTANCE, 20, 0),
        "a": (OwnerKind.FOREIGN, 4, 0),
        "b": (OwnerKind.DOMAIN, 3, 0),
        f"{GONE}_disk": (OwnerKind.ORPHANED, 2, 0),
        f"volume-{GONE}": (OwnerKind.BLOCK_STORAGE, 1, 0),
        "tpool": (OwnerKind.THIN_POOL, 20 + 1, 20),
    }


def test_raid_copies_of_a_thin_pool_are_not_free_space() -> None:
    """If RAID stores a thin pool's data twice, only one copy of the unused space counts as free."""
    assert shares(*pool("tpool", 50, thin(f"{HERE}_disk", 20), copies=2, metadata=3)) == {
        f"{HERE}_disk": (OwnerKind.INSTANCE, 20, 0),
        "tpool": (OwnerKind.THIN_POOL, 103 - 20, 30),
    }


def test_the_size_of_a_thin_snapshot_is_added_to_its_origin() -> None:
    """In a thin pool, the agent adds the size of a snapshot to the snapshot's origin, the original volume."""
    disk = f"{HERE}_disk"
    inside = (thin(disk, 20), thin("before-upgrade", 20, origin=disk), thin("again", 5, origin="before-upgrade"))
    rows = said(owners(snapshot(*pool("tpool", 50, *inside)), GUESTS))
    assert rows[disk] == (OwnerKind.INSTANCE, HERE, 45, None)
    assert rows["before-upgrade"] == rows["again"] == (OwnerKind.PART, None, 0, f"vg0/{disk}")
    assert rows["tpool"][2] == 50 - 45 + 1


def test_a_cached_thin_disk_counts_for_its_instance() -> None:
    """If an instance's thin disk has an LVM cache, the disk's size still counts for the instance."""
    disk = f"{HERE}_disk"
    hidden = thin(f"{disk}_corig", 20, parent=disk, hidden=True)
    assert shares(*pool("tpool", 50, hidden, volume(disk, 0))) == {
        disk: (OwnerKind.INSTANCE, 20, 0),
        "tpool": (OwnerKind.THIN_POOL, 31, 30),
    }


def test_a_vdo_pool_counts_for_the_instance_that_uses_it() -> None:
    """If an instance's disk is in an LVM VDO pool, the size of the pool counts for the instance."""
    vdo = volume(f"{HERE}_disk", 0, pool="vpool", segment_type="vdo")
    assert shares(vdo, volume("vpool", 50, segment_type="vdo-pool")) == {"vpool": (OwnerKind.INSTANCE, 50, 0)}


def test_a_volume_in_a_foreign_thin_pool_has_0_bytes() -> None:
    """A thin pool contains no disk of an instance.

    The agent counts all bytes for the pool, and 0 bytes for a volume in the pool.
    """
    assert pool_with("tpool", "x")["x"] == (OwnerKind.PART, None, 0, "vg0/tpool")


def test_one_unknown_owner_makes_the_pool_owner_unknown() -> None:
    """If the owner of one volume in a thin pool is unknown, the owner of the pool is unknown too."""
    guests = VolumeOwners(instance_uuids=frozenset(), state_known=False, domains=())
    assert pool_with("tpool", f"{HERE}_disk", "x", guests=guests)["tpool"][0] is OwnerKind.UNKNOWN


def test_an_internal_volume_without_parent_is_unknown_to_nova() -> None:
    """If LVM does not list the parent of an internal volume, the internal volume counts as unknown to nova."""
    assert said(owners(snapshot(part("lonely_tdata", "lonely")), GUESTS)) == {
        "lonely_tdata": (OwnerKind.FOREIGN, None, 10, None)
    }


def test_the_parent_of_a_volume_is_in_its_volume_group() -> None:
    """The agent searches for the parent of an internal LVM volume only in the same volume group."""
    rows = owners(snapshot(volume("lv"), volume("leg", group="vg1", parent="lv", hidden=True)), GUESTS)
    assert [(row.volume.path, row.bytes_taken) for row in rows] == [("vg0/lv", 10), ("vg1/leg", 10)]


# There are few names, so that origins, pools and parents coincide and form cycles and self-references.
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
    segment_type=st.sampled_from(["linear", "thin", "thin-pool"]),
)
worlds = st.lists(volumes, max_size=10, unique_by=lambda found: found.path)
guests = st.builds(
    VolumeOwners,
    instance_uuids=st.frozensets(st.sampled_from([HERE, OTHER])),
    state_known=st.booleans(),
    domains=st.lists(st.sampled_from([domain(GUEST, "/dev/vg0/a"), domain(HERE, "/dev/mapper/vg1-b")])).map(tuple),
)


@given(worlds, guests, st.booleans())
def test_every_byte_of_a_volume_is_counted_exactly_once(found: list[Volume], who: VolumeOwners, libvirt: bool) -> None:
    """For any LVM volumes and guests, the agent counts every byte of a volume exactly once."""
    world = snapshot(*found) if libvirt else without_libvirt(snapshot(*found))
    rows = owners(world, who)
    assert sum(row.bytes_taken for row in rows) == sum(volume.extent_bytes for volume in found)
    assert {row.volume for row in rows} == set(found)
    assert all(row.bytes_taken == 0 and row.serves for row in rows if row.kind is OwnerKind.PART)
    assert all(0 <= row.free_bytes <= row.bytes_taken for row in rows)
    assert all(row.kind is OwnerKind.THIN_POOL for row in rows if row.free_bytes)


@given(worlds.flatmap(lambda found: st.tuples(st.just(found), st.permutations(found))), guests)
def test_volume_owners_do_not_depend_on_the_order(pair: tuple[list[Volume], list[Volume]], who: VolumeOwners) -> None:
    """The owner of an LVM volume does not depend on the order of the volumes and of the libvirt domains."""
    found, turned = pair
    back = replace(who, domains=who.domains[::-1])
    assert owners(snapshot(*found), who) == owners(snapshot(*turned), back)


@given(worlds, guests)
def test_a_part_of_a_part_counts_with_a_whole_volume(found: list[Volume], who: VolumeOwners) -> None:
    """A part of a part, such as a snapshot of a snapshot, counts with a whole volume, and not with the part."""
    rows = {row.volume.path: row for row in owners(snapshot(*found), who)}
    assert all(rows[row.serves].kind is not OwnerKind.PART for row in rows.values() if row.serves)
