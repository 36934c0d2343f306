"""sd_notify against a real socket."""

import os
import socket

import pytest

from agent.daemon.notifier import Notifier, notifier_from


@pytest.fixture(params=["path", "abstract"])
def listener(request, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        name = f"stocktake-test-{os.getpid()}"
        address = str(tmp_path / "notify") if request.param == "path" else f"@{name}"
        server.bind(address if request.param == "path" else f"\0{name}")
        server.settimeout(60)
        yield server, address


def test_a_systemd_notification_is_sent_as_one_datagram(listener):
    """The agent sends READY=1 and its status to systemd in one datagram, without line breaks in the status."""
    server, address = listener
    Notifier(address, None).send("READY=1", "STATUS=two\nlines")
    assert server.recv(1000) == b"READY=1\nSTATUS=two lines"


def test_systemd_variables_are_removed_from_the_environment():
    """The agent reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from its environment."""
    environment = {"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7", "PATH": "/bin"}
    notifier = notifier_from(environment, 7)
    assert notifier == Notifier("@x", 30.0)
    assert environment == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"WATCHDOG_USEC": "0"},
        {"WATCHDOG_USEC": "soon"},
        {"WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "8"},
    ],
)
def test_an_invalid_watchdog_variable_is_ignored(environment):
    """The agent ignores WATCHDOG_USEC if the value is missing, zero, no number or meant for another process."""
    assert notifier_from(environment, 7) == Notifier(None, None)


def test_a_missing_systemd_socket_raises_no_error(tmp_path):
    """The agent goes on without an error if the notification socket of systemd is gone or was never given."""
    Notifier(str(tmp_path / "gone"), None).send("READY=1")
    Notifier(None, None).send("READY=1")
