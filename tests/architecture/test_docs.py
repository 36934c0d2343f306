"""The documents agree with the code: the findings, commands, options and files that they name exist."""

import dataclasses
import pathlib
import re
import subprocess
import sys

import pytest

from agent.config.blank import MEANS_NONE
from agent.findings import BUILTIN
from agent.guards import BUILTIN as GUARDS
from agent.healing.plan import REPAIR
from agent.repairs import BUILTIN as REPAIRS
from agent.repairs import DAEMON_CODES
from agent.why.model import Obstacle, Remedy, RemedyKind
from tests.rigs.source_tree import ROOT
from tools import make_findings_table

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _finding_sections() -> dict[str, str]:
    """Return the text of each section of docs/findings.md, by finding code."""
    pieces = re.split(r"^## `([a-z-]+)`$", (ROOT / "docs/findings.md").read_text(), flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def _commands(document: pathlib.Path) -> set[tuple[str, ...]]:
    """Return every ``stocktake WORD [WORD]`` that begins a line of a code block or stands as inline code."""
    text = document.read_text()
    blocks = "\n".join(re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    lines = re.findall(r"^[#$] (?:sudo )?stocktake ([a-z]\w*)( (?:check|show)\b)?", blocks, re.MULTILINE)
    inline = re.findall(r"`stocktake ([a-z]\w*)( (?:check|show)\b)?[^`]*`", text)
    return {(first, *second.split()) for first, second in lines + inline}


COMMANDS = sorted({command for document in DOCUMENTS for command in _commands(document)})


@pytest.mark.parametrize("code", sorted(rule.code for rule in BUILTIN))
def test_findings_md_says_how_each_finding_is_seen(code: str):
    """A finding is a difference that the agent reports. Each one has a section "How it is seen" in docs/findings.md."""
    assert "**How it is seen.**" in _finding_sections().get(code, "")


def test_the_table_in_findings_md_is_up_to_date():
    """The table in docs/findings.md equals the output of tools/make_findings_table.py."""
    assert make_findings_table.rows() in (ROOT / "docs/findings.md").read_text()


def test_findings_md_describes_only_existing_findings():
    """Every section of docs/findings.md describes a finding that the agent can report."""
    assert _finding_sections().keys() <= {rule.code for rule in BUILTIN}


def _first_column(document: str, head: str) -> list[str]:
    """Return the inline code in the first cell of each row of the table whose header row begins with ``head``."""
    table = (ROOT / document).read_text().partition(f"\n| {head} |")[2].partition("\n\n")[0]
    return [name for row in table.splitlines()[2:] for name in re.findall(r"`([a-z-]+)`", row.split("|")[1])]


def test_the_heal_page_lists_every_repair():
    """docs/reference/heal.md lists exactly the findings that `stocktake heal` can repair."""
    assert sorted(_first_column("docs/reference/heal.md", "Finding")) == sorted(repair.code for repair in REPAIRS)


def test_configuration_md_lists_the_daemons_repairs():
    """docs/configuration.md lists exactly the findings that the daemon may repair by itself."""
    row = (ROOT / "docs/configuration.md").read_text().partition("\n| `codes` | ")[2].partition("\n")[0]
    codes = row.partition("any of ")[2].partition(". ")[0]
    assert re.findall(r"`([a-z-]+)`", codes) == sorted(DAEMON_CODES)


def test_the_heal_page_lists_the_guards_in_order():
    """Guards are rules that can stop a repair. docs/reference/heal.md lists all guards in the order of their checks."""
    assert _first_column("docs/reference/heal.md", "Name") == [*(guard.name for guard in GUARDS), REPAIR]


def test_the_why_page_lists_every_key_of_an_obstacle():
    """docs/reference/why.md lists the JSON keys that `stocktake why` prints for an obstacle and its remedies."""
    row = (ROOT / "docs/reference/why.md").read_text().partition("\n| `obstacles` |")[2].partition("\n")[0]
    keys = [field.name for part in (Obstacle, Remedy) for field in dataclasses.fields(part)]
    assert set(re.findall(r"`([a-z_-]+)`", row)) == {*keys, *(kind.value for kind in RemedyKind)}


def test_configuration_md_lists_options_that_may_be_empty():
    """A table in docs/configuration.md lists exactly the options that may have an empty value."""
    table = (ROOT / "docs/configuration.md").read_text().partition("\n| Option | Empty means |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `\[(\w+)\] (\w+)`", table, flags=re.MULTILINE)) == set(MEANS_NONE)


def test_documents_show_the_main_commands():
    """The documents contain the commands `stocktake demo`, `audit`, `explain` and `config check`."""
    assert {("demo",), ("audit",), ("explain",), ("config", "check")} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_each_documented_command_exists(command: tuple[str, ...]):
    """Every `stocktake` command that a document shows accepts --help and exits with 0."""
    program = str(pathlib.Path(sys.executable).with_name("stocktake"))
    done = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert f"stocktake {' '.join(command)}" in done.stdout


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_relative_links_in_documents_point_to_existing_files(document: pathlib.Path):
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_repository_paths_in_documents_exist(document: pathlib.Path):
    """Every repository path that a document shows as inline code, such as `agent/...`, exists."""
    named = re.findall(r"`((?:agent|docs|etc|systemd|tests|tools|benchmarks|\.ci)/[\w./-]*\w/?)`", document.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


def _differences() -> list[tuple[str, list[str]]]:
    """Return the scenario numbers (or a dash) and the named tests of each row of docs/differences.md."""
    rows = re.findall(r"^\| ([\d–][\d, bc]*) \|(.*)\|$", (ROOT / "docs/differences.md").read_text(), re.MULTILINE)
    return [(numbers, re.findall(r"`(tests/[^`]+)`", rest)) for numbers, rest in rows]


@pytest.mark.parametrize(("numbers", "tests"), _differences())
def test_rows_of_differences_md_refer_to_existing_tests(numbers: str, tests: list[str]):
    """Each row of the table in docs/differences.md refers to at least one test, and each of these tests exists."""
    assert tests, f"row {numbers} names no test"
    for named in tests:
        path, *inside = named.split("::")
        assert (ROOT / path).is_file(), f"{path} is missing"
        assert f"def {inside[-1]}(" in (ROOT / path).read_text(), f"{named} is missing"


def test_the_parser_of_differences_md_misses_no_row():
    """The tests of docs/differences.md parse its table with a regular expression; it matches every row."""
    lines = (ROOT / "docs/differences.md").read_text().splitlines()
    assert len(_differences()) == sum(line.startswith("| ") for line in lines) - len(("the head", "the line below it"))
