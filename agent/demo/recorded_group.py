"""Simulate lvm2's reports about a volume group, for the demo on a host where it cannot create a real one.

Only lvm2's output is simulated; the agent parses it with the same code as real output.
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

# lvm2's defaults: extents of 4 MiB, and metadata in the first MiB of the device.
_EXTENT_BYTES = 4 * MIB
_METADATA_BYTES = MIB


class NoVolumeGroup(AgentError):
    """An operation on the volume group or on one of its volumes failed; the message contains the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """A simulated volume group: the size of its device, and its linear volumes as (name, bytes)."""

    name: str
    size_bytes: int
    volumes: tuple[tuple[str, int], ...] = ()


def recorded_report(group: DescribedGroup) -> Runner:
    """Return a runner whose vgs and lvs output is that of lvm2 2.03 for this group, extents included."""
    return _Recorded(lambda: group)


@dataclass(slots=True, kw_only=True)
class RecordedGroup:
    """Replaces VolumeGroupRig if the demo cannot create a real group (``reason``); only lvm2's output is simulated."""

    name: str
    size_bytes: int
    reason: str
    _volumes: dict[str, int] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """A short description of the group for the operator."""
        return f"a recorded lvm2 report ({self.reason})"

    @property
    def runner(self) -> Runner:
        """A runner whose output always describes the current volumes."""
        return _Recorded(self._described)

    def add_volume(self, name: str, size_bytes: int) -> None:
        """Add a linear volume, its size rounded up to whole extents. Raises NoVolumeGroup."""
        if name in self._volumes:
            raise NoVolumeGroup(f"volume {name} exists already in {self.name}")
        grown = replace(self._described(), volumes=(*self._volumes.items(), (name, size_bytes)))
        if _free_extents(grown) < 0:
            raise NoVolumeGroup(f"{self.name} has no room for {size_bytes} bytes")
        self._volumes[name] = size_bytes

    def remove_volume(self, name: str) -> None:
        """Remove a volume. Raises NoVolumeGroup if there is no such volume."""
        if self._volumes.pop(name, None) is None:
            raise NoVolumeGroup(f"there is no volume {name} in {self.name}")

    def close(self) -> None:
        """Do nothing: this class creates nothing on the machine."""

    def _described(self) -> DescribedGroup:
        return DescribedGroup(name=self.name, size_bytes=self.size_bytes, volumes=tuple(self._volumes.items()))


@dataclass(frozen=True, slots=True)
class _Recorded:
    describe: Callable[[], DescribedGroup]

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Completed:  # noqa: ARG002  (a rendered answer takes none)
        """Return the output of vgs or lvs. Raises FileNotFoundError for any other command."""
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
    """Return a uuid in lvm2's format (6-4-4-4-4-4-6), always the same for one name."""
    text = uuid.uuid5(uuid.NAMESPACE_OID, name).hex
    cuts = (0, 6, 10, 14, 18, 22, 26, 32)
    return "-".join(text[start:end] for start, end in itertools.pairwise(cuts))
