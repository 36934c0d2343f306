"""Define the demo's two hosts, their guests and the five problems, as constants.

Placement records these allocations. First host: 16 vCPUs for four guests, and 8 vCPUs for an evacuated instance. Second
host: 91 vCPUs, although its capacity is 48 (24 CPUs, ratio 2.0), and 7,832 GiB of disk, although its capacity is 500
GiB. So -43 vCPUs and -7,332 GiB are free there.
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
    """Return the uuid for this name in the demo's cloud, which is the same in each run."""
    return str(uuid.uuid5(_NAMES, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """An instance, and its libvirt domain on the host where the instance runs."""

    name: str
    flavor: Flavor

    @property
    def uuid(self) -> str:
        """The uuid that nova, libvirt and Placement all use for this guest."""
        return known_uuid(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCast:
    """One hypervisor.

    ``foreign``: (name, GiB) of each logical volume that an operator created by hand. ``leaked``: deleted guests whose
    allocations remain. ``ghost``: the name of an orphaned compute node record of this host.
    """

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
        """The uuid of the compute node and of the root provider."""
        return known_uuid(self.name)

    @property
    def group(self) -> str:
        """The name of the volume group of the guests' disks."""
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
# The capacity of the second host before its first audit: enough for all allocations that Placement records on it.
BEFORE_CPUS, BEFORE_RATIO, BEFORE_DISK_GIB = 24, 16.0, 20000
ASKED_VCPUS = 64
