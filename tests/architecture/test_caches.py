"""Each cache and each state at module level is in the list in agent/model/memo.py, and the list names nothing else."""

import ast
from collections.abc import Iterator

import pytest

from agent.model.memo import CACHES
from tests.rigs.source_tree import agent_modules, parse

MODULES = agent_modules()
DECORATORS = {"cache", "lru_cache", "cached_property", "for_equal_arguments", "for_the_same_arguments"}
STATES = {"ContextVar", "local"}
CHANGES = {"append", "add", "update", "setdefault", "pop", "popitem", "clear", "extend", "insert", "remove", "discard"}


def _called(node: ast.expr | None) -> str:
    """Return the last part of the name of a decorator or of a called function, "" for any other expression."""
    node = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(node).rpartition(".")[2] if isinstance(node, ast.Name | ast.Attribute) else ""


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield each name that the module assigns outside functions, with the assigned expression."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((target.id, node.value) for target in targets if isinstance(target, ast.Name))


def _changed(tree: ast.Module) -> Iterator[str]:
    """Yield the names whose values some function changes in place or replaces with ``global``."""
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
        local = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
        local |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for node in ast.walk(function):
            if isinstance(node, ast.Global):
                yield from node.names
            if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.value, ast.Name):
                is_changed = isinstance(node.ctx, ast.Store | ast.Del) or getattr(node, "attr", "") in CHANGES
                if is_changed and node.value.id not in local:
                    yield node.value.id


def caches(module: str, tree: ast.Module) -> set[str]:
    """Return ``module.name`` of each cache and each state of the module."""
    assigned = dict(_assigned(tree))
    found = {name for name, value in assigned.items() if _called(value) in DECORATORS | STATES}
    found |= set(_changed(tree)) & assigned.keys()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(_called(d) in DECORATORS for d in node.decorator_list):
            found.add(node.name)
    return {f"{module}.{name}" for name in found}


def test_the_list_of_caches_is_complete():
    """The list CACHES in agent/model/memo.py contains every cache of the agent's modules."""
    assert set().union(*(caches(name, parse(path)) for name, path in MODULES.items())) == set(CACHES)


@pytest.mark.parametrize(
    "source",
    [
        "@functools.cache\ndef x(): ...",
        "@functools.lru_cache(maxsize=1)\ndef x(): ...",
        "class A:\n    @cached_property\n    def x(self): ...",
        "x = functools.lru_cache(maxsize=1)",
        "x = for_equal_arguments(len)",
        "x: ContextVar[int] = contextvars.ContextVar('x')",
        "x = None\ndef f():\n    global x\n    x = 1",
        "x = {}\ndef f(key):\n    x[key] = 1",
        "x = {}\ndef f(key):\n    del x[key]",
        "x = []\ndef f(key):\n    x.append(key)",
        "x = A()\ndef f():\n    x.count += 1",
    ],
)
def test_the_cache_scanner_finds_each_kind_of_cache(source: str):
    """The scanner finds functools caches, context variables, and module-level values that a function changes."""
    assert caches("m", ast.parse(source)) == {"m.x"}


@pytest.mark.parametrize("source", ["x = {}\ndef f(key):\n    return x[key]", "x = []\ndef f(x):\n    x.append(1)"])
def test_the_cache_scanner_ignores_constants(source: str):
    """A dict that functions only read is no cache. A list that a function gets as an argument is no cache."""
    assert caches("m", ast.parse(source)) == set()
