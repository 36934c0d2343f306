"""Parse lvm2's JSON reports: volume groups, their volumes, and the number of extents of each volume.

Every value in a report is a string. The name of a hidden volume is in brackets. A volume has one row per segment.

The parser counts extents with the column ``seg_le_ranges``, which lists the areas of a segment. An area is either on a
physical volume or on another volume of the group. The parser counts only the areas on physical volumes, and assigns
their extents to the segment's volume. So each extent counts once, whatever the layout (stripes, legs, pools).
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from agent.errors import SourceInconsistent
from agent.model.host.storage import StorageFacts, ThinPool, Volume, VolumeGroup
from agent.model.snapshot import LVM
from agent.text.numbers import whole_text

GROUP_COLUMNS = "vg_name,vg_uuid,vg_size,vg_free,vg_extent_size,vg_missing_pv_count"
VOLUME_COLUMNS = (
    "vg_name,lv_name,lv_uuid,lv_size,lv_role,lv_parent,origin,pool_lv,segtype,seg_le_ranges,lv_tags,"
    "data_percent,metadata_percent,lv_metadata_size"
)
FORMAT = ("--reportformat", "json", "--units", "b", "--nosuffix")

# The text that lvm2 prints in place of a device if lvm2 cannot find the physical volume.
_MISSING_DEVICE = "[unknown]"
# The types of volumes whose extents belong to their pool. A cached volume names a pool too, but has its own extents.
_IN_POOL = frozenset({"thin", "vdo"})
_POOLS = frozenset({"thin-pool", "cache-pool"})
_CHECKSUMS = frozenset({"integrity", "metadata"})
_NUMBER = re.compile(r"[0-9]{1,20}")
_PERCENT = re.compile(r"(100|[0-9]{1,2})(\.[0-9]{1,6})?")
_AREA = re.compile(r"(?P<device>.+):(?P<first>[0-9]{1,18})-(?P<last>[0-9]{1,18})")

Row = Mapping[str, str]


class ReportsDiffer(SourceInconsistent):
    """The report on groups contradicts the report on volumes, because LVM changed between the two commands.

    The caller runs both commands again.
    """


@dataclass(frozen=True, slots=True)
class _Area:
    device: str
    extents: int


def parse_groups(text: str) -> tuple[VolumeGroup, ...]:
    """Return the groups of a ``vgs`` report, sorted by name; () if lvm2 listed none. Raises SourceInconsistent."""
    return tuple(sorted((_group(row) for row in _rows(text, "vg")), key=lambda group: (group.name, group.uuid)))


def select(groups: tuple[VolumeGroup, ...], names: Iterable[str]) -> tuple[VolumeGroup, ...]:
    """Return the groups with these names. Raises SourceInconsistent if two groups share a name (a copied disk)."""
    chosen = tuple(group for group in groups if group.name in frozenset(names))
    for earlier, later in itertools.pairwise(chosen):
        if earlier.name == later.name:
            _refuse(f"two volume groups are named {later.name!r} ({earlier.uuid!r}, {later.uuid!r})")
    return chosen


# While no volume changes, lvs prints the same report in every audit: 1.3 MB for 2,000 volumes. Parsing it takes
# longer than the rest of the audit. For an equal report the cache returns the same objects, which later stages
# recognize as unchanged.
@functools.lru_cache(maxsize=1)
def parse_storage(text: str, groups: tuple[VolumeGroup, ...]) -> StorageFacts:
    """Parse an ``lvs -a`` report with VOLUME_COLUMNS. Return ``groups`` with their volumes and thin pools, by name.

    Sizes are bytes. Raises SourceInconsistent, which names the item, if an item cannot be parsed. Raises ReportsDiffer
    if the extents of a group's volumes and the group's free space do not add up to the group's size.
    """
    by_group: dict[str, list[Row]] = defaultdict(list)
    for row in _rows(text, "lv"):
        by_group[_field(row, "vg_name")].append(row)
    volumes = tuple(volume for group in groups for volume in _group_volumes(group, by_group[group.name]))
    for group in groups:
        _check_balance(group, volumes)
    return StorageFacts(
        groups=groups,
        volumes=tuple(sorted(volumes, key=lambda volume: (volume.group, volume.name))),
        thin_pools=tuple(pool for group in groups for pool in _thin_pools(group, by_group[group.name])),
    )


def _thin_pools(group: VolumeGroup, rows: list[Row]) -> list[ThinPool]:
    mapped: dict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        percent = _percent(row, "data_percent") if _field(row, "segtype") == "thin" else None
        if percent is not None:
            name = _name(row, "lv_name")
            size_bytes = _number(row, "lv_size", f"{group.name}/{name}")
            mapped[_bare(_field(row, "pool_lv"))][name] = round(size_bytes * percent / 100)
    pools = (_thin_pool(group, row, mapped) for row in rows if _field(row, "segtype") == "thin-pool")
    return sorted(pools, key=lambda pool: pool.name)


def _thin_pool(group: VolumeGroup, row: Row, mapped: Mapping[str, Mapping[str, int]]) -> ThinPool:
    name = _name(row, "lv_name")
    item = f"{group.name}/{name}"
    return ThinPool(
        group=group.name,
        name=name,
        size_bytes=_number(row, "lv_size", item),
        metadata_bytes=_number(row, "lv_metadata_size", item),
        data_percent=_percent(row, "data_percent"),
        metadata_percent=_percent(row, "metadata_percent"),
        mapped=tuple(sorted(mapped.get(name, {}).items())),
    )


def _rows(text: str, kind: str) -> list[Row]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceInconsistent(LVM, f"the report on {kind} is not JSON ({error})") from error
    reports = document.get("report") if isinstance(document, dict) else None
    if not isinstance(reports, list) or not reports:
        _refuse(f"the report on {kind} has no list 'report'")
    rows: list[Row] = []
    for report in reports:
        found = report.get(kind) if isinstance(report, dict) else None
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            _refuse(f"the report has no list {kind!r} of JSON objects")
        rows.extend(found)
    return rows


def _group(row: Row) -> VolumeGroup:
    name = _name(row, "vg_name")
    group = VolumeGroup(
        name=name,
        uuid=_field(row, "vg_uuid"),
        size_bytes=_number(row, "vg_size", name),
        free_bytes=_number(row, "vg_free", name),
        extent_bytes=_number(row, "vg_extent_size", name),
        missing_pvs=_number(row, "vg_missing_pv_count", name),
    )
    if group.free_bytes > group.size_bytes or not group.extent_bytes:
        _refuse(
            f"volume group {name!r} has impossible sizes: {group.free_bytes} of {group.size_bytes} bytes free, "
            f"extents of {group.extent_bytes} bytes"
        )
    return group


def _group_volumes(group: VolumeGroup, rows: list[Row]) -> list[Volume]:
    segments: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        segments[_name(row, "lv_name")].append(row)
    areas = {name: _areas(f"{group.name}/{name}", found) for name, found in segments.items()}
    parents = _Parents(segments, areas)
    return [_volume(group, name, found, areas, parents) for name, found in segments.items()]


def _volume(
    group: VolumeGroup, name: str, segments: list[Row], areas: Mapping[str, tuple[_Area, ...]], parents: _Parents
) -> Volume:
    row = segments[0]
    hidden = _field(row, "lv_name").startswith("[")
    extents = sum(_extents_on_disks(area, f"{group.name}/{name}", areas) for area in areas[name])
    return Volume(
        group=group.name,
        name=name,
        uuid=_field(row, "lv_uuid"),
        size_bytes=_number(row, "lv_size", f"{group.name}/{name}"),
        extent_bytes=extents * group.extent_bytes,
        pool=_bare(_field(row, "pool_lv")) or None if _field(row, "segtype") in _IN_POOL else None,
        origin=parents.origin_of(name),
        parent=parents.of(name) if hidden else None,
        role=_field(row, "lv_role"),
        hidden=hidden,
        tags=tuple(sorted(tag for tag in _field(row, "lv_tags").split(",") if tag)),
        segment_type=_field(row, "segtype"),
    )


class _Parents:
    """Finds the parent of a hidden volume. lvm2 (2.03.16) reports the parent only of RAID legs and parts of pools."""

    def __init__(self, segments: Mapping[str, list[Row]], areas: Mapping[str, tuple[_Area, ...]]) -> None:
        self._named: dict[str, str] = {}
        self._on_it: dict[str, set[str]] = defaultdict(set)
        self._users: dict[str, set[str]] = defaultdict(set)
        self._origins: dict[str, str] = {}
        self._pools: list[str] = []
        self._spares: set[str] = set()
        for name, rows in segments.items():
            self._note(name, rows[0], areas[name])

    def _note(self, name: str, row: Row, areas: Iterable[_Area]) -> None:
        if parent := _bare(_field(row, "lv_parent")):
            self._named[name] = parent
        self._origins[name] = origin = _field(row, "origin")
        for area in areas:
            self._on_it[_bare(area.device)].add(name)
        for link in {origin, _field(row, "pool_lv")} - {""}:
            self._users[_bare(link)].add(name)
        if _field(row, "segtype") in _POOLS:
            self._pools.append(name)
        roles = frozenset(_field(row, "lv_role").split(","))
        if "spare" in roles:
            self._spares.add(name)
        if roles >= _CHECKSUMS:
            # The volume NAME_imeta has dm-integrity's checksums and belongs to the volume NAME. Only the names show
            # this: lvm2 reports no other link.
            self._users[name].add(name.removesuffix("_imeta"))

    def of(self, name: str) -> str | None:
        """Return the parent of the hidden volume ``name``, or None. The first rule with a result decides.

        1. the volume that lvm2 reports as the parent;
        2. a volume that has data on ``name``;
        3. a volume that names ``name`` as its origin or pool;
        4. a pool, if ``name`` is a spare.

        Rule 2 comes before rule 3, because a snapshot of a cached thin volume also matches rule 3, but is not the
        parent. If a rule finds several volumes, return the first by name. A rule can find several after pvmove, or if
        several pools share a spare.
        """
        if parent := self._named.get(name):
            return parent
        for users in (self._on_it.get(name, set()), self._users.get(name, set())):
            if others := users - {name}:
                return min(others)
        return min(self._pools, default=None) if name in self._spares else None

    def origin_of(self, name: str) -> str | None:
        """Return the volume of which ``name`` is a snapshot, or None.

        lvm2 reports a hidden part of a cached volume as the volume's origin. But a cached volume is no snapshot, so
        the result is None.
        """
        origin = self._origins[name]
        is_part = origin.startswith("[") and self.of(_bare(origin)) == name
        return None if is_part else _bare(origin) or None


def _areas(path: str, segments: list[Row]) -> tuple[_Area, ...]:
    return tuple(_area(path, text) for row in segments for text in _field(row, "seg_le_ranges").split(",") if text)


def _area(path: str, text: str) -> _Area:
    match = _AREA.fullmatch(text)
    if match is None or int(match["last"]) < int(match["first"]):
        _refuse(f"volume {path!r} lies on {text!r}, which has not the form DEVICE:FIRST-LAST")
    return _Area(device=match["device"], extents=int(match["last"]) - int(match["first"]) + 1)


def _extents_on_disks(area: _Area, path: str, volumes: Mapping[str, object]) -> int:
    """Return the area's extents if the area is on a physical volume (found or missing); 0 if on a logical volume."""
    if area.device.startswith("/") or area.device == _MISSING_DEVICE:
        return area.extents
    if _bare(area.device) in volumes:
        return 0
    return _refuse(f"volume {path!r} lies on {area.device!r}, which is neither a device nor a volume of its group")


