"""What each instance or move occupies on this host: the resources of a flavor, and why they are occupied."""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.claim import Cause
from agent.model.nova import Flavor, Instance, InstanceCell


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """What one instance occupies on this host: the resources of one flavor.

    ``consumer_uuid``: the consumer that should own the allocation. This is the instance or, if Placement has
    allocations of its migration, the migration. ``moving``: True while the instance moves; a missing guest or a
    different allocation is then expected. ``numa``: the host's NUMA cells that the instance occupies; None if the
    flavor is not bound to NUMA cells.
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
    """An unfinished migration; ``why`` says why it occupies nothing on this host."""

    migration_uuid: str
    instance_uuid: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupied:
    """What instances and moves occupy on this host, and the migrations and instances that could not be counted.

    ``unknown``: the sorted uuids of instances that are, or may be, on this host, but whose flavor is not known.
    """

    occupancies: tuple[Occupancy, ...]
    stuck: tuple[StuckMigration, ...] = ()
    unknown: tuple[str, ...] = ()
