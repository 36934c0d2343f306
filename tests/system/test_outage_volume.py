"""How much a real daemon logs while Placement is away: few lines, and no line of a library without debug."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rigs.agent_process import Agent
from tests.rigs.host import PATIENCE_S, STOP_S
from tests.rigs.logs import json_lines
from tests.rigs.wait import until

# An audit takes two seconds: the client tries a refused connection again. A run with 60 audits logged 6 lines.
AUDITS = 6
# The 2nd and the 4th repetition, the confirmed finding, and what the start may still log.
MOST_LINES = 8


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    made = Agent(tmp_path)
    yield made
    made.close()


def audit(agent: Agent) -> None:
    """Cause an audit and wait for its report."""
    before = agent.report()["audit_id"]
    assert agent.process is not None
    agent.process.send_signal(signal.SIGUSR1)
    until(lambda: agent.report()["audit_id"] != before, PATIENCE_S, "a further audit")


def test_a_placement_outage_adds_few_log_lines(agent, record_property):
    """Six audits while Placement cannot be reached add at most 8 lines to the agent's log."""
    agent.start()
    agent.until_logged("source lost")
    started = len(agent.log.read_text().splitlines())
    for _ in range(AUDITS):
        audit(agent)
    added = agent.log.read_text().splitlines()[started:]
    assert agent.process is not None
    agent.process.send_signal(signal.SIGTERM)
    assert agent.process.wait(STOP_S) == 0
    record_property("lines_added", len(added))
    record_property("bytes_added", sum(map(len, added)))
    print(f"{AUDITS} audits without Placement: {len(added)} lines, {sum(map(len, added))} bytes of JSON")
    assert len(added) <= MOST_LINES
    names = {record["name"] for record in json_lines(agent.log.read_text())}
    assert all(name.startswith("stocktake.") for name in names), names
