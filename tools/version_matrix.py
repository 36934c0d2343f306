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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.rigs import nova_env
from tests.rigs.releases import NEWEST, RELEASES, VARIABLE, Release, named
from tools.matrix_results import (
    FEWER_CASES,
    README,
    Case,
    Cell,
    NoResults,
    Row,
    Run,
    between,
    cell,
    line,
    print_result,
    results,
)

BEGIN, END = "<!-- versions: written by tools/matrix --readme -->", "<!-- end of versions -->"
TIMEOUT_S = 1200


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
            "tests/contract/test_reshape.py::test_the_audit_after_a_reshape_adds_owner_traits",
            "tests/contract/test_reshape.py::test_heal_prints_the_planned_reshape",
            "tests/contract/test_reshape.py::test_a_reshape_refused_by_policy_needs_role_service",
            "tests/contract/test_reshape.py::test_a_reshape_beyond_capacity_moves_nothing",
            "tests/contract/test_reshape.py::test_s107_a_reshape_moves_memory_encryption_to_a_child",
            "tests/contract/test_reshape.py::test_s125_heal_adds_a_missing_pci_device_to_an_allocation",
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


def run(release: Release, columns: Sequence[Column], processes: int) -> Row:
    """Run the columns' tests against the release, and return their results."""
    try:
        nova_env.nova_python_of(release)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        return Row(release.series, {}, problem=f"the environment cannot be made: {error}")
    tests = tuple(dict.fromkeys(test for column in columns for test in column.tests))
    environment = {**FEWER_CASES, **os.environ, VARIABLE: release.series}
    environment.pop(nova_env.GIVEN, None)  # it would replace the release's nova
    pytest = Run(Path(sys.executable), tests, environment, TIMEOUT_S, shown=6000)
    try:
        return Row(release.series, cells(columns, results(pytest, processes)))
    except NoResults as error:
        return Row(release.series, {}, problem=str(error))


def cells(columns: Iterable[Column], found: Sequence[Case]) -> dict[str, Cell]:
    """Return the cell of each column, from the results of all columns' tests."""
    return {column.name: cell([case for case in found if case.file in column.files]) for column in columns}


def table(rows: Sequence[Row]) -> str:
    """Return the table as Markdown: one line for each release, and the notes below."""
    nova, placement = ([c.name for c in COLUMNS if c.service == service] for service in ("Nova", "Placement"))
    header = ["OpenStack", "Nova", *nova, "Placement", *placement]
    lines = [line(header), line(["---"] * len(header))]
    notes: list[str] = []
    for row in rows:
        release = named(row.series)
        texts = {name: _text(row, name, notes) for name in (*nova, *placement)}
        lines.append(
            line(
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
    status = print_result(table(rows), rows)
    if options.readme:
        README.write_text(between(README.read_text(), BEGIN, END, table(rows)))
    return status


if __name__ == "__main__":
    sys.exit(main())
