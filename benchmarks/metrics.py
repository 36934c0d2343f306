"""Cost of metrics and health checks in one daemon, beside a daemon without them: ``python -m benchmarks.metrics``.

Three daemons run one after the other on the same host with its guests: without any socket, with the health socket
alone, and with metrics over TCP too. SIGUSR1 requests each audit. The third daemon audits again while a client scrapes
each second, and while eight clients hold connections open that send nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import socket
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.memory import audits, cpu_ms, rss_mib
from benchmarks.table import Row, print_table
from benchmarks.world import Load, World, world
from tests.rigs.host import Daemon
from tests.rigs.mariadb import free_port

NO_SOCKET = {"healthcheck": {"uri": ""}, "metrics": {"uri": None}}
WARM_UP = 20
SCRAPES = 200
SLOW_CLIENTS = 8
HEALTH_MIB, METRICS_MIB = 2.0, 6.0
SCRAPE_MS, FIRST_SCRAPE_MS = 5.0, 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Resident MiB after the audits, CPU time in ms of an audit, and the durations in ms that the reports state."""

    rss_mib: float
    cpu_ms: float
    durations_ms: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrapes:
    """Times in ms of the first scrape after an audit and of the scrapes that follow, and the number of series."""

    first_ms: tuple[float, ...]
    later_ms: tuple[float, ...]
    series: int


def audited(daemon: Daemon, number: int) -> Cost:
    """Request ``number`` audits, one after the other."""
    before = cpu_ms(daemon.process.pid)
    durations = tuple(float(daemon.audit_now()["audit"]["duration_ms"]) for _ in range(number))
    after = cpu_ms(daemon.process.pid)
    return Cost(rss_mib=rss_mib(daemon.process.pid), cpu_ms=(after - before) / number, durations_ms=durations)


def scraped(port: int) -> tuple[float, str]:
    """Scrape once; return the time in ms and the text."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return (time.perf_counter() - began) * 1000, text


def scrapes(daemon: Daemon, port: int) -> Scrapes:
    """Scrape between audits: once directly after each of ten audits, and then ``SCRAPES`` times."""
    first = []
    for _ in range(10):
        daemon.audit_now()
        first.append(scraped(port)[0])
    later = [scraped(port) for _ in range(SCRAPES)]
    series = sum(1 for line in later[-1][1].splitlines() if line.startswith("stocktake_"))
    return Scrapes(first_ms=tuple(first), later_ms=tuple(took for took, _ in later), series=series)


@contextlib.contextmanager
def scraped_each_second(port: int) -> Iterator[None]:
    """Scrape each second in a thread during the block."""
    ended = threading.Event()

    def scrape() -> None:
        while not ended.wait(1.0):
            scraped(port)

    thread = threading.Thread(target=scrape)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def slow_clients(port: int) -> Iterator[None]:
    """Hold connections that send nothing open, and open them again when the server has closed them."""
    ended = threading.Event()

    def hold() -> None:
        while not ended.is_set():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0) as held:
                while not ended.is_set():
                    with contextlib.suppress(TimeoutError):
                        if not held.recv(4096):
                            break
            # The server refuses a fifth connection at once; a client that tries again at once would load the machine.
            ended.wait(0.5)

    threads = [threading.Thread(target=hold) for _ in range(SLOW_CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def p99(values: tuple[float, ...]) -> float:
    """Return the 99th percentile, in the unit of the values."""
    return statistics.quantiles(values, n=100)[98]


@contextlib.contextmanager
def started(made: World, options: dict[str, dict[str, object]]) -> Iterator[Daemon]:
    """Yield a daemon with these options that has audited ``WARM_UP`` times."""
    made.host.configure(options)
    with made.host.daemon() as daemon:
        daemon.first_audit()
        audits(daemon, WARM_UP)
        yield daemon


def rows(guests: int, number: int) -> list[Row]:
    """Measure all of it with this number of guests."""
    port = free_port()
    health: dict[str, dict[str, object]] = {"metrics": {"uri": None}}
    both: dict[str, dict[str, object]] = {"metrics": {"uri": f"tcp://127.0.0.1:{port}"}}
    with world(Load(guests=guests)) as made:
        with started(made, NO_SOCKET) as daemon:
            without = audited(daemon, number)
        with started(made, health) as daemon:
            with_health = audited(daemon, number)
        with started(made, both) as daemon:
            scraped(port)
            with_metrics = audited(daemon, number)
            times = scrapes(daemon, port)
            with scraped_each_second(port):
                while_scraped = audited(daemon, number)
            with slow_clients(port):
                beside_slow = audited(daemon, number)
    return [
        Row("series of the agent", str(times.series), "≤ 500", "", times.series <= 500),
        _most("scrape between audits, median", statistics.median(times.later_ms), SCRAPE_MS),
        _most("first scrape after an audit, most of ten", max(times.first_ms), FIRST_SCRAPE_MS),
        Row("RSS without sockets", f"{without.rss_mib:.1f} MiB"),
        _more("RSS, health socket", with_health.rss_mib - without.rss_mib, HEALTH_MIB),
        _more("RSS, metrics too", with_metrics.rss_mib - with_health.rss_mib, METRICS_MIB),
        Row("CPU per audit without sockets", f"{without.cpu_ms:.1f} ms"),
        Row("CPU per audit, metrics on, no scrape", f"{with_metrics.cpu_ms:.1f} ms"),
        Row("audit, median / p99 without sockets", _durations(without)),
        Row("audit, median / p99 with metrics", _durations(with_metrics)),
        Row("audit, median / p99, a scrape each second", _durations(while_scraped)),
        Row(f"audit, median / p99, {SLOW_CLIENTS} slow clients", _durations(beside_slow)),
    ]


def _most(what: str, value: float, budget: float) -> Row:
    return Row(what, f"{value:.1f} ms", f"≤ {budget:.0f} ms", "", value <= budget)


def _more(what: str, value: float, budget: float) -> Row:
    return Row(what, f"{value:+.1f} MiB", f"≤ {budget:.0f} MiB more", "", value <= budget)


def _durations(cost: Cost) -> str:
    return f"{statistics.median(cost.durations_ms):.1f} / {p99(cost.durations_ms):.1f} ms"


def main() -> int:
    """Print the table; return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.metrics", description="Cost of metrics and health")
    parser.add_argument("--guests", type=int, default=100)
    parser.add_argument("--audits", type=int, default=200)
    options = parser.parse_args()
    return print_table(f"Metrics with {options.guests} guests", rows(options.guests, options.audits))


if __name__ == "__main__":
    sys.exit(main())
