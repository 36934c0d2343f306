"""Random layouts of a volume group drawn from a seed, with the extents of each owner as the drawing determines them.

Structures are written as lvm2's metadata text; a layout consists of several structures. Volume names decide the owners,
so the expected extents follow from the drawing alone.
"""

from __future__ import annotations

import random
import uuid
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.rigs.lvm_layouts import Volumes, segment

# Extents of each of the two disks; no layout needs more.
DISK_EXTENTS = 2000
Owner = tuple[str, str]


@dataclass(slots=True)
class Layout:
    """One group's volumes. ``extents`` by (owner kind, owner); ``traits`` are the names of the drawn structures."""

    draw: random.Random
    group: str
    volumes: Volumes = field(default_factory=Volumes)
    extents: dict[Owner, int] = field(default_factory=lambda: defaultdict(int))
    instances: set[str] = field(default_factory=set)
    traits: set[str] = field(default_factory=set)
    pools: list[Owner] = field(default_factory=list)
    missing_disk: bool = False
    _next: dict[str, int] = field(default_factory=lambda: {"pv0": 0, "pv1": 0})
    _number: int = 0

    def new_uuid(self) -> str:
        """Return a uuid drawn from the seed, so that a layout is the same each time."""
        return str(uuid.UUID(int=self.draw.getrandbits(128), version=4))

    def number(self) -> int:
        """Return the next number, for names."""
        self._number += 1
        return self._number

    def named(self, kind: str) -> tuple[str, Owner]:
        """Return a volume name that belongs to an owner of this kind, and the owner."""
        if kind == "foreign":
            name = f"by-hand-{self.number()}"
            return name, (kind, f"{self.group}/{name}")
        owner = self.new_uuid()
        if kind == "block-storage":
            return f"volume-{owner}", (kind, f"{self.group}/volume-{owner}")
        if kind == "instance":
            self.instances.add(owner)
        return f"{owner}_disk{self.draw.choice(['', '.config', '.eph0'])}", (kind, owner)

    def any_name(self) -> tuple[str, Owner]:
        """Return a volume name of a random kind, and its owner."""
        return self.named(self.draw.choice(["instance", "foreign", "block-storage", "orphaned"]))

    def area(self, count: int) -> str:
        """Return that many contiguous extents on one of the disks, sometimes after a gap."""
        disk = self.draw.choice(["pv0", "pv1"])
        first = self._next[disk] + self.draw.choice([0, 0, 1, 5])
        self._next[disk] = first + count
        assert self._next[disk] <= DISK_EXTENTS, "a layout needs more than the disks have"
        return f'"{disk}", {first}'

    def on_disk(self, count: int) -> list[str]:
        """Return one or two segments of a plain volume."""
        cut = self.draw.randint(1, count)
        runs = [(0, cut), (cut, count - cut)]
        return [_striped(start, size, [self.area(size)]) for start, size in runs if size]

    def size(self, most: int = 12) -> int:
        """Return a random number of extents."""
        return self.draw.randint(1, most)


def _striped(start: int, count: int, areas: list[str]) -> str:
    size = "stripe_size = 128\n" if len(areas) > 1 else ""
    return (
        f"start_extent = {start}\nextent_count = {count}\n"
        f'type = "striped"\nstripe_count = {len(areas)}\n{size}stripes = [{", ".join(areas)}]'
    )


def linear(layout: Layout) -> None:
    name, owner = layout.any_name()
    count = layout.size()
    layout.volumes.add(name, *layout.on_disk(count))
    layout.extents[owner] += count


def striped(layout: Layout) -> None:
    name, owner = layout.any_name()
    stripes, each = layout.draw.randint(2, 3), layout.size(4)
    layout.volumes.add(name, _striped(0, stripes * each, [layout.area(each) for _ in range(stripes)]))
    layout.extents[owner] += stripes * each


def block_storage(layout: Layout) -> None:
    name, owner = layout.named("block-storage")
    layout.volumes.add(name, *layout.on_disk(count := layout.size()))
    layout.extents[owner] += count


def foreign(layout: Layout) -> None:
    name, owner = layout.named("foreign")
    layout.volumes.add(name, *layout.on_disk(count := layout.size()))
    layout.extents[owner] += count


