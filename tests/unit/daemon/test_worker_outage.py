"""A worker during an outage of Placement: how often it audits, and how soon it is back to normal afterwards."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest

from agent.daemon import worker as workers
from agent.daemon.audit_queue import AuditQueue, Pacing
from agent.daemon.worker import Configured, Current, Worker
from agent.errors import FolderUnavailable
from agent.model.audit import AuditMemory, AuditResult, Identity, Publish
from agent.model.report import Outcome, SourceStatus
from tests.rigs.facts import settings
from tests.rigs.reports import REPORT
from tests.rigs.wait import until

PACING = Pacing(settle_s=0.0, cap_s=0.0)
STORM_S = 2.0
# The least number of events, however slow the machine is.
A_STORM = 100


@dataclass
class Outage:
    """An audit that finds Placement out or not; ``asked`` has the reasons of each audit that queried Placement."""

    is_out: bool = True
    hold_s: float | None = None
    asked: list[tuple[str, ...]] = field(default_factory=list)
    held: list[tuple[str, ...]] = field(default_factory=list)
    not_before: float | None = None

    def __call__(self, request, _settings, _parts, memory, _cancelled):
        if self.not_before is not None and time.monotonic() < self.not_before:
            self.held.append(request.reasons)
            return AuditResult(report=report(is_out=True), memory=memory, not_before=self.not_before)
        self.asked.append(request.reasons)
        self.not_before = time.monotonic() + self.hold_s if self.is_out and self.hold_s else None
        return AuditResult(report=report(is_out=self.is_out), memory=memory, not_before=self.not_before)


def report(*, is_out: bool):
    status = SourceStatus(
        name="placement", ok=not is_out, age_s=None, duration_ms=1.0, error="refused" if is_out else None
    )
    outcome = Outcome.PARTIAL if is_out else Outcome.CLEAN
    return replace(REPORT, provider_uuid="u", sources=(status,), error=None, outcome=outcome)


@pytest.fixture
def living():
    """Yield the queue, and a function that starts a worker on that queue with the given audit."""
    waiting = AuditQueue(PACING)
    bugs, started = [], []
    publisher = SimpleNamespace(publish=lambda *_: None, bug=lambda *told: bugs.append(told))
    parts = SimpleNamespace(clock=SimpleNamespace(now=str))
    configured = Configured(
        settings=settings(), parts=parts, publish=Publish.BY_ROLE, pacing=PACING, interval_s=None,
        summary_interval_s=600.0,
    )  # fmt: skip

    def live(audit):
        worker = Worker(waiting, Current(configured), audit, publisher, on_end=lambda _code: None)
        worker.start()
        started.append(worker)

    yield waiting, live
    waiting.close()
    for worker in started:
        worker.stop()
        assert worker.join(60)
    assert bugs == []


def storm(waiting: AuditQueue, seconds: float) -> int:
    """Request audits for events every 2 ms; return the number of events."""
    end, pause, count = time.monotonic() + seconds, threading.Event(), 0
    while time.monotonic() < end or count <= A_STORM:
        waiting.request(f"libvirt: {count}")
        count += 1
        pause.wait(0.002)
    return count


def of_events(asked: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [reasons for reasons in asked if any(reason.startswith("libvirt") for reason in reasons)]


def test_many_events_during_a_placement_outage_cause_few_audits(living, monkeypatch):
    """While Placement is down, over 100 libvirt events cause at most about one audit every two seconds."""
    monkeypatch.setattr(workers, "TAKE_S", 0.01)
    waiting, live = living
    outage = Outage()
    live(outage)
    waiting.request_now("start-up")
    until(lambda: len(outage.asked) >= 2, 60, "the first retry")  # the first retry comes 1 to 2 s after the start
    before, began = len(outage.asked), time.monotonic()
    storm(waiting, STORM_S)
    # Events that a retry takes along cost no further audit.
    told = [reasons for reasons in of_events(outage.asked[before:]) if workers.RETRY not in reasons]
    lasted_s = time.monotonic() - began
    assert len(told) <= 1 + lasted_s / 2, "one that had gathered when it began, one every two seconds"


def test_an_operator_request_during_an_outage_starts_an_audit(living, monkeypatch):
    """While Placement is down, events wait longer before an audit; an operator's signal starts an audit at once."""
    # Retries come soon; events during the outage would gather for half a minute.
    monkeypatch.setattr(workers, "retry_delay", lambda _failures: 0.1)
    monkeypatch.setattr(workers, "RETRY_FIRST_S", workers.GATHER_CAP_S)
    waiting, live = living
    outage = Outage()
    live(outage)
    waiting.request_now("start-up")
    until(lambda: len(outage.asked) >= 3, 60, "two retries")
    outage.is_out = False
    waiting.request_now("signal: USR1")
    until(lambda: any("signal: USR1" in reasons for reasons in outage.asked), 20, "the audit that was asked for")
    waiting.request("libvirt: after")
    until(lambda: outage.asked[-1] == ("libvirt: after",), 20, "events are as quick as before the outage")


