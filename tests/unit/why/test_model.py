"""Every constraint of ``stocktake why`` is produced by some stage."""

import ast

import pytest

from agent.why.model import Constraint
from tests.rigs.source_tree import agent_modules, parse

MODEL = "agent.why.model"


def _named() -> set[str]:
    nodes = (node for module, path in agent_modules().items() if module != MODEL for node in ast.walk(parse(path)))
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Constraint"}


NAMED = _named()


@pytest.mark.parametrize("constraint", Constraint)
def test_each_kind_of_refusal_is_used(constraint):
    """Each kind of refusal that `stocktake why` defines is used by at least one other module of the agent."""
    assert constraint.name in NAMED
