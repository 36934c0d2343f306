"""Commands against a Placement that accepts connections and never answers."""

import socket

import pytest

from tests.rigs.agent_process import Agent
from tests.rigs.placement import new_uuid

#: The time that a command waits for a source; long enough for the sentence about the wait.
DEADLINE_S = 3
COMMANDS = {
    "audit": ("audit",),
    "heal": ("heal",),
    "traits": ("traits", "--diff"),
    "why": ("why", "--resource", "VCPU=1"),
    "why everywhere": ("why", "--resource", "VCPU=1", "--everywhere"),
}


@pytest.fixture
def silent():
    """A listening socket: the kernel accepts each connection, and no program answers."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.setblocking(False)
        yield made


@pytest.fixture
def agent(tmp_path, silent):
    agent = Agent(tmp_path)
    agent.configure(url=f"http://127.0.0.1:{silent.getsockname()[1]}")
    text = agent.conf.read_text().replace("confirm_spacing = 0", f"confirm_spacing = 0\nsource_deadline = {DEADLINE_S}")
    agent.conf.write_text(text)
    (tmp_path / "compute_id").write_text(new_uuid())
    return agent


def connections(silent: socket.socket) -> int:
    """Return how many connections came in."""
    count = 0
    while True:
        try:
            silent.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_waits_only_once_for_a_silent_placement(agent, silent, name):
    """Placement accepts the connection and never answers. The command connects once and reports the wait on stderr."""
    done = agent.stocktake(*COMMANDS[name])
    assert done.returncode in (2, 75), done.stderr
    # The test trusts the limit of one request (other tests measure it) and counts the requests.
    assert connections(silent) == 1
    assert done.stderr.count("waiting for placement (http://127.0.0.1:") == 1
    assert "at most 1 s more; stop with Ctrl-C\n" in done.stderr
    assert "waiting for" not in done.stdout


def test_quiet_hides_the_message_about_a_wait(agent):
    """`stocktake --quiet audit` prints no "waiting for" line while Placement is silent, only the error at the end."""
    done = agent.stocktake("--quiet", "audit")
    assert done.returncode == 2
    assert "waiting for" not in done.stderr
    assert f"no complete answer within {DEADLINE_S} s" in done.stderr
