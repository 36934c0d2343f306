"""Volume group layouts as lvm2's own metadata text: making such volumes needs device-mapper, a report does not."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

_HIDDEN = '"READ", "WRITE"'
_VISIBLE = '"READ", "WRITE", "VISIBLE"'


def linear(*runs: tuple[int, int]) -> list[str]:
    """Return segments of runs (first extent on the disk, count)."""
    starts = itertools.accumulate((count for _, count in runs), initial=0)
    return [striped(start, count, (first,)) for start, (first, count) in zip(starts, runs, strict=False)]


def striped(start: int, count: int, firsts: tuple[int, ...]) -> str:
    areas = ", ".join(f'"pv0", {first}' for first in firsts)
    size = "stripe_size = 128\n" if len(firsts) > 1 else ""
    return f'{_span(start, count)}type = "striped"\nstripe_count = {len(firsts)}\n{size}stripes = [{areas}]'


def segment(count: int, kind: str, **settings: str) -> str:
    return _span(0, count) + f'type = "{kind}"\n' + "\n".join(f"{key} = {value}" for key, value in settings.items())


def _span(start: int, count: int) -> str:
    return f"start_extent = {start}\nextent_count = {count}\n"


class Volumes:
    """The text of a group's ``logical_volumes`` block, built one volume at a time."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, name: str, *segments: str, status: str = _VISIBLE) -> None:
        digits = f"{len(self._texts) + 1:032d}"
        cuts = itertools.pairwise((0, 6, 10, 14, 18, 22, 26, 32))
        uuid = "-".join(digits[start:end] for start, end in cuts)
        bodies = "\n".join(f"segment{number} {{\n{text}\n}}" for number, text in enumerate(segments, 1))
        head = f'id = "{uuid}"\nstatus = [{status}]\nflags = []\nsegment_count = {len(segments)}\n'
        self._texts.append(f"{name} {{\n{head}{bodies}\n}}")

    def hide(self, name: str, *segments: str, flags: Iterable[str] = ()) -> None:
        self.add(name, *segments, status=", ".join([_HIDDEN, *(f'"{flag}"' for flag in flags)]))

    def into(self, backup: str) -> str:
        """Return the backup (vgcfgbackup's text) of a group without volumes, with these volumes added."""
        assert "logical_volumes" not in backup, "only a group without volumes can be filled"
        block = "\n".join(self._texts)
        return backup.rstrip().removesuffix("}") + f"logical_volumes {{\n{block}\n}}\n}}\n"


def every_kind() -> Volumes:
    """Return each kind of volume once, each on its own extents: 104 in all, by the counts in the comments."""
    volumes = Volumes()
    volumes.add("lin", *linear((0, 5), (10, 3)))  # 8
    volumes.add("strp", striped(0, 6, (20, 30)))  # 6: three on each stripe
    _thin(volumes)  # 50 + 1 + 1
    volumes.hide("snap", *linear((92, 2)))  # 2
    volumes.hide("snapshot0", segment(8, "snapshot", chunk_size="8", origin='"lin"', cow_store='"snap"'))
    _raid_and_mirror(volumes)  # 2 * (1 + 4), 1 + 2 * 4
    _cache(volumes)  # 4 + 4 + 1
    volumes.hide("sparse", *linear((130, 2)))  # 2
    volumes.hide("sparse_vorigin", segment(30, "zero"))
    volumes.hide("snapshot1", segment(30, "snapshot", chunk_size="8", origin='"sparse_vorigin"', cow_store='"sparse"'))
    volumes.add("moved", segment(3, "striped", stripe_count="1", stripes='["pvmove0", 0]'))
    both_sides = '["pv0", 140, "pv0", 150]'  # 2 * 3
    moving = segment(3, "mirror", mirror_count="2", region_size="1024", extents_moved="0", mirrors=both_sides)
    volumes.hide("pvmove0", moving, flags=("PVMOVE", "LOCKED"))
    return volumes


def thin_pool(pool: str, *volumes_in_it: str) -> Volumes:
    """Return a thin pool of 50 extents, 1 of metadata, 1 spare, with thin volumes of 100 extents each."""
    volumes = Volumes()
    _pool(volumes, pool)
    for number, name in enumerate(volumes_in_it, 1):
        volumes.add(name, _thin_segment(pool, number))
    return volumes


def _thin(volumes: Volumes) -> None:
    _pool(volumes, "tpool")
    volumes.add("thin", _thin_segment("tpool", 1))
    volumes.add("thinsnap", _thin_segment("tpool", 2, origin='"thin"'))


def _pool(volumes: Volumes, pool: str) -> None:
    parts = {"metadata": f'"{pool}_tmeta"', "pool": f'"{pool}_tdata"'}
    settings = {"transaction_id": "2", "chunk_size": "128", "discards": '"passdown"', "zero_new_blocks": "1"}
    volumes.add(pool, segment(50, "thin-pool", **parts, **settings))
    volumes.hide(f"{pool}_tdata", *linear((40, 50)))
    volumes.hide(f"{pool}_tmeta", *linear((90, 1)))
    volumes.hide("lvol0_pmspare", *linear((91, 1)))


def _thin_segment(pool: str, device_id: int, **settings: str) -> str:
    return segment(100, "thin", thin_pool=f'"{pool}"', transaction_id="1", device_id=str(device_id), **settings)


def _raid_and_mirror(volumes: Volumes) -> None:
    legs = '["r1_rmeta_0", "r1_rimage_0", "r1_rmeta_1", "r1_rimage_1"]'
    volumes.add("r1", segment(4, "raid1", device_count="2", region_size="4096", raids=legs))
    for leg, first in enumerate((100, 105)):
        volumes.hide(f"r1_rmeta_{leg}", *linear((first, 1)))
        volumes.hide(f"r1_rimage_{leg}", *linear((first + 1, 4)))
    images = '["m_mimage_0", 0, "m_mimage_1", 0]'
    settings = {"mirror_count": "2", "mirror_log": '"m_mlog"', "region_size": "1024"}
    volumes.add("m", segment(4, "mirror", **settings, mirrors=images))
    volumes.hide("m_mlog", *linear((110, 1)))
    volumes.hide("m_mimage_0", *linear((111, 4)))
    volumes.hide("m_mimage_1", *linear((115, 4)))


def _cache(volumes: Volumes) -> None:
    volumes.add("c", segment(4, "cache", cache_pool='"cp_cpool"', origin='"c_corig"'))
    volumes.hide("c_corig", *linear((120, 4)))
    parts = {"data": '"cp_cpool_cdata"', "metadata": '"cp_cpool_cmeta"'}
    settings = {"metadata_format": "2", "chunk_size": "128", "cache_mode": '"writethrough"', "policy": '"smq"'}
    volumes.hide("cp_cpool", segment(4, "cache-pool", **parts, **settings))
    volumes.hide("cp_cpool_cdata", *linear((124, 4)))
    volumes.hide("cp_cpool_cmeta", *linear((128, 1)))
