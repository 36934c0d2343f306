"""The agent's own source as text and syntax trees, for tests of its structure; no module of it is imported."""

import ast
import pathlib
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
AGENT = ROOT / "agent"


def module_name(path: pathlib.Path) -> str:
    """Return a module's dotted name, such as ``agent.sources.storage.lvm``; the package's for ``__init__.py``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def agent_modules() -> dict[str, pathlib.Path]:
    """Return every module of the agent by dotted name, sorted."""
    return {module_name(path): path for path in sorted(AGENT.rglob("*.py"))}


def parse(path: pathlib.Path) -> ast.Module:
    """Return the syntax tree of one file."""
    return ast.parse(path.read_text(), filename=str(path))


def imports(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) of every import in a file, including imports inside functions and under TYPE_CHECKING.

    ``from a import b`` yields ``a.b``: a rule about ``a`` applies to it, whether b is a module or a name.
    """
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import hides what is imported"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function and method, including nested ones."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
