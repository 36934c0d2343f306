"""Resident memory of the daemon after 1,000 audits with 100 guests: ``python -m benchmarks.memory [--bus]``.

Over conductor the cell is real: the released nova-conductor, MariaDB and RabbitMQ. The other cells are SQLite files.

The daemon is the installed program in its own process. SIGUSR1 requests each audit, and the next request follows only
after the audit's report, so no two requests are coalesced.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.table import Row, print_table
from benchmarks.world import Load, world
from tests.rigs import conductor, rabbitmq
from tests.rigs.host import Daemon

#: Without the bus, and with it: notifications, a fan-out at each change and every second, and the endpoint.
BUDGET_MIB = {
    ("none", False): 65,
    ("sql", False): 80,
    ("conductor", False): 80,
    ("none", True): 75,
    ("sql", True): 90,
    ("conductor", True): 85,
}
SOURCES = ("none", "sql", "conductor")
GROWTH_MIB = 2
EARLY = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Resident MiB after the early and after the last audit, and the mean CPU time of an audit between the two."""

    early_mib: float
    late_mib: float
    cpu_ms: float


def rss_mib(pid: int) -> float:
    """Return VmRSS in MiB."""
    found = re.search(r"^VmRSS:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) / 1024


def cpu_ms(pid: int) -> float:
    """Return the process's CPU time so far in ms; the scheduler counts nanoseconds per thread."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e6


def audits(daemon: Daemon, number: int) -> None:
    """Run ``number`` audits, one after the other."""
    for _ in range(number):
        daemon.audit_now()


def measured(source: str, guests: int, number: int, *, bus: bool) -> Memory:
    """Return the daemon's memory with that state source; with ``bus`` it publishes over a private broker."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stocktake-bench-broker-")))
        cell = stack.enter_context(conductor.running(folder)) if source == "conductor" else None
        made = stack.enter_context(world(Load(guests=guests), source, cell))
        if bus:
            broker = cell.broker if cell is not None else stack.enter_context(rabbitmq.running(folder))
            made.host.options["DEFAULT"]["transport_url"] = broker.url
            made.host.options["notifications"] = {"enabled": True, "publish_interval": 1}
            made.host.configure()
        with made.host.daemon() as first:
            # It leaves the bytecode of the modules that only the daemon imports.
            first.first_audit()
        daemon = stack.enter_context(made.host.daemon())
        daemon.first_audit()
        audits(daemon, EARLY - 1)
        early_mib, early_cpu = rss_mib(daemon.process.pid), cpu_ms(daemon.process.pid)
        audits(daemon, number - EARLY)
        late_mib, late_cpu = rss_mib(daemon.process.pid), cpu_ms(daemon.process.pid)
    return Memory(early_mib=early_mib, late_mib=late_mib, cpu_ms=(late_cpu - early_cpu) / (number - EARLY))


def rows(source: str, number: int, found: Memory, *, bus: bool) -> list[Row]:
    """Return the rows of one run."""
    name = f"state source {source}{', bus' if bus else ''}"
    budget = BUDGET_MIB[source, bus]
    reference = "164–176 MiB"
    return [
        Row(f"RSS, {name}, after {EARLY} audits", f"{found.early_mib:.1f} MiB", "", reference),
        Row(
            f"RSS, {name}, after {number} audits",
            f"{found.late_mib:.1f} MiB",
            f"≤ {budget} MiB",
            reference,
            found.late_mib <= budget,
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
    """Print the table; return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description="Memory of the daemon")
    parser.add_argument("--guests", type=int, default=100)
    parser.add_argument("--audits", type=int, default=1000)
    parser.add_argument("--source", choices=SOURCES, action="append")
    parser.add_argument("--bus", action="store_true", help="with a broker: the daemon tells and answers")
    options = parser.parse_args()
    table: list[Row] = []
    for source in options.source or SOURCES:
        found = measured(source, options.guests, options.audits, bus=options.bus)
        table += rows(source, options.audits, found, bus=options.bus)
    return print_table(f"Memory with {options.guests} guests", table)


if __name__ == "__main__":
    sys.exit(main())
