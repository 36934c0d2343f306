"""The runbooks: a complete page for each finding code and each alert, and commands that can be typed."""

import configparser
import pathlib
import re
import shlex
import subprocess

import pytest
import yaml

from agent.cmd.naming.explain_code import page_of
from agent.cmd.registry import Commands
from agent.cmd.shell import PROGRAM
from agent.findings import BUILTIN
from tests.rigs.source_tree import AGENT, ROOT

SECTIONS = [
    *("Meaning", "Impact", "Severity and whether to page", "Look at", "Decide", "Do", "Undo", "Prevent"),
    "Log, metric and alert names",
]
MOST_WORDS = 400
URL = "file:///usr/share/doc/stocktake/runbooks/"
PAGES = sorted((AGENT / "runbooks").glob("*.md"))
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
#: A page names what the operator has to fill in by a word in capital letters.
WORDS = {"FOLDER": "/srv", "DIGEST": "4d1b0c9a7e55"}


def _rules() -> list[dict[str, object]]:
    document = yaml.safe_load((ROOT / "etc/prometheus/stocktake.rules.yaml").read_text())
    return [rule for group in document["groups"] for rule in group["rules"]]


def _commands(page: pathlib.Path) -> list[str]:
    """Return each line of a code block, and each inline code that begins with the program's name and a blank."""
    prose = re.sub(r"```sh\n(.*?)```", "", page.read_text(), flags=re.DOTALL)
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
    inline = re.findall(r"`([^`]+)`", " ".join(prose.split()))
    own = [code for code in inline if code.startswith(f"{PROGRAM} ")]
    return [*(line for block in blocks for line in block.splitlines()), *own]


def test_each_finding_kind_and_alert_has_a_runbook_page():
    """The runbook folder has one page for each kind of finding and each Prometheus alert."""
    names = {rule.code for rule in BUILTIN} | {rule["alert"] for rule in _rules()}
    assert {page.stem for page in PAGES} == names


def test_each_alert_links_to_its_runbook_page():
    """The `runbook_url` of each Prometheus alert refers to the runbook page with the alert's name."""
    assert {rule["annotations"]["runbook_url"] for rule in _rules()} == {
        f"{URL}{rule['alert']}.md" for rule in _rules()
    }


@each_page
def test_a_runbook_page_has_every_section_in_order(page):
    """Each runbook page has the same sections in the same order, and each section contains text."""
    title, *parts = re.split(r"^## ", page.read_text(), flags=re.MULTILINE)
    assert title.strip() == f"# {page.stem}"
    assert [part.partition("\n")[0] for part in parts] == SECTIONS
    assert [part for part in parts if not part.partition("\n")[2].strip()] == []


@each_page
def test_a_runbook_page_has_at_most_400_words(page):
    assert len(page.read_text().split()) <= MOST_WORDS


@each_page
def test_stocktake_commands_in_runbooks_have_valid_arguments(page):
    """Each `stocktake` command in a runbook page is accepted by the command's own parser."""
    for command in _commands(page):
        program, *words = shlex.split(command)
        if program == PROGRAM and words != ["--version"]:
            factory, name, arguments = Commands().find_command([WORDS.get(word, word) for word in words])
            factory(None, None).get_parser(f"{PROGRAM} {name}").parse_args(arguments)


@each_page
def test_each_command_in_a_runbook_page_is_valid_bash(page):
    lines = "\n".join(_commands(page))
    assert lines
    done = subprocess.run(["bash", "-n"], input=lines, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_setup_cfg_installs_every_runbook_page():
    """`setup.cfg` lists every runbook page for installation in the folder share/doc/stocktake/runbooks."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    block = setup["files"]["data_files"].partition("share/doc/stocktake/runbooks =\n")[2]
    listed = [line for line in block.splitlines() if line.startswith("agent/runbooks/")]
    assert listed == [str(page.relative_to(ROOT)) for page in PAGES]


@pytest.mark.parametrize("name", ["allocation-stale-move", "StocktakeAgentDown"])
def test_explain_finds_the_runbook_page_of_a_finding_or_alert(name):
    """For example, `stocktake explain allocation-stale-move` finds the runbook page of that finding."""
    assert page_of(name) == (AGENT / "runbooks" / f"{name}.md").read_text()
