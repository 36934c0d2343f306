"""Report on a volume group that is not there, as lvm2 would: for the demo where no real one can be made.

Only the text is made up; it goes through the parser that reads lvm2's own.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from agent.errors import AgentError
from agent.model.units import MIB
from agent.sources.storage import lvm_json
from agent.sources.storage.lvm import Completed, Runner

# lvm2's defaults: 4 MiB extents; the first MiB of the device is for metadata.
_EXTENT_BYTES = 4 * MIB
_METADATA_BYTES = MIB


class NoVolumeGroup(AgentError):
    """The volume group, or a volume in it, cannot be made here; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """A group to report on: its device's size, and its linear volumes as (name, bytes)."""

    name: str
    size_bytes: int
    volumes: tuple[tuple[str, int], ...] = ()


def recorded_report(group: DescribedGroup) -> Runner:
    """A runner that answers vgs and lvs as lvm2 2.03 would if this group were there, extents and all."""
    return _Recorded(lambda: group)


@dataclass(slots=True, kw_only=True)
class RecordedGroup:
    """Stands in for VolumeGroupRig where none can be made (``reason``): the report is rendered, the parser is real."""

    name: str
    size_bytes: int
    reason: str
    _volumes: dict[str, int] = field(default_factory=dict)

    @property
    def told(self) -> str:
        """What it is, for people."""
        return f"a recorded lvm2 report ({self.reason})"

    @property
    def runner(self) -> Runner:
        """Answers about the group as it stands when it is asked."""
        return _Recorded(self._described)

    def add_volume(self, name: str, size_bytes: int) -> None:
        """A linear volume, its size rounded up to whole extents. Raises NoVolumeGroup."""
        if name in self._volumes:
            raise NoVolumeGroup(f"volume {name} exists already in {self.name}")
        grown = replace(self._described(), volumes=(*self._volumes.items(), (name, size_bytes)))
        if _free_extents(grown) < 0:
            raise NoVolumeGroup(f"{self.name} has no room for {size_bytes} bytes")
        self._volumes[name] = size_bytes

    def remove_volume(self, name: str) -> None:
        """Remove it. Raises NoVolumeGroup when there is none."""
        if self._volumes.pop(name, None) is None:
            raise NoVolumeGroup(f"there is no volume {name} in {self.name}")

    def close(self) -> None:
        """Nothing was made on the machine."""

    def _described(self) -> DescribedGroup:
        return DescribedGroup(name=self.name, size_bytes=self.size_bytes, volumes=tuple(self._volumes.items()))


@dataclass(frozen=True, slots=True)
class _Recorded:
    describe: Callable[[], DescribedGroup]

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Completed:  # noqa: ARG002  (a rendered answer takes none)
        """The report that the command asks for; any other command is not there."""
        group = self.describe()
        if argv[0] == "vgs":
            return _completed("vg", _group_rows(group))
        if argv[0] == "lvs":
            return _completed("lv", _volume_rows(group))
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])


def _completed(kind: str, rows: list[dict[str, str]]) -> Completed:
    return Completed(json.dumps({"report": [{kind: rows}]}, indent=4), "", 0)


def _extents(size_bytes: int) -> int:
    return -(-size_bytes // _EXTENT_BYTES)


def _all_extents(group: DescribedGroup) -> int:
    return (group.size_bytes - _METADATA_BYTES) // _EXTENT_BYTES


def _free_extents(group: DescribedGroup) -> int:
    return _all_extents(group) - sum(_extents(size) for _, size in group.volumes)


def _group_rows(group: DescribedGroup) -> list[dict[str, str]]:
    values = (
        group.name,
        _lvm_uuid(group.name),
        str(_all_extents(group) * _EXTENT_BYTES),
        str(_free_extents(group) * _EXTENT_BYTES),
        str(_EXTENT_BYTES),
        "0",
    )
    return [dict(zip(lvm_json.GROUP_COLUMNS.split(","), values, strict=True))]


def _volume_rows(group: DescribedGroup) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    first = 0
    for name, size_bytes in group.volumes:
        count = _extents(size_bytes)
        known = {
            "vg_name": group.name,
            "lv_name": name,
            "lv_uuid": _lvm_uuid(f"{group.name}/{name}"),
            "lv_size": str(count * _EXTENT_BYTES),
            "lv_role": "public",
            "segtype": "linear",
            "seg_le_ranges": f"/dev/recorded:{first}-{first + count - 1}",
        }
        rows.append({column: known.get(column, "") for column in lvm_json.VOLUME_COLUMNS.split(",")})
        first += count
    return rows


def _lvm_uuid(name: str) -> str:
    """A uuid in lvm2's shape (6-4-4-4-4-4-6), always the same for one name."""
    text = uuid.uuid5(uuid.NAMESPACE_OID, name).hex
    cuts = (0, 6, 10, 14, 18, 22, 26, 32)
    return "-".join(text[start:end] for start, end in itertools.pairwise(cuts))
