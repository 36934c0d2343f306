"""Resident memory of the daemon after 1,000 audits with 100 guests: ``python -m benchmarks.memory``.

The daemon is the installed program in a process of its own. Every audit is asked
for by SIGUSR1 and counted when its report is there, so none is coalesced away.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.table import Row, print_table
from benchmarks.world import Load, world
from tests.rigs.host import Daemon

BUDGET_MIB = {"none": 65, "sql": 80}
GROWTH_MIB = 2
EARLY = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Resident MiB after the early and after the last audit, and the CPU of an audit between the two."""

    early_mib: float
    late_mib: float
    cpu_ms: float


def rss_mib(pid: int) -> float:
    """VmRSS."""
    found = re.search(r"^VmRSS:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) / 1024


def cpu_ms(pid: int) -> float:
    """CPU time of the process so far; the scheduler counts it in nanoseconds, for each thread."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e6


def audits(daemon: Daemon, number: int) -> None:
    """So many audits, one after the other."""
    for _ in range(number):
        daemon.audit_now()


def measured(source: str, guests: int, number: int) -> Memory:
    """The daemon's memory with that state source."""
    with world(Load(guests=guests), source) as made, made.host.daemon() as daemon:
        daemon.first_audit()
        audits(daemon, EARLY - 1)
        early_mib, early_cpu = rss_mib(daemon.process.pid), cpu_ms(daemon.process.pid)
        audits(daemon, number - EARLY)
        late_mib, late_cpu = rss_mib(daemon.process.pid), cpu_ms(daemon.process.pid)
    return Memory(early_mib=early_mib, late_mib=late_mib, cpu_ms=(late_cpu - early_cpu) / (number - EARLY))


def rows(source: str, number: int, found: Memory) -> list[Row]:
    """What is shown of one run."""
    name = f"state source {source}"
    reference = "164–176 MiB"
    return [
        Row(f"RSS, {name}, after {EARLY} audits", f"{found.early_mib:.1f} MiB", "", reference),
        Row(
            f"RSS, {name}, after {number} audits",
            f"{found.late_mib:.1f} MiB",
            f"≤ {BUDGET_MIB[source]} MiB",
            reference,
            found.late_mib <= BUDGET_MIB[source],
        ),
        Row(
            f"growth between the two, {name}",
            f"{found.late_mib - found.early_mib:+.2f} MiB",
            f"≤ {GROWTH_MIB} MiB",
            "",
            found.late_mib - found.early_mib <= GROWTH_MIB,
        ),
        Row(f"CPU of the whole daemon per audit, {name}, mean", f"{found.cpu_ms:.1f} ms", "", "560 ms"),
    ]


def main() -> int:
    """Print the table; 1 where a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description="Memory of the daemon")
    parser.add_argument("--guests", type=int, default=100)
    parser.add_argument("--audits", type=int, default=1000)
    parser.add_argument("--source", choices=sorted(BUDGET_MIB), action="append")
    options = parser.parse_args()
    table: list[Row] = []
    for source in options.source or sorted(BUDGET_MIB):
        table += rows(source, options.audits, measured(source, options.guests, options.audits))
    return print_table(f"Memory with {options.guests} guests", table)


if __name__ == "__main__":
    sys.exit(main())
