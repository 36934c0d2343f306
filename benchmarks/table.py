"""One table of measurements with their budgets and the reference's figures."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement; ``met`` is None if there is no budget."""

    what: str
    measured: str
    budget: str = ""
    reference: str = ""
    met: bool | None = None


def print_table(title: str, rows: list[Row]) -> int:
    """Print the table and the machine's load; return the exit code, 1 if a budget is missed."""
    load = os.getloadavg()[0]
    print(f"{title} ({os.cpu_count()} CPUs, load {load:.1f}, Python {platform.python_version()})")
    verdicts = {None: "", True: "met", False: "MISSED"}
    lines = [("what", "measured", "budget", "", "reference")]
    lines += [(row.what, row.measured, row.budget, verdicts[row.met], row.reference) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    return 1 if any(row.met is False for row in rows) else 0
