"""A stop during a pause of an audit: the pause ends, and the agent sends Placement only requests that a stop needs."""

import dataclasses
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.audit.parts import Parts
from agent.audit.run import run_audit
from agent.cmd.wiring import Wired, wire
from agent.config.build import settings_from
from agent.config.load import load
from agent.errors import AuditCancelled
from agent.model.audit import PERIODIC, AuditMemory, AuditRequest
from agent.placement.http.access import client_from_conf
from agent.placement.http.rate_control import Pace
from agent.placement.reader import TreeReader
from agent.placement.writer import TreeWriter
from tests.rigs import placement as placements
from tests.rigs.faults import Answer, ScriptedAdapter
from tests.rigs.host import AgentHost, empty_host
from tests.rigs.placement import Rest

PAUSE_S = 300.0
# A pause that ends within this time was cut short.
SOON_S = 100.0


@pytest.fixture
def host(tmp_path: Path, placement: Rest) -> AgentHost:
    return empty_host(tmp_path, placement)


class StoppedClock:
    """The process's clock, whose waits take no time; the first wait requests a stop."""

    def __init__(self, real) -> None:
        self.now, self.monotonic, self.boot = real.now, real.monotonic, real.boot
        self.stopped = False

    def wait(self, _seconds: float) -> None:
        self.stopped = True


class Stage:
    """An audit whose PUTs of the inventory all meet a conflict; its clock requests a stop in the first wait."""

    def __init__(self, host: AgentHost, wired: Wired) -> None:
        loaded = load([str(host.config_file)])
        self.clock = StoppedClock(wired.parts.clock)
        self.late: list[str] = []
        client = client_from_conf(loaded.conf, transport=ScriptedAdapter(self.script))
        self.settings = settings_from(loaded)
        self.parts: Parts = dataclasses.replace(
            wired.parts, reader=TreeReader(client), reporter=TreeWriter(client), clock=self.clock
        )

    def script(self, request):
        if self.clock.stopped:
            self.late.append(f"{request.method} {request.url}")
        if request.method == "PUT" and str(request.url).endswith("/inventories"):
            body = b'{"errors": [{"status": 409, "code": "placement.concurrent_update", "detail": "too late"}]}'
            return Answer(409, body, (("content-type", "application/json"),))
        return None

    def run(self, reason: str, memory: AuditMemory) -> None:
        request = AuditRequest(reasons=(reason,))
        run_audit(request, self.settings, self.parts, memory, lambda: self.clock.stopped)


@pytest.fixture
def wired(host: AgentHost) -> Iterator[Wired]:
    with wire(load([str(host.config_file)])) as made:
        yield made


@pytest.mark.parametrize(
    ("reason", "memory"),
    [("test", AuditMemory()), (PERIODIC, AuditMemory(hold_s=5.0))],
    ids=["between two rounds", "before a first try that is held back"],
)
def test_a_stopped_audit_sends_no_further_requests(host, wired, reason, memory):
    """The agent is stopped while its audit waits before a write; the audit then sends Placement no further request."""
    stage = Stage(host, wired)
    with pytest.raises(AuditCancelled):
        stage.run(reason, memory)
    assert stage.clock.stopped
    assert stage.late == []


def ends_early(wired: Wired, wait) -> bool:
    """Return whether ``wait``, in its own thread, ends when the pauses are cancelled."""
    begun, waiter = threading.Event(), threading.Thread(target=lambda: (begun.set(), wait()), daemon=True)
    waiter.start()
    assert begun.wait(SOON_S)
    wired.pauses.end()
    waiter.join(SOON_S)
    return not waiter.is_alive()


def test_a_stop_request_ends_the_pause_of_an_audit(wired):
    """If the agent is stopped while an audit pauses, the pause ends at once."""
    assert ends_early(wired, lambda: wired.parts.clock.wait(PAUSE_S))


def test_a_stop_request_ends_a_pause_before_a_read(placement, wired):
    """The agent pauses before it reads an overloaded Placement; a stop request ends the pause at once."""
    root, consumer = placement.make_provider(), placements.new_uuid()
    placement.set_inventories(root, {"VCPU": {"total": 8}})
    placement.allocate({root: {"VCPU": 1}}, consumer)
    wired.placement._session.pace = Pace(quiet_until=time.monotonic() + PAUSE_S)
    seen = []
    assert ends_early(wired, lambda: seen.append(wired.parts.allocations.consumer(consumer)))
    assert [record.consumer_uuid for record in seen] == [consumer]
