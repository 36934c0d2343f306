"""The measured process of benchmarks.audit: the daemon's own parts, audits one after another, costs as JSON on stdout.

``python -m benchmarks.audit_loop --config-file FILE [--audits N] [--profile FILE]``
"""

from __future__ import annotations

import argparse
import cProfile
import dataclasses
import gc
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator

from agent.cmd import daemon
from agent.model.audit import PERIODIC, AuditMemory, AuditRequest, Publish
from benchmarks.server_cpu import server_cpu_ms
from benchmarks.statements import selects_of

WARM_UP = 3
CONNECT_S = 10.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of one audit with everything that the daemon does for it: reads, decision, log lines, report file."""

    cpu_ms: float
    wall_ms: float
    requests: int
    findings: int
    is_light: bool
    servers_ms: dict[str, float]
    statements: int


class Loop:
    """Audits as the worker runs them, without its queue."""

    def __init__(self, loaded, wired, servers: dict[str, int], statements: Callable[[], int]) -> None:
        from agent.cmd.wiring import configured_from
        from agent.config.agent_options import agent_options_from
        from agent.daemon.publisher import ReportDesk
        from agent.host_files.reports import write_report

        run_dir = agent_options_from(loaded).run_dir
        self.parts = wired.parts
        self.configured = configured_from(loaded, wired.parts, Publish.BY_ROLE)
        self.desk = ReportDesk(lambda report: write_report(run_dir, report), on_status=lambda _status: None)
        self.memory = AuditMemory()
        self.servers = servers
        self.statements = statements

    def audit(self, reason: str = PERIODIC) -> Cost:
        """Run one audit with the memory of the last. Only a periodic audit may make a light read of nova's state."""
        from agent.audit.run import run_audit

        request = AuditRequest(reasons=(reason,))
        before = {name: server_cpu_ms(pid) for name, pid in self.servers.items()}
        statements = self.statements()
        wall, cpu = time.perf_counter(), time.process_time()
        result = run_audit(request, self.configured.settings, self.parts, self.memory, lambda: False)
        self.desk.publish(result.report, self.configured)
        cost = Cost(
            cpu_ms=(time.process_time() - cpu) * 1000,
            wall_ms=(time.perf_counter() - wall) * 1000,
            requests=result.report.requests,
            findings=len(result.report.findings),
            is_light=result.snapshot.state_read.is_light,
            servers_ms={name: server_cpu_ms(self.servers[name]) - spent for name, spent in before.items()},
            statements=self.statements() - statements,
        )
        self.memory = result.memory
        return cost

    def forget(self) -> None:
        """Drop caches and memory, as at a start; the libraries stay loaded and the connections open."""
        self.parts.host.forget()
        self.parts.reader.forget()
        self.memory = AuditMemory()

    def settle(self) -> None:
        """Audit until an audit needs only one request: every consumer's record is read, every follow-up done."""
        calm = 0
        while calm < WARM_UP:
            calm = calm + 1 if self.audit().requests == 1 else 0


def warm(loop: Loop, audits: int) -> Iterator[Cost]:
    """Yield costs of quiet audits, in a world without changes."""
    loop.settle()
    for _ in range(audits):
        yield loop.audit()


def changed(loop: Loop, audits: int) -> Iterator[Cost]:
    """Yield costs of audits that must write all books again, as after any change in them."""
    loop.settle()
    for _ in range(audits):
        loop.memory = dataclasses.replace(loop.memory, compared=None)
        yield loop.audit("benchmark")


def cold(loop: Loop, audits: int) -> Iterator[Cost]:
    """Yield costs of first audits, each after all caches were dropped."""
    for _ in range(audits):
        loop.forget()
        yield loop.audit()


def main() -> int:
    """Print the costs as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config-file", required=True)
    parser.add_argument("--audits", type=int, default=50)
    parser.add_argument("--cold", type=int, default=5)
    parser.add_argument("--server", action="append", default=[], help="NAME=PID: also measure this process")
    parser.add_argument("--database", help="URL of the MariaDB whose SELECT statements to count")
    parser.add_argument("--profile", help="write cProfile figures of the warm audits to this file")
    options = parser.parse_args()
    arguments = daemon.parse(["--config-file", options.config_file])
    loaded = daemon.configured(arguments)
    wired = daemon.start_up(loaded, arguments, Publish.BY_ROLE)
    with wired:
        connected = threading.Event()
        events = wired.events()
        events.start(lambda _reason: connected.set())
        if not connected.wait(CONNECT_S):
            raise SystemExit("no libvirt events")
        servers = {name: int(pid) for name, _, pid in (server.partition("=") for server in options.server)}
        loop = Loop(loaded, wired, servers, selects_of(options.database))
        gc.freeze()  # as the daemon does
        first = loop.audit()
        colds = list(cold(loop, options.cold))
        changes = list(changed(loop, options.cold))
        loop.settle()
        profiler = cProfile.Profile()
        if options.profile:
            profiler.enable()
        warms = list(warm(loop, options.audits))
        if options.profile:
            profiler.disable()
            profiler.dump_stats(options.profile)
        events.stop()
    costs = {"first": [first], "cold": colds, "changed": changes, "warm": warms}
    json.dump({name: [dataclasses.asdict(cost) for cost in found] for name, found in costs.items()}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
