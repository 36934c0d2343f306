"""The cost of one audit with 10, 100 and 1,000 guests: ``python -m benchmarks.audit``.

The audits run in their own process (audit_loop.py), so that process's CPU time is the agent's alone. *quiet*: nothing
has changed since the last audit. *changed*: a change occurred, so the agent writes the books again. *cold*: no caches
and no memory, as at a start, but with the libraries loaded.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.table import Row, print_table
from benchmarks.world import Load, world
from tests.rigs.host import AgentHost

Cost = dict[str, float]

#: Guests and kind of audit to the budget in ms of CPU.
BUDGET_MS = {(100, "warm"): 20, (1000, "warm"): 100, (1000, "cold"): 1000}
#: nova-compute 34's cost per audit on such a machine; it was measured with 4 and with 100 instances.
REFERENCE = {100: "CPU 560 ms, wall 2,750 ms, 102 requests"}
WORDS = {"warm": "quiet", "changed": "changed", "cold": "cold"}


def costs(host: AgentHost, *arguments: str) -> dict[str, list[Cost]]:
    """Return the costs of the audits by kind."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.audit_loop", "--config-file", str(host.config_file), *arguments],
        cwd=Path(__file__).parents[1],
        env={**os.environ, **host.environment},
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    found: dict[str, list[Cost]] = json.loads(done.stdout)
    return found


def rows(load: Load, found: dict[str, list[Cost]]) -> list[Row]:
    """Return three rows per kind of audit: CPU with its budget, wall time, and requests to Placement."""
    table = []
    for kind, word in WORDS.items():
        budget, name = BUDGET_MS.get((load.guests, kind)), f"{_named(load)}, {word}"
        cpu, wall, requests = (_of(found[kind], key) for key in ("cpu_ms", "wall_ms", "requests"))
        spread = f"{statistics.median(cpu):.1f} ms ({min(cpu):.1f}–{max(cpu):.1f}, mean {statistics.mean(cpu):.1f})"
        met = None if budget is None else statistics.median(cpu) <= budget
        said = REFERENCE.get(load.guests, "") if kind == "warm" else ""
        table.append(Row(f"{name}: CPU, median", spread, "" if budget is None else f"≤ {budget} ms", said, met))
        table.append(Row(f"{name}: wall, median", f"{statistics.median(wall):.1f} ms"))
        table.append(_requests(kind, name, requests))
    return table


def _named(load: Load) -> str:
    more = [f"{load.volumes} volumes"] * bool(load.volumes) + [f"{load.functions} PCI functions"] * bool(load.functions)
    return ", ".join([f"{load.guests} guests", *more])


def _requests(kind: str, name: str, requests: list[float]) -> Row:
    usual = statistics.median(requests)
    shown = f"{usual:.0f} (at most {max(requests):.0f})"
    if kind != "warm":
        return Row(f"{name}: requests to Placement", shown)
    return Row(f"{name}: requests to Placement", shown, "1", "", usual == 1)


def _of(found: list[Cost], key: str) -> list[Any]:
    return [cost[key] for cost in found]


def main() -> int:
    """Print the table; return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit", description="Cost of one audit")
    parser.add_argument("--guests", type=int, action="append", help="default: 10, 100 and 1000")
    parser.add_argument("--volumes", type=int, default=0, help="logical volumes in volume groups on loop devices; root")
    parser.add_argument("--functions", type=int, default=0, help="PCI functions, reported in Placement")
    parser.add_argument("--source", choices=("sql", "none"), default="sql")
    parser.add_argument("--audits", type=int, default=50)
    parser.add_argument("--profile", help="write cProfile figures of the quiet audits to this file")
    options = parser.parse_args()
    arguments = ["--audits", str(options.audits)]
    arguments += ["--profile", str(Path(options.profile).resolve())] if options.profile else []
    table: list[Row] = []
    for guests in options.guests or (10, 100, 1000):
        load = Load(guests=guests, volumes=options.volumes, functions=options.functions)
        with world(load, options.source) as made:
            table += rows(load, costs(made.host, *arguments))
    return print_table(f"One audit, state source {options.source}, median of {options.audits}", table)


if __name__ == "__main__":
    sys.exit(main())
