"""Watch a daemon through an outage: how few of its findings any report, and any scrape of its metrics, ever had."""

from __future__ import annotations

import re
import threading
import urllib.request
from collections.abc import Collection, Mapping
from typing import Any

from tests.rigs.host import PATIENCE_S, AgentHost
from tests.rigs.mariadb import free_port

_COUNT = re.compile(r'^stocktake_findings\{code="([^"]+)"[^}]*\} (\S+)$', re.MULTILINE)


def metrics_address() -> str:
    """Return an address for ``[metrics] uri`` that no other process uses."""
    return f"tcp://127.0.0.1:{free_port()}"


class Watcher:
    """Notes the fewest of these findings (id: code) that a report or a scrape had, until ``stop``."""

    def __init__(self, host: AgentHost, codes: Mapping[str, str], metrics: str) -> None:
        self._host, self._codes = host, codes
        self._url = f"{metrics.replace('tcp', 'http')}/metrics"
        self._reported = self._scraped = len(codes)
        self._failed: Exception | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> tuple[int, int]:
        """Return the fewest findings of any report and of any scrape; raise what went wrong in the thread."""
        self._ended.set()
        self._thread.join(PATIENCE_S)
        if self._failed is not None:
            raise self._failed
        return self._reported, self._scraped

    def _watch(self) -> None:
        try:
            while not self._ended.wait(0.02):
                self._reported = min(self._reported, len(self._ids() & self._codes.keys()))
                self._scraped = min(self._scraped, scraped(self._url, self._codes.values()))
        except Exception as error:  # noqa: BLE001 - stop() raises the error in the test's own thread
            self._failed = error

    def _ids(self) -> set[str]:
        return {finding["id"] for finding in self._host.report()["audit"]["findings"]}


def scraped(url: str, codes: Collection[str]) -> int:
    """Return how many findings with these codes the metrics count, at most as many of a code as ``codes`` has."""
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
        text = answer.read().decode()
    counts: dict[str, float] = {}
    for code, value in _COUNT.findall(text):
        counts[code] = counts.get(code, 0.0) + float(value)
    return int(sum(min(counts.get(code, 0.0), list(codes).count(code)) for code in set(codes)))


def by_id(report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the findings of the report by id."""
    return {finding["id"]: finding for finding in report["audit"]["findings"]}


def unread(report: Mapping[str, Any]) -> frozenset[str]:
    """Return the sources that the report's audit could not read."""
    return frozenset(source["name"] for source in report["audit"]["sources"] if not source["ok"])