def snapshot(layout: Layout) -> None:
    """A volume and one or two snapshots, which count for the volume's owner or have an instance's name."""
    name, owner = layout.any_name()
    count = layout.size()
    layout.volumes.add(name, *layout.on_disk(count))
    layout.extents[owner] += count
    for _ in range(layout.draw.randint(1, 2)):
        number, room = layout.number(), layout.size(3)
        store, whose = (f"snap-{number}", owner) if layout.draw.random() < 0.7 else layout.named("instance")
        layout.volumes.hide(store, *layout.on_disk(room))
        body = segment(count, "snapshot", chunk_size="8", origin=f'"{name}"', cow_store=f'"{store}"')
        layout.volumes.hide(f"snapshot{number}", body)
        layout.extents[whose] += room


_RAIDS = (  # type, images, images that hold data (the others hold copies and parity)
    ("raid1", 2, 1), ("raid1", 3, 1), ("raid4", 3, 2), ("raid5_ls", 3, 2), ("raid6_zr", 5, 3), ("raid10", 4, 2),
)  # fmt: skip


def raid(layout: Layout) -> None:
    name, owner = layout.any_name()
    layout.extents[owner] += _raid(layout, name, layout.volumes.add)[1]


def _raid(layout: Layout, name: str, add: Callable[..., None], *, kinds: int = len(_RAIDS)) -> tuple[int, int]:
    """Add a raid volume; return its size and the extents that it occupies."""
    kind, images, with_data = layout.draw.choice(_RAIDS[:kinds])
    each = layout.size(4)
    legs = [f"{name}_{part}_{leg}" for leg in range(images) for part in ("rmeta", "rimage")]
    settings = {"device_count": str(images), "region_size": "4096", "raids": f"[{', '.join(map(_quoted, legs))}]"}
    if kind != "raid1":
        settings["stripe_size"] = "128"
    add(name, segment(each * with_data, kind, **settings))
    for leg in legs:
        layout.volumes.hide(leg, *layout.on_disk(1 if "_rmeta_" in leg else each))
    return each * with_data, images * (1 + each)


def mirror(layout: Layout) -> None:
    name, owner = layout.any_name()
    count = layout.size(5)
    images = ", ".join(f'"{name}_mimage_{leg}", 0' for leg in range(2))
    settings = {"mirror_count": "2", "mirror_log": f'"{name}_mlog"', "region_size": "1024", "mirrors": f"[{images}]"}
    layout.volumes.add(name, segment(count, "mirror", **settings))
    layout.volumes.hide(f"{name}_mlog", *layout.on_disk(1))
    for leg in range(2):
        layout.volumes.hide(f"{name}_mimage_{leg}", *layout.on_disk(count))
    layout.extents[owner] += 1 + 2 * count


def integrity(layout: Layout) -> None:
    """A raid1 whose legs have checksums."""
    name, owner = layout.any_name()
    count = layout.size(4)
    legs = [f"{name}_{part}_{leg}" for leg in range(2) for part in ("rmeta", "rimage")]
    raids = f"[{', '.join(map(_quoted, legs))}]"
    layout.volumes.add(name, segment(count, "raid1", device_count="2", region_size="4096", raids=raids))
    for leg in range(2):
        image = f"{name}_rimage_{leg}"
        layout.volumes.hide(f"{name}_rmeta_{leg}", *layout.on_disk(1))
        settings = {
            "origin": f'"{image}_iorig"', "data_sectors": str(count * 8192), "mode": '"journal"', "tag_size": "4",
            "block_size": "512", "internal_hash": '"crc32c"', "meta_dev": f'"{image}_imeta"',
        }  # fmt: skip
        layout.volumes.hide(image, segment(count, "integrity", **settings))
        layout.volumes.hide(f"{image}_iorig", *layout.on_disk(count))
        layout.volumes.hide(f"{image}_imeta", *layout.on_disk(1))
    layout.extents[owner] += 2 * (1 + count + 1)


