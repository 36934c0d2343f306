"""Run the contract suites against one release of nova and Placement after another, and print a table of the results.

    tools/matrix                          # every release, every column: about three minutes per release
    tools/matrix --release 2024.1 --column conductor --column why
    tools/matrix --readme                 # also write the table into README.md
    tools/matrix --in-turn                # one older release, another one each day
    tools/matrix --in-turn --small        # of that release only one short file each for nova and Placement, as in CI

Exit status: 0 if every cell is green, 1 otherwise. The names of failed tests follow the table, with the end of pytest's
output on stderr. A test tells what a release lacks, and what the agent then does, in two ways: it records the property
``without``, or it is skipped with that reason; both follow the table.
"""

import argparse
import datetime
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests.rigs import nova_env
from tests.rigs.releases import NEWEST, RELEASES, VARIABLE, Release, named

TOP = Path(__file__).parent.parent
README = TOP / "README.md"
BEGIN, END = "<!-- versions: written by tools/matrix --readme -->", "<!-- end of versions -->"
TIMEOUT_S = 1200
GREEN = "green"
# Fewer random trees than in the suite: an older release differs in a rule, not in a rare combination.
FEWER_CASES = {"STOCKTAKE_TREE_CASES": "6"}


@dataclass(frozen=True, slots=True)
class Column:
    """One thing that the agent does with nova or Placement, and the test files, or single tests, that prove it."""

    name: str
    service: str
    tests: tuple[str, ...]

    @property
    def files(self) -> frozenset[str]:
        """The files of the tests."""
        return frozenset(test.partition("::")[0] for test in self.tests)


COLUMNS = (
    Column("conductor", "Nova", ("tests/contract/state/test_conductor.py",)),
    Column("SQL", "Nova", ("tests/contract/state/test_cell_schema.py", "tests/contract/state/test_nova_sql.py")),
    Column(
        "record written",
        "Nova",
        ("tests/contract/state/test_conductor_records.py", "tests/contract/state/test_record_audits.py"),
    ),
    Column(
        "reader",
        "Placement",
        (
            "tests/contract/placement/test_server.py",
            "tests/contract/placement/test_reader.py",
            "tests/contract/placement/test_sharing.py",
            "tests/contract/placement/test_orphans.py",
        ),
    ),
    Column(
        "writer",
        "Placement",
        (
            "tests/contract/placement/test_writer.py",
            "tests/contract/placement/test_tree_moves.py",
            "tests/contract/placement/test_conflict_kinds.py",
            "tests/contract/placement/test_any_tree.py",
            "tests/contract/test_refusals.py",
            "tests/contract/test_reshape.py::test_the_first_audit_after_a_reshape_adds_the_traits_of_the_children",
            "tests/contract/test_reshape.py::test_heal_prints_the_providers_and_vgpu_amounts_of_a_planned_reshape",
            "tests/contract/test_reshape.py::test_heal_reports_that_placement_allows_a_reshape_only_to_role_service",
            "tests/contract/test_reshape.py::test_a_reshape_that_exceeds_capacity_is_refused_and_moves_nothing",
            "tests/contract/test_reshape.py::test_s107_heal_moves_mem_encryption_allocations_to_the_sev_child_provider",
            "tests/contract/test_reshape.py::test_s125_heal_adds_missing_pci_devices_to_the_allocations_of_a_guest",
            "tests/contract/test_pci_in_placement.py",
        ),
    ),
    Column(
        "why",
        "Placement",
        (
            "tests/contract/placement/test_offers.py",
            "tests/contract/test_why_agrees.py",
            "tests/contract/commands/test_why.py",
        ),
    ),
)


# What each run on the build machine tries: nova's tables, and an older Placement.
SMALL = (
    Column("SQL", "Nova", ("tests/contract/state/test_cell_schema.py",)),
    Column("reader", "Placement", ("tests/contract/placement/test_orphans.py",)),
)


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
    """The result of one column with one release."""

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
    """The results of one release, by the name of the column. ``problem``: why no test could run."""

    release: Release
    cells: dict[str, Cell]
    problem: str | None = None

    @property
    def is_green(self) -> bool:
        """Whether every cell of the row is green."""
        return self.problem is None and all(cell.verdict == GREEN for cell in self.cells.values())


