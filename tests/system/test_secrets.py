"""Secrets of the configuration: whatever the agent and its commands write, no secret option's value is in it.

No server answers: errors are the texts into which a library most often writes an address or a credential. And what a
daemon without monitoring options listens on.
"""

import contextlib
import http.client
import os
import signal
import socket
from pathlib import Path

import pytest

from tests.rigs.domains import node_xml
from tests.rigs.host import PATIENCE_S, STOP_S, host_on
from tests.rigs.mariadb import free_port
from tests.rigs.programs import INSTALLED
from tests.rigs.wait import until

MARK = "correct-horse-battery"
CREDENTIALS = {
    "password": {
        "username": "nova",
        "password": f"{MARK}-password",
        "user_domain_id": "default",
        "project_name": "service",
        "project_domain_id": "default",
    },
    "v3applicationcredential": {
        "application_credential_id": "abc",
        "application_credential_secret": f"{MARK}-application",
    },
    "v3token": {"token": f"{MARK}-token"},
}
COMMANDS = (
    *(("config", "show", "-f", form) for form in ("table", "json")),
    ("config", "check"),
    ("config", "check", "--live"),
    ("status", "-f", "json"),
    ("status", "--check"),
    ("audit", "-f", "json"),
)


def host_without_servers(folder, auth_type):
    (folder / "node.xml").write_text(node_xml(cpus=8, memory_mib=4096))
    made = host_on(folder, "http://127.0.0.1:9", launcher=INSTALLED)
    made.options = {
        "DEFAULT": {
            "debug": True,
            "update_resources_interval": -1,
            "transport_url": f"rabbit://agent:{MARK}-bus@127.0.0.1:9/",
            "default_log_levels": "keystoneauth=DEBUG,urllib3=DEBUG,oslo.messaging=DEBUG",
        },
        "state": {"connection": f"mysql+pymysql://nova:{MARK}-sql@127.0.0.1:9/nova"},
        "placement": {
            "token": None,
            "auth_type": auth_type,
            "auth_url": f"http://joe:{MARK}-url@127.0.0.1:9/v3",
            "connect_retries": 0,
            **CREDENTIALS[auth_type],
        },
        "metrics": {"uri": f"tcp://127.0.0.1:{free_port()}", "textfile": folder / "stocktake.prom"},
    }
    made.configure()
    return made


def pages(host):
    """Return what the daemon answers to each path, over TCP and over the unix socket of the health checks."""
    port = int(str(host.options["metrics"]["uri"]).rpartition(":")[2])
    answers = []
    for path in ("/metrics", "/health", "/livez", "/readyz", "/report.json"):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        connection.request("GET", path)
        answers.append(connection.getresponse().read().decode())
        connection.close()
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as unix:
            unix.settimeout(PATIENCE_S)
            unix.connect(str(host.folder / "run" / "health.sock"))
            unix.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            answers.append(b"".join(iter(lambda: unix.recv(65536), b"")).decode())
    return answers


def files(folder: Path):
    """Return the text of every file that the agent has written; its own configuration is left out."""
    own = {"stocktake.conf", "node.xml"}
    return [path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file() and path.name not in own]


def assert_no_secret_in(written, host):
    written += files(host.folder)
    assert MARK in host.config_file.read_text()
    assert "agent" in "".join(written)
    assert [text for text in written if MARK in text] == []


def test_the_daemon_and_the_commands_write_no_secret(tmp_path):
    """Passwords from the configuration are not in any log, report, metrics page or output, even with debug = true."""
    host = host_without_servers(tmp_path, "password")
    with host.daemon() as daemon:
        daemon.first_audit()
        daemon.send(signal.SIGUSR2)
        until(lambda: "state dump" in daemon.text(), PATIENCE_S, "the report of SIGUSR2")
        daemon.send(signal.SIGHUP)
        until(lambda: "configuration reloaded" in daemon.text(), PATIENCE_S, "the reload")
        daemon.audit_now()
        written = pages(host)
        for arguments in COMMANDS:
            ended = host.stocktake(*arguments)
            written += [ended.stdout, ended.stderr]
        daemon.send(signal.SIGTERM)
        assert daemon.ended(STOP_S) == 0
    assert_no_secret_in(written, host)


@pytest.mark.parametrize("auth_type", ["v3applicationcredential", "v3token"])
def test_the_agent_prints_no_keystone_secret_or_token(tmp_path, auth_type):
    """The secret of an application credential or a token is in none of the agent's files, logs and outputs."""
    host = host_without_servers(tmp_path, auth_type)
    ended = host.agent("--once")
    shown = host.stocktake("config", "show", "-f", "json")
    assert_no_secret_in([ended.stdout, ended.stderr, shown.stdout], host)


def test_a_daemon_without_metrics_opens_no_tcp_port(tmp_path):
    """If no [metrics] uri is configured, the daemon listens only on its unix socket health.sock."""
    host = host_without_servers(tmp_path, "password")
    host.configure({"metrics": {"uri": None, "textfile": None}})
    with host.daemon() as daemon:
        daemon.first_audit()
        sockets = {
            os.readlink(entry).removeprefix("socket:[").removesuffix("]")
            for entry in Path(f"/proc/{daemon.process.pid}/fd").iterdir()
        }
        listening = [
            line.split()
            for name in ("tcp", "tcp6")
            for line in Path(f"/proc/{daemon.process.pid}/net/{name}").read_text().splitlines()[1:]
        ]
        assert [fields for fields in listening if fields[3] == "0A" and fields[9] in sockets] == []
        assert (tmp_path / "run" / "health.sock").is_socket()
