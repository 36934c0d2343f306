"""Code logs the events of agent/telemetry/events.py only at the level and by the logger that the event names."""

import ast

from tests.rigs.source_tree import agent_modules, parse

METHODS = {"debug", "info", "warning", "error", "exception", "critical", "log"}


def test_no_code_passes_a_log_event_directly_to_a_logger():
    """The agent's code never calls logger.info(events.X) or the like: each event has its own logger and level."""
    direct = []
    for name, path in agent_modules().items():
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                method, first = node.func.attr, ast.unparse(node.args[0])
                if method in METHODS and first.startswith("events."):
                    direct.append(f"{name}:{node.lineno}: {method}({first})")
    assert direct == []
