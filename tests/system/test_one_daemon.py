"""One daemon per host: what a second one, a single audit and the next daemon do."""

import os
import re
import signal

import pytest

from tests.rigs.agent_process import Agent
from tests.rigs.wait import until


@pytest.fixture
def agent(tmp_path):
    agent = Agent(tmp_path)
    agent.configure(extra="debug = true")
    agent.start()
    agent.report()
    yield agent
    agent.close()


def test_a_second_daemon_on_a_host_exits_with_5(agent):
    """The second daemon prints the pid of the running daemon and exits before it reads any source."""
    second = agent.run("--config-file", str(agent.conf))
    assert second.returncode == 5
    running = f"pid {agent.process.pid} since 20[0-9T:.-]+Z"
    said = f"stocktake-agent: another stocktake-agent is running: {running}; not started"
    assert re.fullmatch(said, second.stderr.splitlines()[-1])
    # With debug, every read and every part of the agent would have logged something.
    assert "agent starting" not in second.stderr
    assert "placement" not in second.stderr


def test_a_daemon_can_start_after_another_was_killed(agent):
    """SIGKILL leaves the agent's lock file behind, and the next daemon still starts."""
    first = agent.process.pid
    agent.process.send_signal(signal.SIGKILL)
    agent.process.wait()
    agent.start()
    agent.until_logged("agent started")
    assert (agent.folder / "run" / "agent.lock").read_text().split()[0] == str(agent.process.pid) != str(first)


def _logged_audits(agent):
    return {record["extra"]["audit_id"] for record in agent.records("audit done")}


def test_a_single_audit_keeps_the_report_of_a_running_daemon(agent):
    """While a daemon runs on the host, `stocktake-agent --once` does not replace report.json."""
    path = agent.folder / "run" / "report.json"
    once = agent.once()
    assert once.returncode == 2, once.stderr
    assert f"stocktake-agent is running (pid {agent.process.pid} since " in once.stderr
    assert f"so this run does not replace the report {path}" in once.stderr
    # The daemon retries its audit while Placement gives no answer, so the daemon may have written a newer report.
    until(lambda: agent.report()["audit_id"] in _logged_audits(agent), 60, "a report of an audit of the daemon")
    before = os.stat(path).st_ino
    agent.process.send_signal(signal.SIGTERM)
    assert agent.process.wait(60) == 0
    agent.once()
    assert os.stat(path).st_ino != before
