"""The monitoring servers of the daemon: what they keep after an audit, and how they end."""

from __future__ import annotations

import http.client
import os

import pytest

from agent.monitoring import service
from agent.monitoring.address import Address
from agent.monitoring.health import Loop
from agent.monitoring.options import HealthOptions
from agent.monitoring.server import Answer, HttpServer
from agent.monitoring.service import Monitor, MonitorControl
from tests.rigs import reports
from tests.rigs.mariadb import free_port

CONTROL = MonitorControl(
    loop=lambda: Loop(is_alive=True, running_s=0.0),
    bus=lambda: None,
    interval_s=lambda: 60.0,
    now=lambda: "2026-11-25T12:00:00.000Z",
)


class Broken:
    """Metrics whose update fails after each audit."""

    def audited(self, report: object, changed: object) -> None:
        raise RuntimeError("a bug")

    def reloaded(self, *, is_successful: bool) -> None:
        pass

    def answer(self, accept: str) -> Answer:
        return Answer(status=200, body=b"")


def test_health_pages_are_updated_if_the_metrics_fail(tmp_path):
    """If the update of the metrics raises an error after an audit, the page /readyz still shows the audit's result."""
    address = Address(host="127.0.0.1", port=free_port())
    monitor = Monitor(HealthOptions(addresses=(address,)), CONTROL, str(tmp_path), Broken())
    monitor.start()
    try:
        with pytest.raises(RuntimeError):
            monitor.audited(reports.REPORT, ())
        connection = http.client.HTTPConnection(address.host, address.port, timeout=30)
        connection.request("GET", "/readyz")
        assert connection.getresponse().status == 200
        connection.close()
    finally:
        monitor.stop()


def test_monitoring_stopped_at_its_start_leaves_no_socket(tmp_path, monkeypatch):
    """If the daemon stops its monitoring servers while they start, no socket file is left."""
    monkeypatch.chdir(tmp_path)

    class Late(HttpServer):
        def start(self) -> None:
            super().start()
            monitor.stop()

    monkeypatch.setattr(service, "HttpServer", Late)
    options = HealthOptions(addresses=(Address(path="a.sock"), Address(path="b.sock")))
    monitor = Monitor(options, CONTROL, str(tmp_path))
    monitor.start()
    assert os.listdir(tmp_path) == []
