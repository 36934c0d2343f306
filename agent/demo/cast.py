"""Who is in the demo's world: two hosts, their guests, and what went wrong. Values only.

The numbers are those of the stories: 16 vCPUs by four guests and 8 by an
evacuation that is over; 24 CPUs x 2.0 with 91 vCPUs recorded, which is -43 free;
500 GiB with 7,832 recorded, which is -7332 free.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from agent.model.nova import Flavor
from agent.model.units import GIB

_NAMES = uuid.UUID("5a7c7f0e-3d0a-4a43-9d0e-7b6f6d1b4f10")
ELSEWHERE = "stocktake-demo-3"
PROJECT = str(uuid.uuid5(_NAMES, "project"))
USER = str(uuid.uuid5(_NAMES, "user"))


def known_uuid(name: str) -> str:
    """The uuid that goes by this name in the demo's world, the same in each run."""
    return str(uuid.uuid5(_NAMES, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """An instance, and the domain that it has where it runs."""

    name: str
    flavor: Flavor

    @property
    def uuid(self) -> str:
        """Instance, domain and consumer."""
        return known_uuid(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCast:
    """One hypervisor. ``foreign`` are (volume, GiB) that somebody made by hand; ``ghost`` a node row without a host."""

    name: str
    cpus: int
    memory_mib: int
    disk_gib: int
    cpu_ratio: float
    guests: tuple[Guest, ...]
    foreign: tuple[tuple[str, int], ...] = ()
    leaked: tuple[Guest, ...] = ()
    ghost: str | None = None

    @property
    def root_uuid(self) -> str:
        """Compute node and root provider."""
        return known_uuid(self.name)

    @property
    def group(self) -> str:
        """The volume group that holds guests' disks."""
        return f"{self.name}-vg"


def _flavor(number: int, vcpus: int, memory_mib: int, root_gib: int) -> Flavor:
    return Flavor(
        id=number,
        name=f"demo.{vcpus}x{root_gib}",
        vcpus=vcpus,
        memory_mib=memory_mib,
        root_gib=root_gib,
        ephemeral_gib=0,
        swap_mib=0,
    )


SMALL = _flavor(1, 4, 8192, 40)
LARGE = _flavor(2, 8, 16384, 80)
LEAK = _flavor(3, 10, 4096, 1090)
LAST_LEAK = _flavor(4, 11, 4096, 1092)

EVACUATED = Guest(name="billing", flavor=LARGE)
RESIZED = Guest(name="search", flavor=SMALL)

FIRST = HostCast(
    name="stocktake-demo-1",
    cpus=48,
    memory_mib=196608,
    disk_gib=400,
    cpu_ratio=4.0,
    guests=tuple(Guest(name=f"web-{number}", flavor=SMALL) for number in (1, 2, 3, 4)),
    foreign=(("backup-by-hand", 120),),
    ghost="stocktake-demo-1.old-domain",
)
SECOND = HostCast(
    name="stocktake-demo-2",
    cpus=24,
    memory_mib=131072,
    disk_gib=500,
    cpu_ratio=2.0,
    guests=(EVACUATED, Guest(name="db-1", flavor=SMALL)),
    leaked=(
        *(Guest(name=f"gone-{number}", flavor=LEAK) for number in range(1, 7)),
        Guest(name="gone-7", flavor=LAST_LEAK),
    ),
)
HOSTS = (FIRST, SECOND)
FOREIGN_BYTES = 120 * GIB
# What the second host had before it was made smaller: room for all that it once held.
BEFORE_CPUS, BEFORE_RATIO, BEFORE_DISK_GIB = 24, 16.0, 20000
ASKED_VCPUS = 64