def cache(layout: Layout) -> None:
    """A volume with a cache pool in front of it."""
    name, owner = layout.any_name()
    count, pool = layout.size(), f"cache-{layout.number()}_cpool"
    layout.volumes.add(name, segment(count, "cache", cache_pool=_quoted(pool), origin=f'"{name}_corig"'))
    layout.volumes.hide(f"{name}_corig", *layout.on_disk(count))
    parts = {"data": f'"{pool}_cdata"', "metadata": f'"{pool}_cmeta"'}
    settings = {"metadata_format": "2", "chunk_size": "128", "cache_mode": '"writethrough"', "policy": '"smq"'}
    layout.volumes.hide(pool, segment(fast := layout.size(4), "cache-pool", **parts, **settings))
    layout.volumes.hide(f"{pool}_cdata", *layout.on_disk(fast))
    layout.volumes.hide(f"{pool}_cmeta", *layout.on_disk(1))
    layout.extents[owner] += count + fast + 1
    layout.pools.append(owner)


def writecache(layout: Layout) -> None:
    """A volume with a write cache on a faster volume."""
    name, owner = layout.any_name()
    count, fast = layout.size(), layout.size(4)
    settings = {"origin": f'"{name}_wcorig"', "writecache": f'"{name}_cvol"', "writecache_block_size": "4096"}
    layout.volumes.add(name, segment(count, "writecache", **settings))
    layout.volumes.hide(f"{name}_wcorig", *layout.on_disk(count))
    layout.volumes.hide(f"{name}_cvol", *layout.on_disk(fast), flags=())
    layout.extents[owner] += count + fast


def pvmove(layout: Layout) -> None:
    """A volume during a pvmove: it occupies both places."""
    name, owner = layout.any_name()
    count = layout.size(6)
    layout.volumes.add(name, segment(count, "striped", stripe_count="1", stripes='["pvmove0", 0]'))
    both = f"[{layout.area(count)}, {layout.area(count)}]"
    settings = {"mirror_count": "2", "region_size": "1024", "extents_moved": "0", "mirrors": both}
    layout.volumes.hide("pvmove0", segment(count, "mirror", **settings), flags=("PVMOVE", "LOCKED"))
    layout.extents[owner] += 2 * count


def sparse(layout: Layout) -> None:
    """A snapshot of a zero volume: its size is larger than the extents that it occupies."""
    name, owner = layout.any_name()
    number, room = layout.number(), layout.size(3)
    layout.volumes.hide(name, *layout.on_disk(room))
    layout.volumes.hide(f"{name}_vorigin", segment(30, "zero"))
    body = segment(30, "snapshot", chunk_size="8", origin=f'"{name}_vorigin"', cow_store=_quoted(name))
    layout.volumes.hide(f"snapshot{number}", body)
    layout.extents[owner] += room


_VDO = {
    "header_size": "8192", "virtual_extents": "100", "use_compression": "1", "use_deduplication": "1",
    "minimum_io_size": "4096", "block_map_cache_size_mb": "128", "block_map_era_length": "16380",
    "use_sparse_index": "0", "index_memory_size_mb": "256", "slab_size_mb": "128", "ack_threads": "1",
    "bio_threads": "4", "bio_rotation": "64", "cpu_threads": "2", "hash_zone_threads": "1", "logical_threads": "1",
    "physical_threads": "1", "max_discard": "1", "write_policy": '"auto"',
}  # fmt: skip


def vdo(layout: Layout) -> None:
    """A VDO pool with its only volume; an instance's or orphaned volume determines the pool's owner."""
    name, (kind, owner) = layout.any_name()
    pool, room = f"vpool-{layout.number()}", layout.draw.randint(20, 60)
    layout.volumes.add(name, segment(100, "vdo", vdo_pool=_quoted(pool), vdo_offset="0"))
    layout.volumes.add(pool, segment(room, "vdo-pool", data=f'"{pool}_vdata"', **_VDO))
    layout.volumes.hide(f"{pool}_vdata", *layout.on_disk(room))
    layout.extents[kind, owner if kind in ("instance", "orphaned") else f"{layout.group}/{pool}"] += room


