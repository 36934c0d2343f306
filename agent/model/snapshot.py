"""Everything that one audit read: each read ends in a value or an error, never in an empty default."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Generic, TypeAlias, TypeVar

from agent.errors import AgentError, PlacementNotAsked
from agent.model.host.facts import HostFacts
from agent.model.host.storage import StorageFacts, VolumeGroup
from agent.model.host.store import StoreMark
from agent.model.memo import for_the_same_arguments
from agent.model.nova import NovaState, StateSign
from agent.model.placement import Inventory, PlacementView, Provider

T = TypeVar("T")

PLACEMENT = "placement"
STATE = "state"
LIBVIRT = "libvirt"
LVM = "lvm"
FILESYSTEM = "filesystem"
IMAGES = "images"
CEPH = "ceph"
PMEM = "pmem"
# A name for the size of the image cache, used like the name of a source. In fact the source ``images`` measures this
# size together with the guests' disks. The size has a name of its own, because ``images`` may have measured the disks
# but not the cache.
IMAGE_CACHE = "image-cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Generic[T]):
    """The result of one read: exactly one of ``value`` and ``error`` is set.

    ``taken_at`` is ISO 8601 UTC, ``duration_s`` is wall time in seconds.
    """

    source: str
    taken_at: str
    duration_s: float
    value: T | None = None
    error: AgentError | None = None

    def __post_init__(self) -> None:
        if (self.value is None) == (self.error is None):
            raise ValueError(f"a reading of {self.source} needs a value or an error, and not both")

    @property
    def ok(self) -> bool:
        """Whether the read returned a value."""
        return self.error is None

    @property
    def asked(self) -> bool:
        """Whether the agent tried to read the source; False if it could not read another source that it needs first."""
        return not isinstance(self.error, PlacementNotAsked)


AnyReading: TypeAlias = Reading[PlacementView] | Reading[NovaState] | Reading[HostFacts] | Reading[StorageFacts]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRead:
    """Whether an audit read all of nova's rows, or only checked that they had not changed (a light read).

    ``why_full``: why the audit read all rows; empty if a light read was enough.
    ``sign``: the result of the light read; None if there was no light read.
    ``consumers``: the uuids for which the audit requested rows.
    ``saw_change``: whether something has changed since the last audit, or may have changed.
    """

    why_full: str = "the agent did not check whether nova's rows had changed"
    sign: StateSign | None = None
    consumers: frozenset[str] = frozenset()
    saw_change: bool = False

    @property
    def is_light(self) -> bool:
        """Whether a light read was enough, so that the audit uses the rows of an earlier full read."""
        return not self.why_full


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The facts on which the decisions of one audit are based.

    ``store``: the file system or volume group from which an audit last computed DISK_GB, None if not known.
    ``state_read``: whether the audit read all of nova's rows or only checked that they had not changed.
    """

    placement: Reading[PlacementView]
    nova: Reading[NovaState]
    host: Reading[HostFacts]
    storage: tuple[Reading[StorageFacts], ...] = ()
    store: StoreMark | None = None
    state_read: StateRead = field(default_factory=StateRead)

    @property
    def readings(self) -> tuple[AnyReading, ...]:
        """All readings: Placement, state source, libvirt, storage."""
        return (self.placement, self.nova, self.host, *self.storage)

    def fresh(self, source: str) -> bool:
        """Whether the read of the source returned a value; for the image cache, whether its size could be measured."""
        if source == IMAGE_CACHE:
            return any(store.cache_bytes is not None for store in self.stored.image_stores)
        return any(r.source == source and r.ok for r in self.readings)

    def recorded_inventory(self, resource_class: str) -> Inventory | None:
        """Return the class's inventory on the root in Placement; None if absent or if Placement was not read."""
        root = self.observed_root
        return root.inventory(resource_class) if root else None

    @property
    def observed_root(self) -> Provider | None:
        """The root provider as Placement has it; None if it does not exist or Placement was not read."""
        view = self.placement.value
        return view.root if view else None

    @property
    def root_classes_in_use(self) -> frozenset[str]:
        """The classes that have an inventory and allocations on the root; empty if Placement was not read."""
        view, root = self.placement.value, self.observed_root
        if view is None or root is None:
            return frozenset()
        return _used_on_root(view) & frozenset(i.resource_class for i in root.inventories)

    @property
    def stored(self) -> StorageFacts:
        """The facts of all storage sources that were read, as one value."""
        return _stored(self.storage)

    def group(self, name: str) -> VolumeGroup | None:
        """Return the volume group of that name, or None if no source reported it."""
        return next((group for group in self.stored.groups if group.name == name), None)


@for_the_same_arguments
def _stored(storage: tuple[Reading[StorageFacts], ...]) -> StorageFacts:
    read = [reading.value for reading in storage if reading.value]
    return StorageFacts(**{f.name: _joined([getattr(part, f.name) for part in read]) for f in fields(StorageFacts)})


def _joined(parts: Iterable[tuple[T, ...]]) -> tuple[T, ...]:
    found = [part for part in parts if part]
    # If only one part has values, return its own tuple and not a copy. If the next audit has the same tuple, comparing
    # the two is fast.
    return found[0] if len(found) == 1 else tuple(one for part in found for one in part)


@for_the_same_arguments
def _used_on_root(view: PlacementView) -> frozenset[str]:
    return frozenset(a.resource_class for a in view.allocations if a.provider_uuid == view.root_uuid)
