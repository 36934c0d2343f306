"""The package's generated texts name everything that the program has, and are the same in each build."""

import glob
import re
import subprocess

import pytest

from agent.cmd.registry import COMMANDS
from agent.config.options.opts import list_opts
from agent.findings import BUILTIN
from tests.rigs.source_tree import ROOT
from tools import package_texts

PACKAGING = ROOT / "packaging"
SHELL_SCRIPTS = sorted(PACKAGING.glob("debian/stocktake.p*"))
MAN = "usr/share/man"


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return package_texts.texts()


def test_two_runs_of_the_package_generator_give_equal_files(texts):
    """tools/package_texts.py generates the same manual pages for the Debian package in every run."""
    assert package_texts.texts() == texts


def test_every_command_has_a_manual_page(texts):
    """The manual page of each command has a synopsis and the option --help, and stocktake(1) lists every command."""
    for entry in COMMANDS:
        page = texts[f"{MAN}/man1/stocktake-{entry.name.replace(' ', '-')}.1"]
        assert ".SH SYNOPSIS" in page
        assert "\\-\\-help" in page
    assert all(f"\\fB{entry.name}\\fR" in texts[f"{MAN}/man1/stocktake.1"] for entry in COMMANDS)


def test_the_findings_manual_page_explains_every_finding(texts):
    """A finding is a difference that the agent reports. stocktake-findings(7) has a section for each one."""
    page = texts[f"{MAN}/man7/stocktake-findings.7"]
    sections = re.findall(r"^\.SH ([a-z\\-]+)\n(?:.*\n)*?\.SS Meaning$", page, re.MULTILINE)
    assert [name.replace("\\", "") for name in sections] == sorted(rule.code for rule in BUILTIN)


def test_the_configuration_manual_page_lists_every_option(texts):
    """stocktake.conf(5) contains the name of every configuration option of the agent."""
    page = texts[f"{MAN}/man5/stocktake.conf.5"]
    missing = [opt.dest for _, found in list_opts() for opt in found if f"\\fB{opt.dest}\\fR" not in page]
    assert missing == []


@pytest.mark.parametrize(
    "name", ["man1/stocktake.1", "man8/stocktake-agent.8", "man8/stocktake-probe.8", "man7/stocktake-findings.7"]
)
def test_manual_pages_contain_no_markdown(texts, name):
    assert not re.search(r"```|\]\(", texts[f"{MAN}/{name}"])


@pytest.mark.parametrize("script", SHELL_SCRIPTS, ids=lambda path: path.name)
def test_maintainer_scripts_have_valid_sh_syntax(script):
    """The shell accepts the syntax of every install and removal script of the Debian package."""
    subprocess.run(["sh", "-n", script], check=True, timeout=10)


@pytest.mark.parametrize("tool", ["package", "lab-test"])
def test_package_tools_have_valid_bash_syntax(tool):
    """bash accepts the syntax of the scripts tools/package and tools/lab-test."""
    subprocess.run(["bash", "-n", ROOT / "tools" / tool], check=True, timeout=10)


def test_every_file_that_the_debian_package_installs_exists():
    lines = (PACKAGING / "debian/stocktake.install").read_text().splitlines()
    rules = (PACKAGING / "debian/rules").read_text()
    taken = [line.split()[0] for line in lines] + re.findall(r" ((?:packaging|systemd)/[\w.]+)", rules)
    assert [name for name in taken if not glob.glob(str(ROOT / name))] == []


def test_the_packaged_configuration_sets_role_observer():
    """The configuration file in the package sets only [agent] role = observer, so a new agent only reads."""
    options = [line for line in (PACKAGING / "stocktake.conf").read_text().splitlines() if line and line[0] != "#"]
    assert options == ["[agent]", "role = observer"]


def test_the_package_pins_every_requirement():
    """packaging/constraints.txt contains an exact version for every package in requirements.txt."""
    pinned = {_plain(line) for line in (PACKAGING / "constraints.txt").read_text().splitlines() if "==" in line}
    wanted = {_plain(line) for line in (ROOT / "requirements.txt").read_text().splitlines() if line[0] != "#"}
    assert wanted - pinned == set()


def _plain(requirement: str) -> str:
    return re.split(r"[\[<>=!]", requirement)[0].lower().replace("_", "-").replace(".", "-")
