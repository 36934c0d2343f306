"""Each folder is one subject: it has few files, and its introduction says where to begin reading."""

import ast

import pytest

from tests.rigs.source_tree import AGENT

MOST_FILES = 25
MOST_LOOSE = 8
#: Folders with one entry per file: the number of files is not limited.
REGISTRIES = {"cmd/commands", "findings", "guards", "nested", "repairs", "resources", "traits"}
FOLDERS = sorted(str(path.parent.relative_to(AGENT)) for path in AGENT.rglob("__init__.py") if path.parent != AGENT)
FEWEST_LINES = 4


@pytest.mark.parametrize("folder", sorted(set(FOLDERS) - REGISTRIES))
def test_no_agent_folder_has_more_than_25_modules(folder: str):
    """Folders with one entry per file, such as agent/findings, are exempt from the limit."""
    assert len(list((AGENT / folder).glob("*.py"))) <= MOST_FILES


def test_the_agent_package_has_at_most_8_top_level_modules():
    loose = sorted(path.name for path in AGENT.glob("*.py") if path.name != "__init__.py")
    assert len(loose) <= MOST_LOOSE, loose


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_package_docstring_has_at_least_4_lines(folder: str):
    """Four lines leave room to say what the package is for and where to begin reading."""
    header = ast.get_docstring(ast.parse((AGENT / folder / "__init__.py").read_text())) or ""
    assert len(header.splitlines()) >= FEWEST_LINES


def test_every_agent_folder_with_code_is_a_package():
    assert {path.parent for path in AGENT.rglob("*.py")} == {AGENT / folder for folder in FOLDERS} | {AGENT}
