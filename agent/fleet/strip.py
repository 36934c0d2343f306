"""Make the heat strip: one line in which each character (cell) stands for some hosts, in name order.

Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.fleet.conditions import RANKS, Condition
from agent.fleet.view import HostRow


def strip(rows: Sequence[HostRow], most_cells: int) -> tuple[Condition, ...]:
    """Return one condition for each cell (character) of the strip: the condition of the cell's worst host.

    There are at most ``most_cells`` cells. ``rows`` are sorted by name. Each cell stands for the same number of hosts;
    the last cell may stand for fewer.
    """
    size = hosts_per_cell(len(rows), most_cells)
    groups = (rows[start : start + size] for start in range(0, len(rows), size))
    return tuple(min((row.condition for row in group), key=RANKS.__getitem__) for group in groups)


def hosts_per_cell(hosts: int, most_cells: int) -> int:
    """Return how many hosts one cell (character) of the strip stands for."""
    return max(1, -(-hosts // max(1, most_cells)))
