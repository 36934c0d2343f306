"""Count what a compute node record reports as used, from the flavors of the instances on the host.

These figures differ from Placement's: the record truncates each instance's swap to whole GiB, and Placement's amounts
round the swap up. A pinned CPU counts as a vCPU like any other. ``running_vms`` counts stopped guests too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from agent.model.claim import Cause
from agent.model.host.resource_view import ResourceView
from agent.model.node_record import UPTIME
from agent.model.nova import Instance
from agent.model.occupancy import Occupancy, Occupied
from agent.model.settings import Settings
from agent.model.units import bytes_to_gib_ceil, bytes_to_gib_floor
from agent.model.usage import Usage
from agent.node_record.numa_usage import cell_usages

FAILED_BUILDS = "failed_builds"
Stats = tuple[tuple[str, str | None], ...]

_TASK = "num_task_"
# As in nova/compute/stats.py:Stats.io_workload.
_IO_HEAVY_TASKS = "rebuilding resize_prep resize_migrating image_snapshot image_backup rescuing unshelving".split()  # noqa: SIM905
_IO_HEAVY = ("num_vm_building", *(f"{_TASK}{task}" for task in _IO_HEAVY_TASKS))


def usage(
    taken: Occupied, view: ResourceView, settings: Settings, stored: Stats = (), uptime: str | None = None
) -> Usage:
    """Return the values for the usage columns of nova's table compute_nodes.

    ``stored``: what the column ``stats`` has now. ``uptime``: the host's uptime, as a text for the new ``stats``.
    """
    memory = settings.reserved_host_memory_mib + sum(one.flavor.memory_mib for one in taken.occupancies)
    disk = _disk_gib(taken.occupancies, view, settings)
    counts = _counts(one.instance for one in taken.occupancies if one.cause is Cause.INSTANCE)
    return Usage(
        vcpus_used=settings.reserved_host_cpus + sum(one.flavor.vcpus for one in taken.occupancies),
        memory_mib_used=memory,
        local_gib_used=disk,
        free_ram_mib=view.memory_mib - memory,
        free_disk_gib=None if view.disk_total_bytes is None else bytes_to_gib_floor(view.disk_total_bytes) - disk,
        running_vms=counts["num_instances"],
        current_workload=sum(n for name, n in counts.items() if name.startswith(_TASK) and name != f"{_TASK}None"),
        stats=_stats(counts, stored, uptime),
        unknown=taken.unknown,
        cells=None if view.cells is None else cell_usages(view.cells, taken.occupancies),
    )


def uptime_text(view: ResourceView, taken_at: str) -> str | None:
    """Return the text that ``LANG=C uptime`` (procps) prints and nova stores; None if uptime or load was not read.

    ``taken_at`` is the time of the read, ISO 8601. The text shows the time of day from ``taken_at``, in the same time
    zone. The agent does not count logged-in users. But clients parse this part of the text, so the text always says
    "0 users".
    """
    clock = re.search(r"T(\d\d:\d\d:\d\d)", taken_at)
    if view.uptime_s is None or view.load is None or clock is None:
        return None
    minutes = int(view.uptime_s) // 60
    days, hours = minutes // 1440, minutes // 60 % 24
    since = f"{days} day{'' if days == 1 else 's'}, " if days else ""
    since += f"{hours:2}:{minutes % 60:02}" if hours else f"{minutes % 60} min"
    load = ", ".join(f"{one:.2f}" for one in view.load)
    return f" {clock[1]} up {since},  0 users,  load average: {load}\n"


def _disk_gib(occupancies: Iterable[Occupancy], view: ResourceView, settings: Settings) -> int:
    """Return the used GiB of disk: ``reserved_host_disk_mb`` plus the disks of all flavors.

    Like nova, truncate ``reserved_host_disk_mb`` and each instance's swap to whole GiB before the addition.
    """
    promised = settings.reserved_host_disk_mib // 1024
    for one in occupancies:
        root = 0 if one.instance.boots_from_volume else one.flavor.root_gib
        promised += root + one.flavor.ephemeral_gib + one.flavor.swap_mib // 1024
    # For a volume group, return at least the group's measured use (scenario 91). For a file system, ignore the measured
    # use, because it includes files that are not guests' disks.
    is_group = settings.disk_group is not None
    return max(promised, bytes_to_gib_ceil(view.disk_used_bytes) if view.disk_used_bytes and is_group else 0)


def _counts(instances: Iterable[Instance]) -> Counter[str]:
    counted = tuple(instances)
    counts: Counter[str] = Counter()
    if counted:
        counts["num_instances"] = len(counted)
    # Count equal values first: the name of a statistic is then built once for each value, not for each of 1,000 guests.
    for prefix, values in (
        ("num_vm_", Counter(one.vm_state for one in counted)),
        (_TASK, Counter(one.task_state for one in counted)),
        ("num_os_type_", Counter(one.os_type for one in counted)),
        ("num_proj_", Counter(one.project_id for one in counted)),
    ):
        for value, count in values.items():
            counts[f"{prefix}{value}"] += count
    return counts


def _stats(counts: Counter[str], stored: Stats, uptime: str | None) -> Stats:
    # nova-compute counts failed_builds in its memory. The agent builds no guests, so it keeps the stored value.
    texts: dict[str, str | None] = {name: str(count) for name, count in counts.items()}
    if counts:
        texts["io_workload"] = str(sum(counts[name] for name in _IO_HEAVY))
    texts[FAILED_BUILDS] = dict(stored).get(FAILED_BUILDS) or "0"
    texts[UPTIME] = uptime
    return tuple(sorted(texts.items()))
