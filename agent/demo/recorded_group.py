"""Simulate lvm2's reports about a volume group, for a host where the demo cannot create a real volume group.

Only lvm2's output is simulated; the agent parses it with the same code as real output.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import uuid
from dataclasses import dataclass, field

from agent.errors import AgentError
from agent.model.units import MIB
from agent.sources.storage import lvm_json
from agent.sources.storage.lvm import Completed, Runner

# The size in bytes of an extent, and the size in bytes of the metadata at the start of the volume group. Both are
# lvm2's defaults.
_EXTENT_BYTES = 4 * MIB
_METADATA_BYTES = MIB


class NoVolumeGroup(AgentError):
    """An operation on the volume group or on one of its volumes failed; the message contains the reason."""


@dataclass(slots=True, kw_only=True)
class RecordedGroup:
    """A simulated volume group for a host where the demo cannot create a real one; ``reason`` says why the demo cannot.

    The agent calls ``run`` instead of starting lvm2's commands. The output of ``run`` shows the current volumes in the
    form of lvm2 2.03.
    """

    name: str
    size_bytes: int
    reason: str
    _volumes: dict[str, int] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """A short description of the group for the operator."""
        return f"simulated volume group ({self.reason})"

    @property
    def runner(self) -> Runner:
        """Return this object: its method ``run`` replaces the commands vgs and lvs."""
        return self

    def add_volume(self, name: str, size_bytes: int) -> None:
        """Add a linear volume. Raises NoVolumeGroup if the name exists, or if too few extents are free."""
        if name in self._volumes:
            raise NoVolumeGroup(f"volume {name} exists already in {self.name}")
        if _extents(size_bytes) > self._free_extents():
            raise NoVolumeGroup(f"{self.name} has less than {size_bytes} bytes of free space")
        self._volumes[name] = size_bytes

    def remove_volume(self, name: str) -> None:
        """Remove a volume. Raises NoVolumeGroup if the group has no such volume."""
        if self._volumes.pop(name, None) is None:
            raise NoVolumeGroup(f"there is no volume {name} in {self.name}")

    def close(self) -> None:
        """Do nothing: this class creates nothing on the machine."""

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Completed:  # noqa: ARG002  (no process that could hang)
        """Return the output of vgs or lvs. Raises FileNotFoundError for any other command."""
        if argv[0] == "vgs":
            return _completed("vg", self._group_rows())
        if argv[0] == "lvs":
            return _completed("lv", self._volume_rows())
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])

    def _all_extents(self) -> int:
        return (self.size_bytes - _METADATA_BYTES) // _EXTENT_BYTES

    def _free_extents(self) -> int:
        return self._all_extents() - sum(map(_extents, self._volumes.values()))

    def _group_rows(self) -> list[dict[str, str]]:
        sizes = (self._all_extents() * _EXTENT_BYTES, self._free_extents() * _EXTENT_BYTES, _EXTENT_BYTES, 0)
        values = (self.name, _lvm_uuid(self.name), *map(str, sizes))
        return [dict(zip(lvm_json.GROUP_COLUMNS.split(","), values, strict=True))]

    def _volume_rows(self) -> list[dict[str, str]]:
        rows: list[dict[str, str]] = []
        first = 0
        for name, size_bytes in self._volumes.items():
            count = _extents(size_bytes)
            known = {
                "vg_name": self.name,
                "lv_name": name,
                "lv_uuid": _lvm_uuid(f"{self.name}/{name}"),
                "lv_size": str(count * _EXTENT_BYTES),
                "lv_role": "public",
                "segtype": "linear",
                "seg_le_ranges": f"/dev/recorded:{first}-{first + count - 1}",
            }
            rows.append({column: known.get(column, "") for column in lvm_json.VOLUME_COLUMNS.split(",")})
            first += count
        return rows


def _completed(kind: str, rows: list[dict[str, str]]) -> Completed:
    return Completed(json.dumps({"report": [{kind: rows}]}, indent=4), "", 0)


def _extents(size_bytes: int) -> int:
    return -(-size_bytes // _EXTENT_BYTES)


def _lvm_uuid(name: str) -> str:
    """Return a uuid in lvm2's format (6-4-4-4-4-4-6), always the same for one name."""
    text = uuid.uuid5(uuid.NAMESPACE_OID, name).hex
    cuts = (0, 6, 10, 14, 18, 22, 26, 32)
    return "-".join(text[start:end] for start, end in itertools.pairwise(cuts))
