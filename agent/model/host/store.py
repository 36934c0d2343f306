"""The file system or volume group that DISK_GB counts ("the store"), as the agent remembers it from audit to audit."""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.host.storage import FileSystemIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreMark:
    """The file system or volume group (store) from which the agent last computed DISK_GB.

    ``source`` is the source that measures the store. ``name`` is the path of a file system, or the name of a group.
    ``uuid`` is None if the store has no uuid or the host did not report it. ``filesystem`` is None for a volume group.
    """

    source: str
    name: str
    size_bytes: int
    uuid: str | None = None
    filesystem: FileSystemIdentity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRecord:
    """The contents of store.json: the store from which the agent last computed DISK_GB.

    ``mark`` is None if the operator made the agent forget the store with ``stocktake undo``.
    """

    mark: StoreMark | None
