"""Code logs the events of agent/telemetry/events.py only at the level and by the logger that the event names."""

import ast
import re

from agent.telemetry import events
from tests.rigs.source_tree import ROOT, agent_modules, parse

LOGS = "docs/reference/logs.md"
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


def test_logs_md_has_a_row_for_each_event():
    """docs/reference/logs.md has each event that the agent logs at level INFO or above, and no others."""
    logged = {
        event for event in vars(events).values() if isinstance(event, events.Event) and event.level != events.DEBUG
    }
    texts = {_constant_part(event) for event in logged}
    tables = re.findall(r"^\| Text \| Level \| When \|\n.*\n((?:\|.*\n)+)", (ROOT / LOGS).read_text(), re.MULTILINE)
    rows = [row.split("|")[1] for table in tables for row in table.splitlines()]
    assert sorted(text for row in rows for text in re.findall("`([^`]+)`", row)) == sorted(texts)


def _constant_part(event: str) -> str:
    """Return the text up to its first value, as the document prints it."""
    return re.split(r" \S*%|(?<=:) ", event)[0]
