"""Each module's header says in one sentence what the module is for, and each public name has a docstring."""

import ast
import re

import pytest

from tests.rigs.source_tree import agent_modules, parse

MODULES = {name: path for name, path in agent_modules().items() if path.read_text().strip()}

# The first sentence of a header ends within the header's first paragraph.
SENTENCE = re.compile(r"\S.*?[.:?](\s|$)", re.DOTALL)


@pytest.mark.parametrize("module", MODULES)
def test_each_module_docstring_begins_with_a_sentence(module: str):
    header = ast.get_docstring(parse(MODULES[module]))
    assert header, f"{module} has no header"
    first = header.split("\n\n")[0]
    assert SENTENCE.match(first), f"{module}: the header's first paragraph is no sentence: {first!r}"


def _undocumented(body: list[ast.stmt], owner: str) -> list[str]:
    """Return public classes, functions, and public methods of public classes that have no docstring."""
    missing = []
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
            continue
        if not ast.get_docstring(node) and not _is_overload_or_setter(node):
            missing.append(f"{owner}{node.name}, line {node.lineno}")
        if isinstance(node, ast.ClassDef):
            missing += _undocumented(node.body, f"{node.name}.")
    return missing


def _is_overload_or_setter(node: ast.stmt) -> bool:
    names = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    return bool(names & {"overload", "override", "setter"})


@pytest.mark.parametrize("module", MODULES)
def test_public_functions_and_classes_have_docstrings(module: str):
    assert _undocumented(parse(MODULES[module]).body, "") == []
