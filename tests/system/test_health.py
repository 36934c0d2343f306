"""Health checks of a running daemon: over its unix socket and a TCP port, without and with Placement."""

import http.client
import json
import signal
import socket
import stat

import pytest

from tests.rigs.agent_process import Agent
from tests.rigs.host import PATIENCE_S
from tests.rigs.mariadb import free_port
from tests.rigs.schemas import complaints
from tests.rigs.wait import until


@pytest.fixture
def agent(tmp_path):
    agent = Agent(tmp_path)
    yield agent
    agent.close()


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("unix", timeout=PATIENCE_S)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(self._path)


def get(connection, path):
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


def test_the_daemon_answers_health_checks_by_http(agent):
    """With [healthcheck] uri, the daemon serves /livez, /readyz and /health on a unix socket and on a TCP port."""
    port = free_port()
    uris = f"unix://{agent.folder}/run/health.sock, tcp://127.0.0.1:{port}"
    agent.configure(extra=f"debug = true\n[healthcheck]\nuri = {uris}\ncache_control = 7")
    agent.start("--no-publish")
    path = agent.folder / "run" / "health.sock"
    until(path.exists, PATIENCE_S, "the socket")
    # The permissions of the report file, for a socket.
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    over_unix, over_tcp = UnixConnection(path), http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)

    def health():
        return json.loads(get(over_unix, "/health")[1])

    until(lambda: get(over_unix, "/readyz")[0].status == 200, PATIENCE_S, "the first audit")
    assert get(over_tcp, "/livez")[1] == "ok\n"
    found, shown = get(over_tcp, "/health")
    assert found.headers["Content-Type"] == "application/health+json"
    checks = json.loads(shown)["checks"]
    assert {"audit_loop", "placement", "libvirt", "storage", "write_lock", "identity"} <= set(checks)
    assert checks["libvirt"]["status"] == "pass"
    report = json.loads(get(over_unix, "/report.json")[1])
    assert report["audit"]["host"] == agent.host
    assert {"health": complaints("health", json.loads(shown)), "report": complaints("report", report)} == {
        "health": [],
        "report": [],
    }
    assert get(over_tcp, "/report.json")[0].status == 404

    until(lambda: health()["status"] == "fail", PATIENCE_S, "Placement's third loss")
    failed, _ = get(over_tcp, "/health")
    assert (failed.status, failed.headers["Cache-Control"]) == (503, "no-cache")
    assert get(over_tcp, "/livez")[0].status == 200
    audits = len(agent.records("audit done"))
    agent.process.send_signal(signal.SIGTERM)
    agent.process.wait(PATIENCE_S)
    assert not path.exists()
    # No request started an audit: only the start and its retries did.
    reasons = {reason for record in agent.records("audit done")[:audits] for reason in record["extra"]["reasons"]}
    assert reasons <= {"start-up", "retry", "look-again", "libvirt-connected"}


@pytest.mark.parametrize("uri", ["tcp://127.0.0.1", "unix://relative", "http://127.0.0.1:9199"])
def test_a_malformed_health_address_ends_the_agent_with_78(agent, uri):
    """[healthcheck] uri is malformed, such as a TCP address without a port; the agent exits with 78."""
    agent.configure(extra=f"[healthcheck]\nuri = {uri}")
    done = agent.once()
    assert done.returncode == 78
    assert f"[healthcheck] uri = {uri}" in done.stderr


def test_a_health_address_in_use_causes_a_warning(agent):
    """Another process listens on the port in [healthcheck] uri; the daemon logs a warning and still audits."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        uri = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        agent.configure(extra=f"debug = true\n[healthcheck]\nuri = {uri}")
        agent.start("--no-publish")
        (lost,) = agent.until_logged("cannot listen on the monitoring address, tried again each minute")
        assert (lost["levelname"], lost["extra"]["uri"]) == ("WARNING", uri)
        agent.until_logged("audit done")


def test_a_public_health_address_causes_a_notice(agent):
    """Other machines can reach the address in [healthcheck] uri; the daemon logs that it has no TLS and no password."""
    agent.configure(extra=f"[healthcheck]\nuri = tcp://0.0.0.0:{free_port()}")
    agent.start("--no-publish")
    agent.until_logged("outcome changed")
    notices = [record["extra"]["notice"] for record in agent.records("configuration notice")]
    assert any("neither TLS nor a password" in notice for notice in notices)
