"""One flavor's worth of this host, and why it is taken."""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.claim import Cause
from agent.model.nova import Flavor, Instance, InstanceCell


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """``consumer_uuid`` is who should hold the allocation: the instance, or its migration where Placement says so.

    ``moving`` is True while the instance is on its way: a missing guest or a
    differing allocation is then no news. ``numa`` are the host's cells that this
    flavor's worth sits in, None where nothing ties it to cells.
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
    """A migration that is not finished, but that does not count, and why."""

    migration_uuid: str
    instance_uuid: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupied:
    """All occupancies of a host, and what was left out of them.

    ``unknown`` are uuids of instances that are here, or may be, and whose size cannot be read, sorted.
    """

    occupancies: tuple[Occupancy, ...]
    stuck: tuple[StuckMigration, ...] = ()
    unknown: tuple[str, ...] = ()
