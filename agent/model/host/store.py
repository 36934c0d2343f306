"""The store that DISK_GB counts, as it is remembered from audit to audit: which one it is, and how large it was."""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.host.storage import FileSystemIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreMark:
    """One store. ``source`` is the source that measures it, ``name`` the path or the volume group.

    ``uuid`` is the file system's or the volume group's, None where it has none or the host did not say.
    ``filesystem`` is None for a volume group.
    """

    source: str
    name: str
    size_bytes: int
    uuid: str | None = None
    filesystem: FileSystemIdentity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRecord:
    """What the state directory says of the store; ``mark`` None: an operator's undo made the agent forget it."""

    mark: StoreMark | None