def test_events_do_not_make_the_retry_of_placement_earlier(living):
    """Audits for libvirt events do not ask Placement before the scheduled retry."""
    waiting, live = living
    outage = Outage(hold_s=3.5)
    live(outage)
    waiting.request_now("start-up")
    until(lambda: outage.asked, 60, "the first audit")
    ends = outage.not_before
    storm(waiting, 0.3)
    until(lambda: outage.held, 60, "an audit of an event, which goes on without Placement")
    outage.is_out = False
    until(lambda: len(outage.asked) == 2, 60, "the retry")
    assert time.monotonic() >= ends
    assert "retry" in outage.asked[1]


def test_an_audit_in_an_outage_passes_data_to_the_next_audit(living):
    """While Placement is down, each audit passes data, such as the node's name, to the next audit."""
    waiting, live = living
    seen: list[AuditMemory] = []
    kept = AuditMemory(node_name="cmp1")

    def audit(_request, _settings, _parts, memory, _cancelled):
        seen.append(memory)
        return AuditResult(report=report(is_out=True), memory=kept)

    live(audit)
    for number in (1, 2):
        waiting.request_now(f"signal: {number}")
        until(lambda wanted=number: len(seen) >= wanted, 60, "that audit")
    assert seen[:2] == [AuditMemory(), kept]


@pytest.mark.parametrize("identity", [None, Identity(uuid="u", origin="/x/compute_id")], ids=["unknown", "known"])
def test_an_agent_without_uuid_stops_if_compute_id_is_unreadable(identity):
    """An agent that has no UUID yet stops if it cannot read the file compute_id."""
    waiting, ended, published = AuditQueue(PACING), [], []
    publisher = SimpleNamespace(publish=lambda told, _: published.append(told), bug=lambda *told: ended.append(told))
    configured = Configured(
        settings=settings(), parts=SimpleNamespace(clock=SimpleNamespace(now=str)), publish=Publish.BY_ROLE,
        pacing=PACING, interval_s=None, summary_interval_s=600.0,
    )  # fmt: skip

    def audit(_request, _settings, _parts, memory, _cancelled):
        if len(published) == 1:
            raise FolderUnavailable("/x/compute_id: cannot be read: Input/output error")
        return AuditResult(report=report(is_out=False), memory=replace(memory, identity=identity))

    worker = Worker(waiting, Current(configured), audit, publisher, on_end=ended.append)
    worker.start()
    for count in (1, 2):
        waiting.request_now("test")
        until(lambda count=count: len(published) == count, 60, "a report")
    assert "Input/output error" in published[1].error
    if identity is None:
        until(lambda: ended == [75], 60, "the end")
    else:
        waiting.request_now("test")
        until(lambda: len(published) > 2, 60, "the next audit")
        assert published[-1].error is None
    waiting.close()
    worker.stop()
    assert worker.join(60)
    assert ended == [75 if identity is None else 0]