def run(release: Release, columns: Sequence[Column], processes: int) -> Row:
    """Run the columns' tests against the release, and return their results."""
    try:
        nova_env.nova_python_of(release)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        return Row(release, {}, problem=f"the environment cannot be made: {error}")
    with tempfile.TemporaryDirectory(prefix="stocktake-matrix-") as folder:
        report = Path(folder) / "junit.xml"
        tests = [test for column in columns for test in column.tests]
        # --dist loadgroup: all tests of one server run in one process.
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(processes), "--dist", "loadgroup"]
        command += [f"--junitxml={report}", "-o", "junit_family=xunit1", *tests]
        environment = {**FEWER_CASES, **os.environ, VARIABLE: release.series}
        environment.pop(nova_env.GIVEN, None)  # it would replace the release's nova
        done = subprocess.run(
            command, cwd=TOP, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        if done.returncode not in (0, 1) or not report.exists():
            return Row(release, {}, problem=f"pytest ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr}")
        if done.returncode:
            print(done.stdout[-6000:], file=sys.stderr)
        return Row(release, cells(columns, cases(report.read_text())))


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


def cells(columns: Iterable[Column], found: Sequence[Case]) -> dict[str, Cell]:
    """Return the cell of each column, from the results of all columns' tests."""
    return {column.name: _cell([case for case in found if case.file in column.files]) for column in columns}


def _cell(found: Sequence[Case]) -> Cell:
    return Cell(
        passed=sum(not case.failed and not case.skipped for case in found),
        failed=tuple(f"{case.file}::{case.name}" for case in found if case.failed),
        notes=tuple(dict.fromkeys(note for case in found for note in case.notes)),
    )


def table(rows: Sequence[Row]) -> str:
    """Return the table as Markdown: one line for each release, and the notes below."""
    nova, placement = ([c.name for c in COLUMNS if c.service == service] for service in ("Nova", "Placement"))
    header = ["OpenStack", "Nova", *nova, "Placement", *placement]
    lines = [_line(header), _line(["---"] * len(header))]
    notes: list[str] = []
    for row in rows:
        release = row.release
        texts = {name: _text(row, name, notes) for name in (*nova, *placement)}
        lines.append(
            _line(
                [
                    release.series,
                    release.nova,
                    *(texts[name] for name in nova),
                    release.placement,
                    *(texts[name] for name in placement),
                ]
            )
        )
    return "\n".join([*lines, *([""] if notes else []), *(f"{number}. {note}" for number, note in enumerate(notes, 1))])


def _text(row: Row, column: str, notes: list[str]) -> str:
    """Return a cell's text with the numbers of its notes; add new notes to ``notes``."""
    if column not in row.cells:
        return "not run"
    cell = row.cells[column]
    for note in cell.notes:
        if note not in notes:
            notes.append(note)
    numbers = ", ".join(str(notes.index(note) + 1) for note in cell.notes)
    return f"{cell.verdict} ({numbers})" if numbers else cell.verdict


def _line(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def in_readme(readme: str, versions: str) -> str:
    """Return the README with the text between the two markers replaced."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{versions}\n\n{END}{after}"


def in_turn(today: datetime.date) -> Release:
    """Return the older release whose turn is today."""
    older = RELEASES[:-1]
    return older[today.toordinal() % len(older)]


def wanted(options: argparse.Namespace) -> tuple[Release, ...]:
    """Return the releases that the command line names."""
    if options.in_turn:
        return (in_turn(datetime.datetime.now(datetime.UTC).date()),)
    return tuple(map(named, options.release)) if options.release else RELEASES


def parser() -> argparse.ArgumentParser:
    known = [release.series for release in RELEASES]
    made = argparse.ArgumentParser(prog="tools/matrix", description="Test the agent against each nova and Placement.")
    which = made.add_mutually_exclusive_group()
    which.add_argument("--release", action="append", choices=known, help="only this release; may be repeated")
    which.add_argument(
        "--in-turn", action="store_true", help=f"one release before {NEWEST.series}: another one each day"
    )
    what = made.add_mutually_exclusive_group()
    what.add_argument(
        "--column", action="append", choices=[c.name for c in COLUMNS], help="only this column; may be repeated"
    )
    what.add_argument("--small", action="store_true", help="only one short file for nova and one for Placement")
    made.add_argument("--processes", type=int, default=2, help="test processes at a time (default: %(default)s)")
    made.add_argument(
        "--readme", action="store_true", help="write the table into README.md; needs all releases and columns"
    )
    return made


def main() -> int:
    options = parser().parse_args()
    releases = wanted(options)
    columns = SMALL if options.small else COLUMNS
    columns = tuple(column for column in columns if not options.column or column.name in options.column)
    if options.readme and (releases != RELEASES or columns != COLUMNS):
        parser().error("--readme needs all releases and all columns")
    rows = []
    for release in releases:
        start = datetime.datetime.now(datetime.UTC)
        rows.append(run(release, columns, options.processes))
        seconds = (datetime.datetime.now(datetime.UTC) - start).total_seconds()
        texts = [f"{name} {cell.verdict} ({cell.passed} passed)" for name, cell in rows[-1].cells.items()]
        print(f"tools/matrix: {release.series}, {seconds:.0f} s: {', '.join(texts)}", file=sys.stderr)
    print(table(rows))
    for row in rows:
        if row.problem is not None:
            print(f"\n{row.release.series}: {row.problem}")
        for name in (failed for cell in row.cells.values() for failed in cell.failed):
            print(f"{row.release.series} failed: {name}")
    if options.readme:
        README.write_text(in_readme(README.read_text(), table(rows)))
    return 0 if all(row.is_green for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
