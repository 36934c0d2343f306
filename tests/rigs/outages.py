"""Watch a daemon through an outage: how few of its findings any report, and any scrape of its metrics, ever had."""

from __future__ import annotations

import http.client
import re
import threading
import urllib.error
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
    """Notes the fewest of these findings (id: code) that a report or a scrape had, until ``stop``.

    ``outcomes`` are the outcomes of all these reports. While the daemon restarts, there is nothing to scrape.
    """

    def __init__(self, host: AgentHost, codes: Mapping[str, str], metrics: str) -> None:
        self._host, self._codes = host, codes
        self._url = f"{metrics.replace('tcp', 'http')}/metrics"
        self._reported = self._scraped = len(codes)
        self.outcomes: set[str] = set()
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
                report = self._host.report()
                self.outcomes.add(report["audit"]["outcome"])
                self._reported = min(self._reported, len(by_id(report).keys() & self._codes.keys()))
                found = scraped(self._url, self._codes.values())
                self._scraped = self._scraped if found is None else min(self._scraped, found)
        except Exception as error:  # noqa: BLE001 - stop() raises the error in the test's own thread
            self._failed = error


def scraped(url: str, codes: Collection[str]) -> int | None:
    """Return how many findings with these codes the metrics count, at most as many of a code as ``codes`` has.

    Return None if no daemon answers, or if the daemon has not ended its first audit.
    """
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            text = answer.read().decode()
    except (urllib.error.URLError, ConnectionError, http.client.HTTPException):
        return None
    counts: dict[str, float] = {}
    for code, value in _COUNT.findall(text):
        counts[code] = counts.get(code, 0.0) + float(value)
    if not counts:
        return None
    return int(sum(min(counts.get(code, 0.0), list(codes).count(code)) for code in set(codes)))


def by_id(report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the findings of the report by id."""
    return {finding["id"]: finding for finding in report["audit"]["findings"]}


def unread(report: Mapping[str, Any]) -> frozenset[str]:
    """Return the sources that the report's audit could not read."""
    return frozenset(source["name"] for source in report["audit"]["sources"] if not source["ok"])
