"""Many agents in one process, one thread each: the product's client, reader, writer and audit, on hosts in memory.

``python -m benchmarks.fleet_agents --url URL --first N --count N --folder F`` reads commands as lines of JSON from
standard input. ``prepare`` makes new agents, ``start`` starts all of them within so many seconds, ``quiet`` runs so
many audits each at an interval. The end of the input ends the process. Each line on standard output is one agent's
report. Only libvirt, the cloud's database and the disks are simulated. An agent's memory between audits, and its
follow-up audits, are those of the daemon's worker.
"""

# ruff: noqa: ARG002, E402 (made-up sources take what the real ones do; eventlet is out before anything of oslo)
from __future__ import annotations

import sys

sys.modules["eventlet"] = None  # type: ignore[assignment]

import argparse
import contextlib
import dataclasses
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from agent.audit.parts import Parts
from agent.audit.run import run_audit
from agent.cmd.wiring import SystemClock
from agent.daemon.triggers import first_delay_s
from agent.daemon.worker import FollowUp, follow_up, worth_retrying
from agent.errors import AgentError
from agent.model.audit import AuditMemory, AuditRequest, Identity
from agent.model.finding import History
from agent.model.host.facts import Domain, DomainState, HostFacts
from agent.model.host.storage import StorageFacts
from agent.model.nova import Flavor, Instance, NovaState, Pulse
from agent.model.report import AuditReport, Outcome
from agent.model.snapshot import FILESYSTEM, LIBVIRT, STATE
from agent.placement.http.access import client_from_conf
from agent.placement.http.transport import BoundedAdapter
from agent.placement.reader import TreeReader
from agent.placement.writer import TreeWriter
from agent.timing.splay import phase
from tests.rigs import facts
from tests.rigs.placement import TOKEN, conf_of

FLAVOR = Flavor(id=1, name="m1.small", vcpus=1, memory_mib=1024, root_gib=1, ephemeral_gib=0, swap_mib=0)
HELD = {"VCPU": FLAVOR.vcpus, "MEMORY_MB": FLAVOR.memory_mib, "DISK_GB": FLAVOR.root_gib}
SPARE = 16
STACK_BYTES = 512 << 10


def root_of(number: int) -> str:
    """Return the uuid of that host's provider."""
    return facts.uuid(f"fleet-{number}")


def name_of(number: int) -> str:
    """Return the host's name."""
    return f"cmp{number:05d}.example.org"


def consumers_of(number: int, count: int) -> tuple[str, ...]:
    """Return the uuids of that host's guests."""
    return tuple(facts.uuid(f"fleet-{number}-{guest}") for guest in range(count))


