"""The CPU time of a server: of all threads of its process and of the processes that descend from it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

PROC = Path("/proc")
NS_PER_MS = 1_000_000
PARENT = 1  # the field ppid of /proc/PID/stat, counted after the program's name


def server_cpu_ms(pid: int) -> float:
    """Return the milliseconds that the server has spent so far, in user and system time.

    /proc/PID/stat counts in steps of 10 ms, which is too coarse for one audit; schedstat counts nanoseconds.
    """
    children: dict[int, list[int]] = defaultdict(list)
    for process in PROC.glob("[0-9]*"):
        parent = _parent_of(process)
        if parent is not None:
            children[parent].append(int(process.name))
    family = [pid]
    for member in family:
        family.extend(children[member])
    return sum(map(_spent_ns, family)) / NS_PER_MS


def _parent_of(process: Path) -> int | None:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[PARENT])
    except OSError:
        return None  # the process has ended


def _spent_ns(pid: int) -> int:
    spent = 0
    for thread in (PROC / str(pid) / "task").glob("*/schedstat"):
        try:
            spent += int(thread.read_text().split()[0])
        except OSError:
            continue  # the thread has ended
    return spent
