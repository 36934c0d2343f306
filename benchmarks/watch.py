"""Memory, CPU and answer time of ``stocktake watch`` with 800 and 10,000 hosts: ``python -m benchmarks.watch``.

One thread plays all agents over a private RabbitMQ: they answer the request of ``watch``, and each sends its state once
in ``--period`` seconds. ``watch`` runs on a terminal of 80 x 24, with a list of expected hosts. A key's answer time is
from the key to the changed line of keys on the screen. ``--html`` measures ``watch --html`` instead, which also
writes the fleet's page again each minute.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.table import Row, print_table
from tests.rigs import rabbitmq
from tests.rigs.fleet_hosts import amounts, broken, clean
from tests.rigs.programs import COMMAND, installed
from tests.rigs.pty_screen import PtyProgram, on_terminal
from tests.rigs.synthetic_fleet import synthetic_fleet
from tests.rigs.wait import until, until_moment

#: Budgets by the number of hosts: MiB, percent of one core, seconds from a key to its effect.
BUDGETS = {800: (90, 5.0), 10_000: (200, 25.0)}
KEY_S = 0.2
KEYS = 20
#: Budgets of the fleet's page.
MOST_BYTES, MOST_ELEMENTS = 1_000_000, 12_000
#: Every so many hosts are broken.
EVERY = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The seconds between two messages of a host, and the seconds for which CPU is measured."""

    period_s: float
    seconds: float


def documents(hosts: int) -> list[dict[str, Any]]:
    """Return the messages of the fleet, with one broken host in EVERY."""
    found = [clean(name(number)) for number in range(hosts)]
    for number in range(0, hosts, EVERY):
        found[number] = broken(
            name(number), number=3, leaked={"VCPU": 8, "MEMORY_MB": 16_384}, resources=amounts(-number)
        )
    return found


def name(number: int) -> str:
    """Return the name of a host."""
    return f"compute-{number:05d}"


def measured(folder: pathlib.Path, url: str, hosts: int, load: Load, page: pathlib.Path | None = None) -> list[Row]:
    """Return the rows about a fleet of so many hosts; ``page`` is the file of the fleet's page, None without one."""
    config, expected = folder / f"{hosts}.conf", folder / f"{hosts}.txt"
    config.write_text(f"[DEFAULT]\ntransport_url = {url}\n[state]\nsource = none\n")
    expected.write_text("".join(f"{name(number)} rack-{number // 40}\n" for number in range(hosts)))
    command = [installed(COMMAND), "--config-file", str(config), "watch", "--expected", str(expected)]
    command += [] if page is None else ["--html", str(page)]
    with (
        synthetic_fleet(url, documents(hosts), load.period_s),
        on_terminal(command, {"TERM": "xterm-256color"}) as shown,
    ):
        shown.shows(f"{hosts} of {hosts} expected", timeout_s=300)
        pid = shown.process.pid
        before, began = cpu_s(pid), time.monotonic()
        until_moment(time.time() + load.seconds)
        share = 100 * (cpu_s(pid) - before) / (time.monotonic() - began)
        keys = [key_s(shown, number) for number in range(KEYS)]
        mib = resident_mib(pid)
        pages = [] if page is None else about_page(hosts, page)
    most_mib, most_share = BUDGETS.get(hosts, (None, None))
    return [
        budgeted(f"{hosts} hosts: resident memory", mib, most_mib, "MiB"),
        budgeted(f"{hosts} hosts: CPU of one core", share, most_share, "%"),
        Row(
            what=f"{hosts} hosts: key to screen, median (most)",
            measured=f"{1000 * statistics.median(keys):.0f} ({1000 * max(keys):.0f}) ms",
            budget=f"{1000 * KEY_S:.0f} ms",
            met=max(keys) <= KEY_S,
        ),
        *pages,
    ]


def about_page(hosts: int, page: pathlib.Path) -> list[Row]:
    """Return the rows about the page that the running command has written last: its size and its elements."""
    text = page.read_text()
    elements = len(re.findall(r"<[a-z]", text))
    return [
        Row(
            what=f"{hosts} hosts: size of the page",
            measured=f"{len(text.encode())} bytes",
            budget=f"{MOST_BYTES} bytes",
            met=len(text.encode()) < MOST_BYTES and f"of {hosts} expected hosts" in text,
        ),
        Row(
            what=f"{hosts} hosts: elements of the page",
            measured=str(elements),
            budget=str(MOST_ELEMENTS),
            met=elements <= MOST_ELEMENTS,
        ),
    ]


def budgeted(what: str, value: float, most: float | None, unit: str) -> Row:
    """Return a row with its budget, if there is one."""
    return Row(
        what=what,
        measured=f"{value:.1f} {unit}",
        budget="" if most is None else f"{most:g} {unit}",
        met=None if most is None else value <= most,
    )


def cpu_s(pid: int) -> float:
    """Return the seconds of CPU that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process."""
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def key_s(shown: PtyProgram, number: int) -> float:
    """Press ``a`` and return the seconds until the screen shows its effect."""
    wanted = "a not clean" if number % 2 == 0 else "a all"
    began = time.monotonic()
    shown.send(b"a")
    until(lambda: wanted in shown.display()[-1], 10, wanted)
    return time.monotonic() - began


def main(argv: list[str] | None = None) -> int:
    """Print the table; return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hosts", default="800,10000", help="numbers of hosts (default 800,10000)")
    parser.add_argument(
        "--period", type=float, default=60.0, help="seconds between two messages of a host (default 60)"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds to measure (default 60)")
    parser.add_argument("--html", action="store_true", help="also let the command write the fleet's page")
    options = parser.parse_args(argv)
    load = Load(period_s=options.period, seconds=options.seconds)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        with rabbitmq.running(folder / "broker") as broker:
            for hosts in map(int, options.hosts.split(",")):
                page = folder / f"{hosts}.html" if options.html else None
                rows += measured(folder, broker.url, hosts, load, page)
    return print_table("stocktake watch --html" if options.html else "stocktake watch", rows)


if __name__ == "__main__":
    sys.exit(main())