def thin(layout: Layout) -> None:
    """A thin pool: the cloud's, with other owners' volumes and snapshots in it; a foreign one; or block storage's."""
    draw = layout.draw
    kind = draw.choice(["cloud", "cloud", "overcommitted", "foreign", "block-storage"])
    if kind == "block-storage" and f"{layout.group}-pool" in layout.traits:
        kind = "cloud"
    if kind == "block-storage":
        layout.traits.add(f"{layout.group}-pool")
    pool = f"{layout.group}-pool" if kind == "block-storage" else f"tpool-{layout.number()}"
    room, taken = _pool(layout, pool)
    owner = ("thin-pool" if kind in ("cloud", "overcommitted") else kind, f"{layout.group}/{pool}")
    layout.pools.append(owner)
    shares = _members(layout, pool, kind, room)
    for whose, share in shares:
        layout.extents[owner if kind == "foreign" else whose] += share
    layout.extents[owner] += taken - sum(share for _, share in shares)


def _members(layout: Layout, pool: str, kind: str, room: int) -> list[tuple[Owner, int]]:
    """Add thin volumes to the pool; return the most extents that each may occupy in it."""
    if kind == "overcommitted":
        name, owner = layout.named("instance")
        layout.volumes.add(name, _thin(pool, 1, room * 3))
        return [(owner, room)]
    shares: list[tuple[Owner, int]] = []
    left = room
    kinds = {"cloud": ["instance", "instance", "foreign"], "foreign": ["foreign"], "block-storage": ["block-storage"]}
    for device in range(1, layout.draw.randint(2, 5)):
        if not left:
            break
        size = layout.draw.randint(1, max(1, left // 3))
        name, owner = layout.named("instance" if kind == "cloud" and device == 1 else layout.draw.choice(kinds[kind]))
        layout.volumes.add(name, _thin(pool, 2 * device, size))
        shares.append((owner, size))
        left -= size
        if layout.draw.random() < 0.4 and left >= size:
            snap = f"before-{layout.number()}"
            layout.volumes.add(snap, _thin(pool, 2 * device + 1, size, origin=_quoted(name)))
            shares.append((owner, size))
            left -= size
    return shares


def _pool(layout: Layout, pool: str) -> tuple[int, int]:
    """Add a pool; return its extents for data, and all extents that it occupies. Its data may lie on a raid1."""
    if layout.draw.random() < 0.3:
        room, taken = _raid(layout, f"{pool}_tdata", layout.volumes.hide, kinds=2)
    else:
        room = taken = layout.draw.randint(12, 40)
        layout.volumes.hide(f"{pool}_tdata", *layout.on_disk(room))
    layout.volumes.hide(f"{pool}_tmeta", *layout.on_disk(1))
    parts = {"metadata": f'"{pool}_tmeta"', "pool": f'"{pool}_tdata"'}
    settings = {"transaction_id": "2", "chunk_size": "128", "discards": '"passdown"', "zero_new_blocks": "1"}
    layout.volumes.add(pool, segment(room, "thin-pool", **parts, **settings))
    return room, taken + 1


def _thin(pool: str, device: int, count: int, **settings: str) -> str:
    return segment(count, "thin", thin_pool=_quoted(pool), transaction_id="1", device_id=str(device), **settings)


def _spare(layout: Layout) -> None:
    """Add the pools' spare metadata if there is one pool: with several it would count for the first pool's owner."""
    if len(layout.pools) == 1:
        layout.volumes.hide("lvol0_pmspare", *layout.on_disk(1))
        layout.extents[layout.pools[0]] += 1


def _quoted(name: str) -> str:
    return f'"{name}"'


STRUCTURES: tuple[Callable[[Layout], None], ...] = (
    linear, striped, block_storage, foreign, snapshot, raid, mirror, integrity, cache, writecache, pvmove, sparse,
    thin, thin, vdo,
)  # fmt: skip
# Structures whose volumes lvm2 hides without an owner's name in their names.
HIDING = frozenset({"pvmove", "cache", "writecache", "integrity"})
_ONCE = frozenset({"pvmove"})


def layout(seed: int, group: str) -> Layout:
    """Return the layout of this seed: three to eight structures; every third layout lacks a disk."""
    made = Layout(draw=random.Random(seed), group=group, missing_disk=seed % 3 == 0)
    for _ in range(made.draw.randint(3, 8)):
        structure = made.draw.choice(STRUCTURES)
        if structure.__name__ in _ONCE & made.traits:
            continue
        structure(made)
        made.traits.add(structure.__name__)
    _spare(made)
    return made