class Watching(BoundedAdapter):
    """An adapter that counts requests and records errors with their time: error statuses and missing answers."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[tuple[float, str]] = []
        self.sent = 0

    def send(self, *arguments: Any, **options: Any) -> Any:
        """Send as the parent class does."""
        self.sent += 1
        try:
            answer = super().send(*arguments, **options)
        except Exception as error:
            self.errors.append((time.time(), type(error).__name__))
            raise
        if answer.status_code == 429 or answer.status_code >= 500:
            self.errors.append((time.time(), f"HTTP {answer.status_code}"))
        return answer


@dataclasses.dataclass(frozen=True)
class Host:
    """The facts of one host."""

    number: int
    facts: HostFacts
    state: NovaState


def host_of(number: int, consumers: int, room: int) -> Host:
    """Return a host with room for ``room`` guests, and with ``consumers`` guests on which all three books agree."""
    uuids, name = consumers_of(number, consumers), name_of(number)
    instances = tuple(sorted((_instance(uuid, name) for uuid in uuids), key=lambda i: i.uuid))
    domains = tuple(
        Domain(uuid=u, name=u[:8], state=DomainState.RUNNING, vcpus=FLAVOR.vcpus, memory_mib=FLAVOR.memory_mib)
        for u in sorted(uuids)
    )
    node = facts.node(uuid=root_of(number), host=name, hypervisor_hostname=name)
    memory_mib = (room + SPARE) * FLAVOR.memory_mib
    return Host(
        number=number,
        facts=facts.host(*domains, cpus=room + SPARE, memory_mib=memory_mib, hostname=name),
        state=facts.state(*instances, host=name, nodes=(node,)),
    )


def _instance(uuid: str, host: str) -> Instance:
    plain = facts.instance(0, host=host, node=host, flavor=FLAVOR)
    return dataclasses.replace(plain, uuid=uuid, name=uuid[:8])


class Agent:
    """One host's agent, just started."""

    def __init__(self, host: Host, conf: Any) -> None:
        self.host = host
        self.transport = Watching()
        self._client = client_from_conf(conf, transport=self.transport)
        self._settings = facts.settings(host=name_of(host.number))
        self._memory = AuditMemory()
        self._history = History()
        self._parts = Parts(
            state=_State(host.state),
            host=_Libvirt(host.facts),
            storage=(_Files(),),
            reader=TreeReader(self._client),
            reporter=TreeWriter(self._client),
            identity_files=_IdentityFile(root_of(host.number)),
            history=self,
            lock=self,
            clock=SystemClock(),
            request_scope=lambda audit_id: self._client.global_request_id(f"req-{audit_id}"),
        )

    def audit(self) -> tuple[AuditReport, bool]:
        """Run one audit; return its report, and whether it requests a follow-up at once."""
        result = run_audit(AuditRequest(reasons=("fleet",)), self._settings, self._parts, self._memory, lambda: False)
        self._memory = result.memory
        return result.report, result.audit_again

    def load(self) -> History:
        """Return the findings so far."""
        return self._history

    def changed(self) -> History | None:
        """Return None: no other process saves findings."""
        return None

    def save(self, history: History) -> bool:
        """Keep the findings."""
        self._history = history
        return True

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Hold no lock: no other process writes for this host."""
        yield


@dataclasses.dataclass(frozen=True)
class _State:
    state: NovaState
    name: str = STATE

    def read(self, host: str, consumers: frozenset[str], deadline: object, node_uuid: str | None = None) -> NovaState:
        return facts.beating(self.state)

    def pulse(self, host: str, deadline: object) -> Pulse:
        state = facts.beating(self.state)
        return Pulse(now=state.now, heartbeat=state.heartbeat)


@dataclasses.dataclass(frozen=True)
class _Libvirt:
    facts: HostFacts
    name: str = LIBVIRT

    def read(self, deadline: object) -> HostFacts:
        return self.facts

    def forget(self) -> None:
        """Do nothing: there is no cache."""


@dataclasses.dataclass(frozen=True)
class _Files:
    name: str = FILESYSTEM

    def read(self, deadline: object) -> StorageFacts:
        return FILES


FILES = facts.filesystem(10_000)


@dataclasses.dataclass(frozen=True)
class _IdentityFile:
    uuid: str

    def find(self) -> Identity:
        return Identity(uuid=self.uuid, origin="compute_id")

    def create(self) -> Identity:
        raise AssertionError("there is a file")


def until_converged(agent: Agent, end: float) -> dict[str, Any]:
    """Audit as the worker does until nothing is left to do; return a report of the audits and seconds."""
    began, state, audits, told = time.time(), FollowUp(), 0, ""
    while time.time() < end:
        audits += 1
        try:
            report, audit_again = agent.audit()
        except AgentError as error:
            raise AssertionError("run_audit lets no such error out") from error
        told = report.error or report.outcome.value
        if report.outcome is Outcome.CLEAN and not audit_again:
            return _said(agent, "converged", audits=audits, seconds=time.time() - began)
        state = follow_up(state, time.monotonic(), failed=worth_retrying(report), audit_again=audit_again)
        _sleep_until(time.time() + (max(0.0, state.at - time.monotonic()) if state.at is not None else 1.0))
    return _said(agent, "not converged", audits=audits, last=told)


def quietly(agent: Agent, audits: int, interval_s: float) -> dict[str, Any]:
    """Run ``audits`` audits, each at the host's phase of the interval."""
    turn = time.time() + first_delay_s(name_of(agent.host.number), interval_s, time.time())
    before, late, other = agent.transport.sent, 0, []
    for number in range(audits):
        late += time.time() > turn + number * interval_s + 1.0
        _sleep_until(turn + number * interval_s)
        report, _ = agent.audit()
        if report.outcome is not Outcome.CLEAN:
            other.append(report.error or report.outcome.value)
    return _said(agent, "quiet", audits=audits, requests=agent.transport.sent - before, late=late, other=other)


def _said(agent: Agent, what: str, **more: Any) -> dict[str, Any]:
    errors, agent.transport.errors = agent.transport.errors, []
    return {"agent": agent.host.number, "what": what, "at": time.time(), "errors": errors, **more}


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.time()))


class Fleet:
    """The agents of this process and their threads."""

    def __init__(self, numbers: range, conf: Any) -> None:
        self._numbers = numbers
        self._conf = conf
        self._agents: tuple[Agent, ...] = ()
        self._telling = threading.Lock()

    def prepare(self, consumers: int, room: int) -> None:
        """Make new agents that have not sent any request yet, as after a start of the process."""
        self._agents = tuple(Agent(host_of(n, consumers, room), self._conf) for n in self._numbers)

    def start(self, at: float, within_s: float, limit_s: float) -> None:
        """Start all agents, spread over ``within_s``."""

        def live(agent: Agent) -> dict[str, Any]:
            _sleep_until(at + within_s * phase(root_of(agent.host.number), "benchmark"))
            return until_converged(agent, at + limit_s)

        self._all(live)

    def quiet(self, audits: int, interval_s: float) -> None:
        """Run ``audits`` audits of each agent."""
        self._all(lambda agent: quietly(agent, audits, interval_s))

    def _all(self, live: Callable[[Agent], dict[str, Any]]) -> None:
        def body(agent: Agent) -> None:
            self._tell(live(agent))

        threads = [threading.Thread(target=body, args=(agent,)) for agent in self._agents]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._tell({"what": "done"})

    def _tell(self, said: dict[str, Any]) -> None:
        with self._telling:
            print(json.dumps(said), flush=True)


def main() -> int:
    """Carry out commands from standard input until it ends."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet_agents")
    parser.add_argument("--url", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--first", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    options = parser.parse_args()
    threading.stack_size(STACK_BYTES)
    conf = conf_of(options.folder, auth_type="admin_token", token=TOKEN, endpoint=options.url)
    fleet = Fleet(range(options.first, options.first + options.count), conf)
    for line in sys.stdin:
        words = json.loads(line)
        what = words.pop("do")
        if what == "prepare":
            fleet.prepare(**words)
            print(json.dumps({"what": "done"}), flush=True)
        else:
            {"start": fleet.start, "quiet": fleet.quiet}[what](**words)
    return 0


if __name__ == "__main__":
    sys.exit(main())
