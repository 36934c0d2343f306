"""Run the tests with the libraries of one OpenStack release after another, and print a table of the results.

    tools/matrix --constraints                     # every release and Python: unit tests, and the contract tests below
    tools/matrix --constraints --release 2025.1    # only this release
    tools/matrix --constraints --python 3.13       # only this Python, with the newest libraries
    tools/matrix --constraints --readme            # also write the table into README.md

Each release has an environment of its own below ~/.cache/stocktake, in which Stocktake's requirements have the versions
of tests/rigs/constraints/agent-RELEASE.txt: those that pip chose under the upper constraints in the release's branch of
openstack/requirements. nova and Placement are those of the same release. A Python is looked for on the PATH and among
pyenv's versions; the output names each one that is skipped. Exit status: 0 if all cells are green, else 1.
"""

from __future__ import annotations

import argparse
import configparser
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.rigs import python_env
from tests.rigs.releases import NEWEST, VARIABLE, named
from tools.matrix_results import (
    FEWER_CASES,
    GREEN,
    README,
    TOP,
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

BEGIN, END = "<!-- libraries: written by tools/matrix --constraints --readme -->", "<!-- end of libraries -->"
CONSTRAINTS = TOP / "tests/rigs/constraints"
ERAS = ("2025.1", "2025.2", "2026.1")
#: The versions of Python that the tests run with, beside the one of this environment.
PYTHONS = ("3.12", "3.13")
#: The versions of the libraries that the package for Debian has: the newest ones.
PACKAGED = TOP / "packaging/constraints.txt"
#: The libraries whose versions the table shows.
SHOWN = ("oslo.config", "oslo.messaging", "keystoneauth1", "SQLAlchemy", "urllib3", "cliff", "os-traits")
#: What the contract tests try with the libraries of a release: each library against the real service.
CONTRACT = (
    "tests/contract/placement/test_server.py",
    "tests/contract/placement/test_reader.py",
    "tests/contract/placement/test_writer.py",
    "tests/contract/placement/test_conflict_kinds.py",
    "tests/contract/state/test_nova_sql.py",
    "tests/contract/state/test_conductor.py",
    "tests/contract/commands/test_commands.py",
    "tests/contract/commands/test_schemas.py",
    "tests/contract/test_heal.py",
)
SUITES = {"unit tests": ("tests/unit",), "contract tests": CONTRACT}
#: Tools of the extra ``test`` that no test above needs, and Placement, whose version is the release's.
NOT_NEEDED = re.compile(r"openstack-placement|mypy|ruff|import-linter|types-|reno|cyclonedx|axe|grafana")
TIMEOUT_S = 3600
#: pytest makes a warning an error here. What an older library says about itself is not a failure of the agent.
QUIET = ("-W", "ignore::DeprecationWarning")


@dataclass(frozen=True, slots=True)
class LibraryRow(Row):
    """The results with the libraries of one release. ``versions`` has the version of each library in ``SHOWN``."""

    versions: dict[str, str] = field(default_factory=dict)


def constraints_of(series: str) -> Path:
    """Return the file with the versions of Stocktake's requirements in that release."""
    return CONSTRAINTS / f"agent-{series}.txt"


def versions_in(text: str) -> dict[str, str]:
    """Return the versions of ``pip freeze``, by the names in ``SHOWN``."""
    found = dict(re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE))
    plain = {_plain(name): version for name, version in found.items()}
    return {name: plain.get(_plain(name), "-") for name in SHOWN}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _tools() -> list[str]:
    parsed = configparser.ConfigParser()
    parsed.read(TOP / "setup.cfg")
    return [line for line in parsed["extras"]["test"].split() if not NOT_NEEDED.match(line)]


