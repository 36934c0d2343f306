"""The load of a fleet on one Placement: ``python -m benchmarks.fleet --agents 1000``; an hour; 100 take ten minutes.

The agents are the product's client, reader, writer and audit, on hosts in memory (benchmarks.fleet_agents), in at most
four processes. Placement is several processes behind one port on one MariaDB (benchmarks.fleet_server); the requests
are counted in its access logs. A run has four parts. All hosts start for the first time within one second. Their
consumers are allocated. All start again within one second, each with a change to publish. Then nothing changes any
more. ``--picture FILE`` draws both starts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from benchmarks.fleet_agents import HELD, consumers_of, root_of
from benchmarks.fleet_picture import Curve, draw
from benchmarks.table import Row, print_table
from tests.rigs import mariadb
from tests.rigs.placement import PROJECT, TOKEN, USER
from tests.rigs.wait import until

ROOT = Path(__file__).parents[1]
ERRORS = 0.01
#: [placement] full_read_every: the quiet time has at least twice as many audits.
FULL_READ_EVERY = 10
REQUESTS_PER_AUDIT = 1.25
BATCH = 400
SEEDERS = 4
LEAD_S = 3.0
WARM_MIB = 256
#: One core of agents and one core of servers together manage a dozen audits a second.
AUDITS_PER_S = 12.0
SHORTEST_INTERVAL_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request in an access log."""

    at: float
    seconds: float
    status: int
    method: str
    path: str
    request_id: str


