"""A real Prometheus on a free loopback port that scrapes agents each second."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.rigs.host import PATIENCE_S, STOP_S
from tests.rigs.mariadb import free_port
from tests.rigs.wait import until

CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
scrape_configs:
  - job_name: stocktake
    static_configs: [{{targets: [{targets}]}}]
rule_files: [{rules}]
"""


@dataclass(frozen=True)
class Prometheus:
    """A running server."""

    url: str

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """Return the JSON answer of the HTTP API."""
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            return dict(json.load(answer))

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the samples of an expression now. Raise AssertionError if Prometheus does not accept it."""
        answer = self.get("query", query=expression)
        assert answer["status"] == "success", answer
        return list(answer["data"]["result"])

    def query_range(self, expression: str, seconds: float) -> list[dict[str, Any]]:
        """Return the series of an expression over the last seconds. Raise AssertionError as ``query`` does."""
        now = time.time()
        answer = self.get("query_range", query=expression, start=str(now - seconds), end=str(now), step="5")
        assert answer["status"] == "success", answer
        return list(answer["data"]["result"])


@contextlib.contextmanager
def running(folder: Path, ports: list[int], rules: Path) -> Iterator[Prometheus]:
    """Start Prometheus with these agents on loopback, and stop it at the end."""
    folder.mkdir()
    targets, port = ", ".join(f'"127.0.0.1:{one}"' for one in ports), free_port()
    (folder / "prometheus.yml").write_text(CONFIG.format(targets=targets, rules=rules))
    command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            server = Prometheus(f"http://127.0.0.1:{port}")
            until(lambda: _is_ready(server), PATIENCE_S, "Prometheus")
            yield server
        finally:
            process.terminate()
            process.wait(STOP_S)


@contextlib.contextmanager
def node_exporter(folder: Path, port: int) -> Iterator[None]:
    """Serve the text files of ``folder`` on a loopback port by a real node_exporter, without its other collectors."""
    command = ["prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile"]
    command += [f"--collector.textfile.directory={folder}", f"--web.listen-address=127.0.0.1:{port}"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        until(lambda: answers(port), PATIENCE_S, "node_exporter")
        yield
    finally:
        process.terminate()
        process.wait(STOP_S)


def answers(port: int) -> bool:
    """Return whether a server on that loopback port serves metrics."""
    url = f"http://127.0.0.1:{port}/metrics"
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=PATIENCE_S) as page:
        return bool(page.status == 200)
    return False


def _is_ready(server: Prometheus) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(f"{server.url}/-/ready", timeout=PATIENCE_S) as answer:
        return bool(answer.status == 200)
    return False
