"""Assign every byte of the host's storage to an owner, in rows that add up to the size of each store.

The row of a thin volume shows the bytes that lvm2 reports as written. agent/resources/volumes.py instead counts the
volume's virtual size or its share of the pool, which may be larger. If lvm2 cannot report how full a pool is, the rows
of the pool's volumes show virtual sizes, up to the pool's size. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.books.image_ledger import image_store_rows
from agent.model.host.storage import ThinPool, Volume, VolumeGroup
from agent.model.memo import for_equal_arguments
from agent.model.report import StorageRow
from agent.model.snapshot import Snapshot
from agent.resources.guests import guests_of
from agent.resources.thin import in_proportion
from agent.resources.volumes import OwnedVolume, OwnerKind, owners

FREE = "free"
# lvm2 gives these roles to the hidden volume that holds a thin pool's data. If that volume is a raid, the parts of
# the raid have other roles.
_POOL_DATA = frozenset({"thin", "pool", "data"})


@dataclass(frozen=True, slots=True)
class _Part:
    """A number of bytes in a volume group. These bytes belong to the owner of ``volume``."""

    volume: Volume
    what: str
    size_bytes: int


def storage_ledger(snapshot: Snapshot) -> tuple[StorageRow, ...]:
    """Return the rows of every store that was read: volume groups, the instances file system, a Ceph pool."""
    return (*volume_group_rows(snapshot), *image_store_rows(snapshot))


def volume_group_rows(snapshot: Snapshot) -> tuple[StorageRow, ...]:
    """Return the rows of each volume group, sorted by owner and then by ``what``; the free extents are the last row.

    The rows cover all extents of the group, used and free, and so add up to the group's size.
    """
    guests = guests_of(snapshot)
    return _rows(snapshot.stored.groups, owners(snapshot, guests), snapshot.stored.thin_pools, guests.instance_uuids)


# Cached, because an unchanged host has the same rows in each audit: computing them takes 5 ms for 2,000 volumes.
@for_equal_arguments
def _rows(
    groups: tuple[VolumeGroup, ...],
    owned: tuple[OwnedVolume, ...],
    pools: tuple[ThinPool, ...],
    instances: frozenset[str],
) -> tuple[StorageRow, ...]:
    by_group: dict[str, list[OwnedVolume]] = defaultdict(list)
    for found in owned:
        by_group[found.volume.group].append(found)
    fills = {pool.path: pool for pool in pools}
    return tuple(row for group in groups for row in _group_rows(group, by_group[group.name], fills, instances))


def _group_rows(
    group: VolumeGroup, owned: Sequence[OwnedVolume], fills: Mapping[str, ThinPool], instances: frozenset[str]
) -> list[StorageRow]:
    by_path = {found.volume.path: found for found in owned}
    parts = _parts([found.volume for found in owned], fills)
    rows = sorted(
        (_row(group, part, by_path, instances) for part in parts if part.size_bytes),
        key=lambda row: (row.owner_kind, row.owner, row.what),
    )
    rows.append(
        StorageRow(
            store=f"vg {group.name}",
            owner_kind=FREE,
            owner="",
            what="free extents",
            size_bytes=group.free_bytes,
            source=f"lvm {group.name}",
            store_bytes=group.size_bytes,
        )
    )
    return rows


def _row(group: VolumeGroup, part: _Part, by_path: Mapping[str, OwnedVolume], instances: frozenset[str]) -> StorageRow:
    found = by_path[part.volume.path]
    owner = by_path[found.serves] if found.serves else found
    # A volume whose name is no instance's name belongs to the guest that uses it (DOMAIN). If this guest is an instance
    # of nova, the row names the instance as owner.
    is_instance = owner.kind is OwnerKind.DOMAIN and owner.owner_uuid in instances
    return StorageRow(
        store=f"vg {group.name}",
        owner_kind=(OwnerKind.INSTANCE if is_instance else owner.kind).value,
        owner=owner.owner_uuid or owner.volume.path,
        what=part.what,
        size_bytes=part.size_bytes,
        source=f"lvm {part.volume.path}",
        store_bytes=group.size_bytes,
    )


def _parts(volumes: Sequence[Volume], fills: Mapping[str, ThinPool]) -> Iterator[_Part]:
    """Yield how many bytes each volume uses. The bytes in use of a thin pool are divided among its thin volumes."""
    by_name = {volume.name: volume for volume in volumes}
    thin: dict[str, list[Volume]] = defaultdict(list)
    data: dict[str, int] = defaultdict(int)
    for volume in volumes:
        if volume.segment_type == "thin" and volume.pool is not None:
            thin[volume.pool].append(volume)
        pool = _pool_of_data(volume, by_name) if volume.hidden and volume.extent_bytes else None
        if pool is None:
            yield _Part(volume, _described(volume), volume.extent_bytes)
        else:
            data[pool.name] += volume.extent_bytes
    for name, size_bytes in data.items():
        pool = by_name[name]
        yield from _pool_parts(pool, size_bytes, thin[name], fills.get(pool.path))


def _pool_of_data(volume: Volume, by_name: Mapping[str, Volume]) -> Volume | None:
    """Return the thin pool that keeps its data on this hidden volume; None if the volume has no pool's data.

    Other hidden volumes, such as those of a raid, may be between the volume and the pool.
    """
    seen: set[str] = set()
    part: Volume | None = volume
    while part is not None and part.hidden and part.parent is not None and part.name not in seen:
        parent = by_name.get(part.parent)
        if parent is not None and parent.segment_type == "thin-pool" and set(part.role.split(",")) >= _POOL_DATA:
            return parent
        seen.add(part.name)
        part = parent
    return None


def _pool_parts(pool: Volume, data_bytes: int, thin: Sequence[Volume], fill: ThinPool | None) -> Iterator[_Part]:
    room = min(pool.size_bytes, data_bytes)
    percent = None if fill is None else fill.data_percent
    promised = sum(volume.size_bytes for volume in thin)
    used_bytes = min(room, promised if percent is None else round(room * percent / 100))
    shares = _shares(used_bytes, thin, dict(fill.mapped) if fill else {})
    unsure = " (the pool's fill level is unknown, so this is the maximum)" if percent is None else ""
    for volume, share in zip(thin, shares, strict=True):
        yield _Part(volume, f"thin volume {volume.name} in {pool.name}{unsure}", share)
    yield _Part(pool, f"in use in thin pool {pool.name}, but not by a volume", used_bytes - sum(shares))
    yield _Part(pool, f"free space in thin pool {pool.name}", room - used_bytes)
    yield _Part(pool, f"RAID copies or cache of thin pool {pool.name}", data_bytes - room)


def _shares(used_bytes: int, thin: Sequence[Volume], mapped: Mapping[str, int]) -> Sequence[int]:
    """Divide the pool's ``used_bytes`` among its thin volumes.

    The written bytes that lvm2 reports do not add up to ``used_bytes`` exactly: lvm2 rounds to 1/10,000 of a size, and
    a volume shares blocks with its snapshots. So three groups of volumes get their bytes one after another:

    1. volumes that are neither a snapshot nor an origin get the written bytes that lvm2 reports;
    2. snapshots and origins get the written bytes that lvm2 reports;
    3. volumes for which lvm2 reports nothing (inactive, as most thin snapshots are) get bytes by size.

    If too few bytes are left for a group, its volumes divide these bytes in proportion. The last group always divides
    all bytes that are left.
    """
    related = {volume.origin for volume in thin} | {volume.name for volume in thin if volume.origin}
    levels = (
        [mapped.get(volume.name, 0) if volume.name not in related else 0 for volume in thin],
        [mapped.get(volume.name, 0) if volume.name in related else 0 for volume in thin],
        [volume.size_bytes if volume.name not in mapped else 0 for volume in thin],
    )
    last = max((number for number, weights in enumerate(levels) if any(weights)), default=0)
    shares = [0] * len(thin)
    for number, weights in enumerate(levels):
        rest = used_bytes - sum(shares)
        parts = in_proportion(rest, weights) if number == last or sum(weights) > rest else weights
        shares = [share + part for share, part in zip(shares, parts, strict=True)]
    return shares


def _described(volume: Volume) -> str:
    """Return what the volume is, such as "thin pool metadata tpool_tmeta of tpool" or "snapshot s1 of root"."""
    if volume.hidden:
        role = " ".join(word for word in volume.role.split(",") if word not in ("", "private")) or "part"
        return f"{role} {volume.name} of {volume.parent}" if volume.parent else f"{role} {volume.name}"
    if volume.origin is not None:
        return f"snapshot {volume.name} of {volume.origin}"
    return f"{volume.segment_type} volume {volume.name}".lstrip()