class Placement:
    """Several server processes on one port and one database."""

    def __init__(self, folder: Path, connection: str, processes: int, threads: int) -> None:
        self.folder = folder
        self.port = mariadb.free_port()
        self._command = [sys.executable, "-m", "benchmarks.fleet_server", "--folder", str(folder)]
        self._command += ["--port", str(self.port), "--connection", connection, "--threads", str(threads)]
        self._count = processes
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        """The servers' URL."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start all processes, the first alone, because it makes the tables."""
        for number in range(self._count):
            with (self.folder / "servers.log").open("ab") as log:
                process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=ROOT)
            self._processes.append(process)
            until(lambda: len(list(self.folder.glob("ready-*"))) > number, 60, "a server is ready")  # noqa: B023

    def stop(self) -> None:
        """Stop all processes."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(30)
            assert process.stdin is not None
            process.stdin.close()

    def asked(self, begin: float, end: float) -> list[Asked]:
        """Return the requests between two moments, in order."""
        found = []
        for log in self.folder.glob("access-*.log"):
            for line in log.read_text().splitlines():
                at, seconds, status, method, path, request_id = line.split(" ", 5)
                if begin <= float(at) < end:
                    found.append(
                        Asked(at=float(at), seconds=float(seconds), status=int(status), method=method, path=path,
                              request_id=request_id)
                    )  # fmt: skip
        return sorted(found, key=lambda asked: asked.at)


class Agents:
    """The processes in which the agents run."""

    def __init__(self, url: str, folder: Path, count: int, processes: int) -> None:
        self.count = count
        shares = [count // processes + (number < count % processes) for number in range(processes)]
        firsts = [sum(shares[:number]) for number in range(processes)]
        self._processes = [
            subprocess.Popen(
                [
                    *(sys.executable, "-m", "benchmarks.fleet_agents", "--url", url, "--folder", str(folder)),
                    *("--first", str(first), "--count", str(share)),
                ],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
            )
            for first, share in zip(firsts, shares, strict=True)
        ]  # fmt: skip

    def tell(self, do: str, **words: Any) -> list[dict[str, Any]]:
        """Send all processes a command; return all agents' reports when all are done."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(json.dumps({"do": do, **words}) + "\n")
            process.stdin.flush()
        with ThreadPoolExecutor(len(self._processes)) as pool:
            return [said for heard in pool.map(_until_done, self._processes) for said in heard]

    def cpu_s(self) -> float:
        """Return the user and system time of all processes so far."""
        ticks = os.sysconf("SC_CLK_TCK")
        fields = [Path(f"/proc/{p.pid}/stat").read_text().rpartition(")")[2].split() for p in self._processes]
        return sum(int(field[11]) + int(field[12]) for field in fields) / ticks

    def end(self) -> None:
        """End all processes."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(60)


def _until_done(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    heard: list[dict[str, Any]] = []
    assert process.stdout is not None
    for line in process.stdout:
        said = json.loads(line)
        if said["what"] == "done":
            return heard
        heard.append(said)
    raise SystemExit(f"a process of agents ended with {process.wait()}")


def seed(url: str, agents: int, consumers: int) -> float:
    """Allocate ``consumers`` consumers on each host; return the seconds that it took."""
    began = time.monotonic()
    pairs = [(root_of(n), consumer) for n in range(agents) for consumer in consumers_of(n, consumers)]
    batches = [pairs[first : first + BATCH] for first in range(0, len(pairs), BATCH)]
    local = threading.local()

    def send(batch: list[tuple[str, str]]) -> None:
        if not hasattr(local, "session"):
            local.session = requests.Session()
            local.session.headers.update({"X-Auth-Token": TOKEN, "OpenStack-API-Version": "placement 1.28"})
        body = {
            consumer: {
                "allocations": {root: {"resources": HELD}},
                "project_id": PROJECT,
                "user_id": USER,
                "consumer_generation": None,
            }
            for root, consumer in batch
        }
        answer = local.session.post(f"{url}/allocations", json=body, timeout=300)
        if not answer.ok:
            raise SystemExit(f"POST /allocations: {answer.status_code} {answer.text}")

    # One host's consumers are in one batch or in two consecutive ones, so four threads seldom write to the same
    # provider.
    stride = max(1, len(batches) // SEEDERS + 1)
    with ThreadPoolExecutor(SEEDERS) as pool:
        shares = [batches[first : first + stride] for first in range(0, len(batches), stride)]
        for _ in pool.map(lambda share: [send(batch) for batch in share], shares):
            pass
    return time.monotonic() - began


def start(placement: Placement, agents: Agents, limit_s: float, **prepared: int) -> tuple[Curve, list[dict[str, Any]]]:
    """Start all agents within one second; return the curve until the last has converged, and the agents' reports."""
    agents.tell("prepare", **prepared)
    at = time.time() + LEAD_S
    said = agents.tell("start", at=at, within_s=1.0, limit_s=limit_s)
    end = max(one["at"] for one in said)
    asked = placement.asked(at, end + 1)
    lost = [error for one in said for error in one["errors"] if not error[1].startswith("HTTP")]
    errors = Counter(int(a.at - at) for a in asked if a.status == 429 or a.status >= 500)
    errors.update(int(moment - at) for moment, _ in lost)
    return Curve(
        requests=Counter(int(a.at - at) for a in asked),
        errors=errors,
        converged=tuple(sorted(one["at"] - at for one in said if one["what"] == "converged")),
        agents=agents.count,
    ), said


def start_rows(what: str, curve: Curve, said: list[dict[str, Any]]) -> list[Row]:
    """Return the rows of a start."""
    total, errors = curve.requests.total(), curve.errors.total()
    share = errors / max(1, total)
    kinds = Counter(error[1] for one in said for error in one["errors"])
    rest = [one.get("last") for one in said if one["what"] != "converged"]
    times = curve.converged or (0.0,)
    return [
        Row(f"{what}: converged", f"{len(curve.converged)} of {curve.agents}", f"{curve.agents}",
            met=len(curve.converged) == curve.agents),
        Row(f"{what}: requests", f"{total}, {total / curve.agents:.1f} an agent, {total / max(times):.0f}/s"),
        Row(f"{what}: errors", f"{errors} ({100 * share:.2f} %) {dict(kinds) or ''}", "1 %", met=share <= ERRORS),
        Row(f"{what}: seconds", f"median {times[len(times) // 2]:.1f}, all {max(times):.1f}"),
        *(Row(f"{what}: not converged", str(last)) for last in rest[:3]),
    ]  # fmt: skip