def _check_balance(group: VolumeGroup, volumes: Iterable[Volume]) -> None:
    taken = sum(volume.extent_bytes for volume in volumes if volume.group == group.name)
    if taken + group.free_bytes != group.size_bytes:
        raise ReportsDiffer(
            LVM,
            f"volume group {group.name!r}: its volumes take {taken} bytes and {group.free_bytes} are free, "
            f"but its size is {group.size_bytes}",
        )


def _field(row: Row, column: str) -> str:
    value: object = row.get(column)
    if not isinstance(value, str):
        _refuse(f"column {column} is {value!r}, not text, in {dict(row)!r:.200}")
    return value


def _name(row: Row, column: str) -> str:
    name = _bare(_field(row, column))
    if not name or "/" in name:
        _refuse(f"the value of column {column} is not a name: {name!r}")
    return name


def _number(row: Row, column: str, item: str) -> int:
    text = _field(row, column)
    number = whole_text(text) if _NUMBER.fullmatch(text) else None
    if number is None:
        _refuse(f"{column} of {item!r} is {text!r:.60}, not a whole number")
    return number


def _percent(row: Row, column: str) -> float | None:
    """Return a percentage from 0 to 100; None if lvm2 left ``column`` empty."""
    text = _field(row, column)
    if not text:
        return None
    if not _PERCENT.fullmatch(text) or float(text) > 100:
        _refuse(f"{column} of {_field(row, 'lv_name')!r} is {text!r:.60}, not a percentage")
    return float(text)


def _bare(name: str) -> str:
    """Return the name without the brackets that mark a hidden volume."""
    return name.removeprefix("[").removesuffix("]")


def _refuse(what: str) -> NoReturn:
    raise SourceInconsistent(LVM, what)
