"""How long an operator waits for commands that ask no source: ``python -m benchmarks.commands``.

The report of the daemon is the recorded one of the tests. Wall time depends on the machine's other load, so the table
also has the processor time, which depends on it much less.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from agent.host_files.reports import write_report
from benchmarks.table import Row, print_table
from tests.rigs.configs import ALONE
from tests.rigs.programs import COMMAND, installed
from tests.rigs.reports import REPORT

HELP_S = 0.25
REPORT_S = 0.6
#: A command line, and the longest time that an operator should wait for it.
COMMANDS = {
    ("--help",): HELP_S,
    ("explain", "allocation-leaked"): HELP_S,
    ("status",): REPORT_S,
    ("findings", "--last"): REPORT_S,
    ("ledger", "--last"): REPORT_S,
}


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of one run: by the clock, and of the processor."""

    wall_s: float
    cpu_s: float


def configured(folder: Path) -> Path:
    """Write a configuration and the report of a daemon; return the configuration file."""
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    write_report(str(folder), dataclasses.replace(REPORT, started_at=at))
    path = folder / "stocktake.conf"
    path.write_text(ALONE.replace("[agent]", f"[agent]\nstate_dir = {folder}\nrun_dir = {folder}"))
    return path


def run(program: list[str]) -> Took:
    """Run the program once."""
    before, began = os.times(), time.perf_counter()
    done = subprocess.run(program, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    wall_s, after = time.perf_counter() - began, os.times()
    if done.returncode not in (0, 2, 3):
        raise SystemExit(f"{' '.join(program)}: exit code {done.returncode}: {done.stderr}")
    cpu_s = after.children_user - before.children_user + after.children_system - before.children_system
    return Took(wall_s, cpu_s)


def main() -> int:
    """Print the table; return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commands", description="Commands that ask no source")
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    table = []
    with tempfile.TemporaryDirectory() as folder:
        conf = configured(Path(folder))
        for command, budget_s in COMMANDS.items():
            program = [installed(COMMAND), "--config-file", str(conf), *command]
            run(program)  # compiles the modules
            found = [run(program) for _ in range(options.runs)]
            median_s = statistics.median(one.wall_s for one in found)
            cpu_s = statistics.median(one.cpu_s for one in found)
            fastest_s, slowest_s = min(one.wall_s for one in found), max(one.wall_s for one in found)
            shown = f"{median_s:.2f} s ({fastest_s:.2f}-{slowest_s:.2f}), processor {cpu_s:.2f} s"
            table.append(Row(" ".join(command), shown, f"<= {budget_s:g} s", "", median_s <= budget_s))
    return print_table("How soon a command answers", table)


if __name__ == "__main__":
    sys.exit(main())
