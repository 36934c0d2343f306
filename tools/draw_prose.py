"""Draw sentences of the project at random, for a reader to judge: ``.venv/bin/python tools/draw_prose.py --seed 1``.

The reader knows OpenStack and not this project, sees each text with the lines around it, and calls it clear, read twice
or unclear. ``--kind names`` draws names of tests, each with the test's docstring if there is one (a docstring carries
what the name cannot); ``--kind messages`` draws texts that operators read.
"""

import argparse
import ast
import io
import pathlib
import random
import sys
import tokenize
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]
FEWEST_WORDS = 4
AROUND = 2


def comments(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """Yield each block of comment lines with the number of its first line."""
    block: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type != tokenize.COMMENT or "noqa" in token.string or "type:" in token.string:
            continue
        if token.start[0] != last + 1 and block:
            yield first, " ".join(block)
            block = []
        first = token.start[0] if not block else first
        last = token.start[0]
        block.append(token.string.lstrip("#: "))
    if block:
        yield first, " ".join(block)


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of the module, its classes and its functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text


def messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield all texts that are neither docstrings nor regular expressions; {…} stands for an inserted value."""
    compiled = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"
    ]
    patterns = {id(value) for call in compiled for value in ast.walk(call)}
    inner = {id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in ast.walk(node)}
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "{…}" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner | silent | patterns
        ):
            yield node.lineno, node.value


def texts(kind: str) -> list[tuple[str, int, str]]:
    """Return all texts of a kind as (path, line, text), in order."""
    found: list[tuple[str, int, str]] = []
    for path in sorted((ROOT / ("tests" if kind == "names" else "agent")).rglob("*.py")):
        tree = ast.parse(path.read_text())
        if kind == "names":
            named = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
            tests = [node for node in named if node.name.startswith("test_")]
            some = [(node.lineno, "\n".join(filter(None, (node.name, ast.get_docstring(node))))) for node in tests]
        elif kind == "messages":
            some = [(line, text) for line, text in messages(tree) if len(text.split()) >= FEWEST_WORDS]
        else:
            prose = [*docstrings(tree), *comments(path), *messages(tree)]
            some = [(line, text) for line, text in prose if len(text.split()) >= FEWEST_WORDS]
        found += [(str(path.relative_to(ROOT)), line, text) for line, text in some]
    return found


def main() -> int:
    """Print the draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--kind", choices=["prose", "messages", "names"], default="prose")
    wanted = parser.parse_args()
    everything = texts(wanted.kind)
    drawn = random.Random(wanted.seed).sample(everything, wanted.count)
    print(f"{wanted.count} of {len(everything)} texts of kind {wanted.kind}, seed {wanted.seed}")
    for number, (path, line, text) in enumerate(drawn, 1):
        around = (ROOT / path).read_text().splitlines()[max(0, line - 1 - AROUND) : line + AROUND]
        print(f"\n--- {number}. {path}:{line}\n{text}")
        if wanted.kind != "names":
            print("    | " + "\n    | ".join(around))
    return 0


if __name__ == "__main__":
    sys.exit(main())
