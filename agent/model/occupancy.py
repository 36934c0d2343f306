"""What each instance or move occupies on this host: the resources of a flavor, and the cause."""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.claim import Cause
from agent.model.nova import Flavor, Instance, InstanceCell


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """The resources of one flavor, which one instance occupies on this host.

    ``consumer_uuid`` is the consumer that should own the allocation: the instance, or its migration if Placement
    records allocations of the migration. ``moving`` is True while the instance moves: then a missing guest or a
    different allocation is expected. ``numa`` are the occupied NUMA cells of the host, None if the flavor is not bound
    to NUMA cells.
    """

    instance: Instance
    flavor: Flavor
    cause: Cause
    consumer_uuid: str
    consumer_kind: str
    moving: bool = False
    numa: tuple[InstanceCell, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckMigration:
    """An unfinished migration that occupies nothing on this host; ``why`` is the reason."""

    migration_uuid: str
    instance_uuid: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupied:
    """All occupancies of a host, and the migrations and instances that could not be counted.

    ``unknown`` are the sorted uuids of instances that are, or may be, on this host and whose size cannot be read.
    """

    occupancies: tuple[Occupancy, ...]
    stuck: tuple[StuckMigration, ...] = ()
    unknown: tuple[str, ...] = ()
