"""An extension is one small file, one line in BUILTIN and one test file; these tests fail if one is missing.

Guard rails and repairs have one common test file per package. Only a world that every other guard rail accepts shows
what one guard rail is for.
"""

import importlib

import pytest

from tests.rigs.source_tree import AGENT, ROOT, imports

TESTED_ONE_BY_ONE = ("resources", "nested", "findings", "traits")
PACKAGES = (*TESTED_ONE_BY_ONE, "guards", "repairs")
MODULES = [
    (package, path.stem)
    for package in PACKAGES
    for path in sorted((AGENT / package).glob("*.py"))
    if path.stem != "__init__"
]


def _builtin(package: str) -> tuple[object, ...]:
    return importlib.import_module(f"agent.{package}").BUILTIN


def _homes(entry: object, package: str) -> list[str]:
    """Return the modules that hold the entry as a value, or else the module that defines its class."""
    holders = [
        module
        for owner, module in MODULES
        if owner == package
        and any(entry is value for value in vars(importlib.import_module(f"agent.{package}.{module}")).values())
    ]
    return holders or [type(entry).__module__.rpartition(".")[2]]


def _contributions(package: str, module: str) -> int:
    """Return how many entries of BUILTIN come from the module."""
    return sum(_homes(entry, package).count(module) for entry in _builtin(package))


def _is_shared(package: str, module: str) -> bool:
    """Return whether another module of the package imports this one; a shared module may define no entry."""
    name = f"agent.{package}.{module}"
    neighbours = [path for path in (AGENT / package).glob("*.py") if path.stem not in ("__init__", module)]
    return any(found == name or found.startswith(f"{name}.") for path in neighbours for _, found in imports(path))


CONTRIBUTORS = [(package, module) for package, module in MODULES if _contributions(package, module)]


@pytest.mark.parametrize("package", PACKAGES)
def test_each_builtin_extension_has_its_own_module(package: str):
    """Each finding, repair, guard, resource, trait and nested provider of the agent has a module of its own."""
    homes = [module for owner, module in CONTRIBUTORS if owner == package]
    assert homes
    assert len(_builtin(package)) == len(homes)


@pytest.mark.parametrize(("package", "module"), MODULES)
def test_each_extension_module_is_registered_once(package: str, module: str):
    """For example, a module that defines a finding adds exactly one entry to the agent's list of findings."""
    if _contributions(package, module) == 0:
        assert _is_shared(package, module), f"agent/{package}/{module}.py is in no BUILTIN and nobody uses it"
    else:
        assert _contributions(package, module) == 1


@pytest.mark.parametrize(("package", "module"), [each for each in CONTRIBUTORS if each[0] in TESTED_ONE_BY_ONE])
def test_each_extension_module_has_a_test_file(package: str, module: str):
    """Each resource, nested provider, finding and trait of the agent has a test file of its own in tests/unit."""
    file = ROOT / "tests/unit" / package / f"test_{module}.py"
    assert file.is_file(), f"{file.relative_to(ROOT)} is missing"
    assert "def test_" in file.read_text()


@pytest.mark.parametrize(("package", "name"), [("findings", "code"), ("repairs", "code"), ("guards", "name")])
def test_findings_repairs_and_guards_match_module_names(package: str, name: str):
    """For example, the module allocation_leaked.py defines the finding `allocation-leaked`."""
    files = {module.replace("_", "-") for owner, module in CONTRIBUTORS if owner == package}
    assert {getattr(entry, name) for entry in _builtin(package)} == files


def test_each_repair_belongs_to_an_existing_finding():
    """A finding is a difference that the agent reports. Each repair is for one finding that exists."""
    assert {repair.code for repair in _builtin("repairs")} <= {rule.code for rule in _builtin("findings")}