def quiet_rows(placement: Placement, agents: Agents, audits: int, interval_s: float) -> list[Row]:
    """Return the rows of quiet agents; the access log has the requests."""
    # One more audit, which is not counted: the first audit after a start reads what the start wrote.
    agents.tell("quiet", audits=1, interval_s=interval_s)
    began, cpu = time.time(), agents.cpu_s()
    said = agents.tell("quiet", audits=audits, interval_s=interval_s)
    asked = placement.asked(began, time.time() + 1)
    per_audit = len(asked) / (audits * agents.count)
    kinds = Counter(_kind(a) for a in asked)
    other = [told for one in said for told in one["other"]]
    late, cpu_ms = sum(one["late"] for one in said), (agents.cpu_s() - cpu) / (audits * agents.count) * 1000
    shown = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common(6))
    return [
        Row(f"quiet: requests per audit, {audits} audits each", f"{per_audit:.3f}", f"{REQUESTS_PER_AUDIT}",
            met=per_audit <= REQUESTS_PER_AUDIT),
        Row("quiet: requests per second and host at 60 s", f"{per_audit / 60:.4f}", f"{REQUESTS_PER_AUDIT / 60:.4f}"),
        Row("quiet: what was asked", shown),
        Row("quiet: audits that were not clean", f"{len(other)} {other[:1] or ''}", "0", met=not other),
        Row(f"quiet: audits begun late, interval {interval_s:.0f} s", f"{late}"),
        Row("quiet: CPU of an agent's audit", f"{cpu_ms:.1f} ms"),
    ]  # fmt: skip


def _kind(asked: Asked) -> str:
    if "in_tree=" in asked.path:
        return "tree"
    parts = asked.path.partition("?")[0].split("/")
    return parts[3] if len(parts) > 3 else parts[1] or "root document"


@contextlib.contextmanager
def servers(folder: Path, processes: int, threads: int) -> Iterator[Placement]:
    """Yield a Placement on a MariaDB, both stopped after the block."""
    with mariadb.running(folder / "mariadb") as database:
        database.execute(f"SET GLOBAL innodb_buffer_pool_size = {WARM_MIB << 20}")
        placement = Placement(folder, database.create_database("placement"), processes, threads)
        try:
            placement.start()
            yield placement
        finally:
            placement.stop()


def main() -> int:
    """Measure and print; return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet")
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--consumers", type=int, default=100, help="allocated on each host")
    parser.add_argument("--audits", type=int, default=2 * FULL_READ_EVERY + 2, help="quiet audits of each agent")
    parser.add_argument("--interval", type=float, help="seconds between them; as short as the machine takes")
    parser.add_argument("--processes", type=int, default=4, help="that agents live in")
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=4, help="of each server")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds that a start may take")
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    interval_s = options.interval or max(SHORTEST_INTERVAL_S, options.agents / AUDITS_PER_S)
    with tempfile.TemporaryDirectory(prefix="stocktake-fleet-") as name:
        folder = Path(name)
        with servers(folder, options.servers, options.threads) as placement:
            agents = Agents(placement.url, folder, options.agents, min(options.processes, options.agents))
            try:
                room = options.consumers
                first, said = start(placement, agents, options.limit, consumers=0, room=room)
                rows = start_rows("first start", first, said)
                seconds = seed(placement.url, options.agents, options.consumers)
                rows.append(Row("consumers allocated", f"{options.agents * options.consumers} in {seconds:.0f} s"))
                again, said = start(placement, agents, options.limit, consumers=options.consumers, room=room + 1)
                rows += start_rows("start again", again, said)
                rows += quiet_rows(placement, agents, options.audits, interval_s)
            finally:
                agents.end()
    if options.picture:
        options.picture.write_text(draw((("first start", first), ("start again", again))))
    title = f"{options.agents} agents, {options.consumers} consumers each, {options.servers} servers"
    return print_table(title, rows)


if __name__ == "__main__":
    sys.exit(main())
