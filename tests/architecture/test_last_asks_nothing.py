"""What ``status`` and ``--last`` import: files and text, and nothing that could ask a source or run an audit."""

import ast
import pathlib

from tests.rigs.source_tree import agent_modules, parse

MODULES = agent_modules()
#: Whoever imports one of these can ask Placement, the cloud, libvirt or the disks.
ASKING = ("agent.audit.run", "agent.cmd.wiring", "agent.conductor", "agent.placement.http", "agent.sources")


class _AtRunTime(ast.NodeVisitor):
    """Collects the imports of a module, except those that only a type checker reads."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self.names += [alias.name for alias in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.names += [f"{node.module}.{alias.name}" for alias in node.names]


def at_the_top(path: pathlib.Path) -> list[str]:
    """Return what a module imports when it is imported: not within its functions."""
    found = _AtRunTime()
    for node in parse(path).body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.visit(node)
    return found.names


def reached_from(start: str) -> set[str]:
    """Return every module of the agent that is imported together with ``start``."""
    known, waiting = {start}, [start]
    while waiting:
        for name in at_the_top(MODULES[waiting.pop()]):
            module = name if name in MODULES else name.rpartition(".")[0]
            parts = module.split(".")
            above = {".".join(parts[: count + 1]) for count in range(len(parts))}
            new = (above & MODULES.keys()) - known
            known |= new
            waiting += new
    return known


def asking(modules: set[str]) -> set[str]:
    return {module for module in modules if module.startswith(ASKING)}


def test_printing_the_last_report_imports_no_source_reader():
    """`stocktake status` and --last print the report that the daemon saved.

    They import no code that asks nova or libvirt.
    """
    reached = reached_from("agent.cmd.daemon_report")
    assert {"agent.host_files.reports", "agent.host_files.saved_report", "agent.config.load"} <= reached
    assert asking(reached) == set()


def test_the_import_search_finds_indirect_imports():
    """The tests' search for imports finds that a command's module imports agent.sources.storage.images indirectly."""
    assert {"agent.audit.run", "agent.cmd.wiring", "agent.sources.storage.images"} <= asking(
        reached_from("agent.cmd.audited")
    )
