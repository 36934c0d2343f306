"""Run pytest for one cell or row of a table of ``tools/matrix``, read the results, and write tables of them.

``tools/version_matrix.py`` makes the table of nova and Placement releases, ``tools/constraints_matrix.py`` the table of
library versions.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

TOP = Path(__file__).parent.parent
README = TOP / "README.md"
GREEN = "green"
#: Fewer random trees than in the suite: an older release differs in a rule, not in a rare combination.
FEWER_CASES = {"STOCKTAKE_TREE_CASES": "6"}


class NoResults(Exception):
    """pytest ended without results: the message has the end of its output."""


@dataclass(frozen=True, slots=True)
class Case:
    """The result of one test. ``notes`` say what the release lacks, and what the agent then does."""

    file: str
    name: str
    failed: bool
    skipped: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """The results of the tests of one cell of a table."""

    passed: int
    failed: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """The cell's text in the table."""
        if self.failed:
            return f"RED: {len(self.failed)} of {self.passed + len(self.failed)}"
        return GREEN if self.passed else "not run"


@dataclass(frozen=True, slots=True)
class Row:
    """The results for one release, by the name of the column. ``problem``: why no test could run."""

    series: str
    cells: dict[str, Cell]
    problem: str | None = None

    @property
    def is_green(self) -> bool:
        """Whether every cell of the row is green."""
        return self.problem is None and all(cell.verdict == GREEN for cell in self.cells.values())


@dataclass(frozen=True, slots=True)
class Run:
    """How to run pytest. ``shown``: how many characters of the output are printed if a test failed."""

    python: Path
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    timeout_s: int
    shown: int


def results(run: Run, processes: int) -> tuple[Case, ...]:
    """Run pytest and return the result of each test.

    Raise NoResults if pytest could not run the tests, and subprocess.TimeoutExpired.
    """
    with tempfile.TemporaryDirectory(prefix="stocktake-matrix-") as folder:
        report = Path(folder) / "junit.xml"
        command = [str(run.python), "-m", "pytest", "-q", "-n", str(processes), "--dist", "loadgroup"]
        command += [f"--junitxml={report}", "-o", "junit_family=xunit1", *run.arguments]
        done = subprocess.run(
            command, cwd=TOP, env=run.environment, capture_output=True, text=True, timeout=run.timeout_s, check=False
        )
        if done.returncode not in (0, 1) or not report.exists():
            raise NoResults(f"pytest ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr}")
        if done.returncode:
            print(done.stdout[-run.shown :], file=sys.stderr)
        return cases(report.read_text())


def cases(report: str) -> tuple[Case, ...]:
    """Return the results of pytest's report."""
    return tuple(_case(each) for each in ElementTree.fromstring(report).iter("testcase"))


def _case(element: ElementTree.Element) -> Case:
    skipped = element.find("skipped")
    notes = [each.get("value", "") for each in element.iter("property") if each.get("name") == "without"]
    if skipped is not None:
        notes.append(skipped.get("message", ""))
    return Case(
        file=element.get("file", ""),
        name=element.get("name", ""),
        failed=element.find("failure") is not None or element.find("error") is not None,
        skipped=skipped is not None,
        notes=tuple(notes),
    )


def cell(found: Sequence[Case]) -> Cell:
    """Count the results of a cell's tests."""
    return Cell(
        passed=sum(not case.failed and not case.skipped for case in found),
        failed=tuple(f"{case.file}::{case.name}" for case in found if case.failed),
        notes=tuple(dict.fromkeys(note for case in found for note in case.notes)),
    )


def line(texts: Iterable[str]) -> str:
    """Return one line of a Markdown table."""
    return f"| {' | '.join(texts)} |"


def print_result(table: str, rows: Sequence[Row]) -> int:
    """Print the table, each problem and each failed test. Return the exit status: 0 if every cell is green, else 1."""
    print(table)
    for row in rows:
        if row.problem is not None:
            print(f"\n{row.series}: {row.problem}")
        for name in (failed for each in row.cells.values() for failed in each.failed):
            print(f"{row.series} failed: {name}")
    return 0 if all(row.is_green for row in rows) else 1


def between(readme: str, begin: str, end: str, table: str) -> str:
    """Return the README with the text between the markers ``begin`` and ``end`` replaced.

    Raise ValueError if the README lacks one of the markers.
    """
    before, found, rest = readme.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise ValueError(f"README.md lacks the markers {begin} and {end}")
    return f"{before}{begin}\n\n{table}\n\n{end}{after}"
