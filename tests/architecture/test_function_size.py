"""A function fits on one screen, and a module can be read in one sitting."""

import pytest

from tests.rigs.source_tree import ROOT, agent_modules, functions, parse

FUNCTION_LINES = 60
MODULE_LINES = 400

MODULES = agent_modules()
OTHER_FILES = {
    str(path.relative_to(ROOT)): path
    for folder in ("tools", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*.py"))
}


def _too_long(path) -> list[str]:
    """Return functions of one file that exceed the limit; signature and docstring count, decorators do not."""
    sizes = [(node, node.end_lineno - node.lineno + 1) for node in functions(parse(path))]
    return [f"{node.name}, line {node.lineno}: {size} lines" for node, size in sizes if size >= FUNCTION_LINES]


@pytest.mark.parametrize("module", MODULES)
def test_each_agent_function_is_shorter_than_60_lines(module: str):
    assert _too_long(MODULES[module]) == []


@pytest.mark.parametrize("file", OTHER_FILES)
def test_each_tool_function_is_shorter_than_60_lines(file: str):
    assert _too_long(OTHER_FILES[file]) == []


@pytest.mark.parametrize("module", MODULES)
def test_each_agent_module_is_shorter_than_400_lines(module: str):
    assert len(MODULES[module].read_text().splitlines()) < MODULE_LINES
