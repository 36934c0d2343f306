"""Code logs the events of agent/telemetry/events.py only at the level and by the logger that the event names."""

import ast
import logging
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
    assert sorted(text for text, _ in _rows()) == sorted(_levels())


def test_logs_md_has_the_level_of_each_event():
    """If an event always has the same level, its row in docs/reference/logs.md contains this level."""
    levels = _levels()
    named = [(text, levels[text], cell) for text, cell in _rows() if isinstance(levels[text], int)]
    assert [text for text, level, cell in named if logging.getLevelName(level) not in cell] == []


def _levels() -> dict[str, int | events.Varies]:
    """Return the level of each event of the agent at INFO or above, by the event's constant text."""
    found = [event for event in vars(events).values() if isinstance(event, events.Event)]
    return {_constant_part(event): event.level for event in found if event.level != events.DEBUG}


def _rows() -> list[tuple[str, str]]:
    """Return each text in the tables of events in logs.md with the cell about its level."""
    tables = re.findall(r"^\| Text \| Level \| When \|\n.*\n((?:\|.*\n)+)", (ROOT / LOGS).read_text(), re.MULTILINE)
    rows = [row.split("|") for table in tables for row in table.splitlines()]
    return [(text, row[2]) for row in rows for text in re.findall("`([^`]+)`", row[1])]


def _constant_part(event: str) -> str:
    """Return the text up to its first value, as the document prints it."""
    return re.split(r" \S*%|(?<=:) ", event)[0]
