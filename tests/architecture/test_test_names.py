"""The names of tests are short."""

import ast

from tests.rigs.source_tree import ROOT, parse

LONGEST = 60


def test_each_test_name_has_at_most_60_characters():
    """What does not fit into 60 characters belongs in the test's docstring, as CONTRIBUTING.md says."""
    long = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        names = [node.name for node in ast.walk(parse(path)) if isinstance(node, ast.FunctionDef)]
        long += [
            f"{path.relative_to(ROOT)}: {name}" for name in names if name.startswith("test_") and len(name) > LONGEST
        ]
    assert long == []
