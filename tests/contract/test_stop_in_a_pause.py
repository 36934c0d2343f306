"""A stop that comes while the audit pauses: the pause ends, and nothing is asked of Placement that a stop needs not."""

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
# Whoever has ended a pause by then has not waited for its end.
SOON_S = 100.0


@pytest.fixture
def host(tmp_path: Path, placement: Rest) -> AgentHost:
    return empty_host(tmp_path, placement)


class StoppedClock:
    """The process's clock, but that a stop is asked for during the first wait, which takes no time."""

    def __init__(self, real) -> None:
        self.now, self.monotonic, self.boot = real.now, real.monotonic, real.boot
        self.stopped = False

    def wait(self, _seconds: float) -> None:
        self.stopped = True


class Stage:
    """An audit whose PUTs of the inventory are all refused as too late, on a clock that a wait stops."""

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
def test_a_stop_during_a_wait_ends_the_audit_before_its_next_request(host, wired, reason, memory):
    stage = Stage(host, wired)
    with pytest.raises(AuditCancelled):
        stage.run(reason, memory)
    assert stage.clock.stopped
    assert stage.late == []


def ends_early(wired: Wired, wait) -> bool:
    """Whether ``wait``, in a thread of its own, ends when the pauses are."""
    begun, waiter = threading.Event(), threading.Thread(target=lambda: (begun.set(), wait()), daemon=True)
    waiter.start()
    assert begun.wait(SOON_S)
    wired.pauses.end()
    waiter.join(SOON_S)
    return not waiter.is_alive()


def test_a_stop_ends_a_wait_of_the_clock(wired):
    assert ends_early(wired, lambda: wired.parts.clock.wait(PAUSE_S))


def test_a_stop_ends_the_pause_before_a_read_that_is_outside_of_any_reading(placement, wired):
    """heal looks at a consumer before and after its change, while a crowded Placement is to be left alone."""
    root, consumer = placement.make_provider(), placements.new_uuid()
    placement.set_inventories(root, {"VCPU": {"total": 8}})
    placement.allocate({root: {"VCPU": 1}}, consumer)
    wired.placement._session.pace = Pace(quiet_until=time.monotonic() + PAUSE_S)
    seen = []
    assert ends_early(wired, lambda: seen.append(wired.parts.allocations.consumer(consumer)))
    assert [record.consumer_uuid for record in seen] == [consumer]
