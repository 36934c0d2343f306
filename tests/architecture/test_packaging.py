"""pip installs the version, both programs, and only requirements that are used and explained."""

import importlib.metadata
import pathlib
import re
import subprocess
import sys

import pytest

from tests.rigs.source_tree import ROOT, agent_modules, imports

SCRIPTS = ("stocktake-agent", "stocktake")

# Import names of distributions, where the two names differ by more than - and _.
IMPORT_NAMES = {
    "pyyaml": "yaml",
    "libvirt-python": "libvirt",
    "oslo.config": "oslo_config",
    "oslo.log": "oslo_log",
    "oslo.messaging": "oslo_messaging",
    "oslo.reports": "oslo_reports",
    "oslo.service": "oslo_service",
    "oslo.utils": "oslo_utils",
    "os-resource-classes": "os_resource_classes",
    "os-traits": "os_traits",
    "pymysql": "pymysql",
    "sqlalchemy": "sqlalchemy",
}


def _requirements() -> dict[str, str]:
    """Return the installed distribution's declared requirements by lower-case name, without extras."""
    declared = importlib.metadata.requires("stocktake") or []
    return {_name(line): line for line in declared if "extra ==" not in line}


def _all_requirements() -> dict[str, str]:
    return {_name(line): line for line in importlib.metadata.requires("stocktake") or []}


def _name(requirement: str) -> str:
    return re.match(r"[A-Za-z0-9._-]+", requirement).group().lower()


def _documented() -> dict[str, str]:
    """Return the rest of each row in docs/dependencies.md, by lower-case requirement name."""
    rows = re.findall(r"^\| `([^`]+)` \|(.*)\|$", (ROOT / "docs/dependencies.md").read_text(), re.MULTILINE)
    return {_name(name): rest for name, rest in rows}


def _script(name: str) -> pathlib.Path:
    return pathlib.Path(sys.executable).with_name(name)


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def _installed_version() -> str:
    """Return the version in the environment; ``-I`` keeps out this folder, where a build leaves another egg-info."""
    done = _run(sys.executable, "-I", "-c", "import importlib.metadata as m; print(m.version('stocktake'))")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_installed_version_matches_setup_cfg():
    """The installed version is the version in setup.cfg, with or without a suffix such as `.dev5`."""
    declared = re.search(r"^version = (\S+)$", (ROOT / "setup.cfg").read_text(), re.MULTILINE).group(1)
    installed = _installed_version()
    # pbr adds .devN for the commits since the tag. A build that could not read setup.cfg would be version 0.0.0.
    assert re.fullmatch(rf"{re.escape(declared)}(\.dev\d+)?", installed)


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_program_prints_its_installed_version(script: str):
    """`stocktake-agent --version` and `stocktake --version` print the version that pip installed."""
    done = _run(str(_script(script)), "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert _installed_version() in done.stdout


@pytest.mark.parametrize("script", SCRIPTS)
def test_program_help_shows_usage_and_the_config_file_option(script: str):
    """`stocktake-agent --help` and `stocktake --help` print the usage and the option --config-file."""
    done = _run(str(_script(script)), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "usage" in done.stdout.lower()
    assert "--config-file" in done.stdout


def test_the_data_files_listed_in_setup_cfg_exist():
    listed = re.findall(r"^    \S+ = (\S+/\S+)$", (ROOT / "setup.cfg").read_text(), re.MULTILINE)
    assert len(listed) >= 3
    assert [name for name in listed if not (ROOT / name).is_file()] == []


def test_requirements_txt_matches_the_installed_package():
    """requirements.txt lists the same packages as the metadata of the installed distribution."""
    lines = [line.split("#")[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines()]
    assert {_name(line) for line in lines if line} == _requirements().keys()


def test_every_requirement_is_imported_or_explained():
    """The agent's code imports each required package, or docs/dependencies.md marks it as not imported."""
    imported = {name.partition(".")[0] for path in agent_modules().values() for _, name in imports(path)}
    documented = _documented()
    unused = [
        name
        for name in _requirements()
        if IMPORT_NAMES.get(name, name.replace("-", "_")) not in imported
        and "not imported" not in documented.get(name, "")
    ]
    assert unused == []


def test_every_third_party_import_is_a_requirement():
    """The agent's code imports only libraries that the package metadata lists, apart from Placement's own code."""
    known = {IMPORT_NAMES.get(name, name.replace("-", "_")) for name in _all_requirements()} | {"placement", "agent"}
    strangers = {
        f"{module}: {name}"
        for module, path in agent_modules().items()
        for _, name in imports(path)
        if name.partition(".")[0] not in known | sys.stdlib_module_names
    }
    assert strangers == set()


def test_dependencies_md_lists_requirements_and_lower_bounds():
    """docs/dependencies.md has a row for every required package, with the same lower bound as the package metadata."""
    documented = _documented()
    for name, requirement in _all_requirements().items():
        assert name in documented, f"docs/dependencies.md has no row for {name}"
        if bound := re.search(r">=([\w.]+)", requirement):
            assert f"| {bound.group(1)} |" in f"|{documented[name]}|", f"{name}: the bound is {bound.group(1)}"


def test_dependencies_md_lists_only_declared_requirements():
    """Apart from pbr and setuptools, docs/dependencies.md contains only packages that the project requires."""
    assert _documented().keys() <= _all_requirements().keys() | {"pbr", "setuptools"}
