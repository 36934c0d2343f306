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


def test_two_runs_of_the_package_generator_write_equal_texts(texts):
    assert package_texts.texts() == texts


def test_every_command_has_a_manual_page_with_its_options(texts):
    for entry in COMMANDS:
        page = texts[f"{MAN}/man1/stocktake-{entry.name.replace(' ', '-')}.1"]
        assert ".SH SYNOPSIS" in page
        assert "\\-\\-help" in page
    assert all(f"\\fB{entry.name}\\fR" in texts[f"{MAN}/man1/stocktake.1"] for entry in COMMANDS)


def test_the_manual_page_of_findings_explains_every_finding_code(texts):
    page = texts[f"{MAN}/man7/stocktake-findings.7"]
    sections = re.findall(r"^\.SH ([a-z\\-]+)\n(?:.*\n)*?\.SS Meaning$", page, re.MULTILINE)
    assert [name.replace("\\", "") for name in sections] == sorted(rule.code for rule in BUILTIN)


def test_the_manual_page_of_configuration_describes_every_option(texts):
    page = texts[f"{MAN}/man5/stocktake.conf.5"]
    missing = [opt.dest for _, found in list_opts() for opt in found if f"\\fB{opt.dest}\\fR" not in page]
    assert missing == []


@pytest.mark.parametrize(
    "name", ["man1/stocktake.1", "man8/stocktake-agent.8", "man8/stocktake-probe.8", "man7/stocktake-findings.7"]
)
def test_a_manual_page_contains_no_markdown(texts, name):
    assert not re.search(r"```|\]\(", texts[f"{MAN}/{name}"])


@pytest.mark.parametrize("script", SHELL_SCRIPTS, ids=lambda path: path.name)
def test_each_maintainer_script_of_the_package_is_a_valid_sh_script(script):
    subprocess.run(["sh", "-n", script], check=True, timeout=10)


@pytest.mark.parametrize("tool", ["package", "lab-test"])
def test_each_bash_script_of_the_package_tools_is_a_valid_bash_script(tool):
    subprocess.run(["bash", "-n", ROOT / "tools" / tool], check=True, timeout=10)


def test_every_file_that_the_debian_package_installs_exists():
    lines = (PACKAGING / "debian/stocktake.install").read_text().splitlines()
    rules = (PACKAGING / "debian/rules").read_text()
    taken = [line.split()[0] for line in lines] + re.findall(r" ((?:packaging|systemd)/[\w.]+)", rules)
    assert [name for name in taken if not glob.glob(str(ROOT / name))] == []


def test_the_packaged_configuration_file_sets_the_agent_role_to_observer():
    options = [line for line in (PACKAGING / "stocktake.conf").read_text().splitlines() if line and line[0] != "#"]
    assert options == ["[agent]", "role = observer"]


def test_the_package_pins_a_version_of_every_requirement():
    pinned = {_plain(line) for line in (PACKAGING / "constraints.txt").read_text().splitlines() if "==" in line}
    wanted = {_plain(line) for line in (ROOT / "requirements.txt").read_text().splitlines() if line[0] != "#"}
    assert wanted - pinned == set()


def _plain(requirement: str) -> str:
    return re.split(r"[\[<>=!]", requirement)[0].lower().replace("_", "-").replace(".", "-")
