"""Print the outcome of every option that a file leaves empty: option, file, start or reload, note or exit code.

Usage: .venv/bin/python tools/empty_options.py
"""

import collections
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from agent.cmd.daemon import block_modules


def main() -> int:
    """Print one row per cell, and the counts below; return 1 if a cell is a traceback."""
    block_modules()
    from tests.rigs.empty_options import WAYS, cells

    counts: collections.Counter[tuple[str, str, str]] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for cell in cells(Path(folder), WAYS):
            said = cell.said.replace(f"{folder}/", "")
            print(f"{cell.file}\t{cell.moment}\t{cell.way}\t[{cell.group}] {cell.option}\t{cell.outcome}\t{said}")
            counts[cell.file, cell.moment, cell.outcome] += 1
    for (file, moment, outcome), number in sorted(counts.items()):
        print(f"# {file}\t{moment}\t{outcome}\t{number}")
    return int(any(outcome == "traceback" for _, _, outcome in counts))


if __name__ == "__main__":
    sys.exit(main())