def interpreter(version: str) -> str | None:
    """Return the path of the newest Python of that version (``3.13``) on the PATH or in pyenv; None if none runs."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = [shutil.which(f"python{version}"), *map(str, sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True))]
    return next((path for path in found if path and _runs(path, version)), None)


def _runs(path: str, version: str) -> bool:
    # pyenv's own python3.13 on the PATH is a script: it fails if another version is selected.
    done = subprocess.run([path, "-V"], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode == 0 and done.stdout.startswith(f"Python {version}.")


def python_of(series: str) -> Path:
    """Return the python of the release's environment, with this checkout installed in it.

    Raise AssertionError with pip's output if the environment cannot be made.
    """
    if series == NEWEST.series:
        return Path(sys.executable)
    services = ("-c", str(CONSTRAINTS / f"{series}.txt"))
    return _with_checkout(python_env.made(f"agent-{series}", constraints_of(series), *_wanted(series), *services))


def python_by(version: str, found: str) -> Path:
    """Return the python of an environment with the newest libraries, which the interpreter ``found`` makes.

    Raise AssertionError with pip's output if the environment cannot be made.
    """
    wanted = _wanted(NEWEST.series)
    return _with_checkout(python_env.made(f"python-{version}", PACKAGED, *wanted, interpreter=found))


def _wanted(series: str) -> tuple[str, ...]:
    placement = (f"openstack-placement=={named(series).placement}", "waitress")
    return ("setuptools>=77,<81", "wheel", "-r", str(TOP / "requirements.txt"), *_tools(), *placement)


def _with_checkout(python: Path) -> Path:
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", str(TOP)]
    done = subprocess.run(pip, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return python


def run(label: str, series: str, environment: Callable[[], Path], processes: int) -> LibraryRow:
    """Run both suites with the python that ``environment`` makes, and with nova and Placement of ``series``."""
    try:
        python = environment()
    except (AssertionError, subprocess.TimeoutExpired) as error:
        return LibraryRow(label, {}, problem=f"the environment cannot be made: {error}")
    freeze = subprocess.run([python, "-m", "pip", "freeze"], capture_output=True, text=True, timeout=120, check=True)
    variables = {**FEWER_CASES, **os.environ, VARIABLE: series}
    runs = {name: Run(python, (*QUIET, *tests), variables, TIMEOUT_S, shown=8000) for name, tests in SUITES.items()}
    try:
        cells = {name: cell(results(each, processes)) for name, each in runs.items()}
    except NoResults as error:
        return LibraryRow(label, {}, problem=str(error), versions=versions_in(freeze.stdout))
    return LibraryRow(label, cells, versions=versions_in(freeze.stdout))


def environments(options: argparse.Namespace) -> Iterator[tuple[str, str, Callable[[], Path]]]:
    """Yield (name in the table, release of nova and Placement, function that makes the environment) of each row."""
    everything = not options.release and not options.python
    for series in options.release or ((*ERAS, NEWEST.series) if everything else ()):
        yield series, series, partial(python_of, series)
    for version in options.python or (PYTHONS if everything else ()):
        found = interpreter(version)
        if found is None:
            print(f"tools/matrix: skipped Python {version}: not on the PATH and not in pyenv", file=sys.stderr)
        else:
            yield f"{NEWEST.series}, Python {version}", NEWEST.series, partial(python_by, version, found)


def table(rows: Sequence[LibraryRow]) -> str:
    """Return the table as Markdown: one line for each release."""
    lines = [line(["Libraries of", *SHOWN, *SUITES]), line(["---"] * (1 + len(SHOWN) + len(SUITES)))]
    for row in rows:
        versions = [row.versions.get(name, "-") for name in SHOWN]
        lines.append(line([row.series, *versions, *(_words(row.cells.get(name)) for name in SUITES)]))
    return "\n".join(lines)


def _words(cell: Cell | None) -> str:
    if cell is None:
        return "not run"
    return f"{cell.verdict}, {cell.passed} passed" if cell.verdict == GREEN else cell.verdict


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    known = (*ERAS, NEWEST.series)
    made = argparse.ArgumentParser(prog="tools/matrix --constraints", description="Test with each release's libraries.")
    made.add_argument("--release", action="append", choices=known, help="only this release; may be repeated")
    made.add_argument("--python", action="append", choices=PYTHONS, help="only this Python; may be repeated")
    made.add_argument("--processes", type=int, default=2, help="test processes at a time (default: %(default)s)")
    made.add_argument("--readme", action="store_true", help="write the table into README.md; needs all releases")
    return made


def main() -> int:
    """Run the suites, print the table and return the exit status."""
    options = parser().parse_args()
    if options.readme and (options.release or options.python):
        parser().error("--readme needs all releases and all Pythons")
    rows = []
    for label, series, environment in environments(options):
        start = time.monotonic()
        rows.append(run(label, series, environment, options.processes))
        texts = [f"{name} {_words(cell)}" for name, cell in rows[-1].cells.items()]
        print(f"tools/matrix: {label}, {time.monotonic() - start:.0f} s: {'; '.join(texts)}", file=sys.stderr)
    status = print_result(table(rows), rows)
    if options.readme:
        README.write_text(between(README.read_text(), BEGIN, END, table(rows)))
    return status


if __name__ == "__main__":
    sys.exit(main())
