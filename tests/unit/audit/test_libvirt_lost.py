"""A whole audit without libvirt and without a compute_id file: one loss, one finding. The clock is the test's own."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
from types import SimpleNamespace

from agent.audit.parts import Parts
from agent.audit.run import run_audit
from agent.errors import SourceUnavailable
from agent.model.audit import AuditMemory, AuditRequest
from agent.model.finding import History
from agent.model.nova import NovaState
from agent.model.report import AuditReport, Outcome, SourceStatus
from tests.rigs import facts

REQUEST = AuditRequest(reasons=("test",))


class Clock:
    """A clock that stands until the test moves it."""

    def __init__(self) -> None:
        self.second = 0

    def now(self) -> str:
        return f"2026-11-21T12:{self.second // 60:02d}:{self.second % 60:02d}.000Z"

    def monotonic(self) -> float:
        return float(1000 + self.second)

    def boot(self) -> str:
        return "this"

    def wait(self, seconds: float) -> None:
        raise AssertionError(f"the audit waited {seconds} s")


class Libvirt:
    """A libvirt that is dead until ``alive``."""

    name = "libvirt"
    alive = False

    def read(self, _deadline: object):
        if self.alive:
            return facts.host()
        raise SourceUnavailable("libvirt", "Connection refused")


class NoPlacement:
    """A Placement that must not be asked."""

    def view(self, _request: object) -> None:
        raise AssertionError("Placement was asked although the host's identity is unknown")


def living(clock: Clock) -> NovaState:
    """Return a state whose services have just reported."""
    now = facts.NOW + datetime.timedelta(seconds=clock.second)
    return dataclasses.replace(facts.state(nodes=()), now=now, heartbeat=now, newest_heartbeat=now, pulse_at=now)


def parts(clock: Clock, libvirt: Libvirt, reader: object) -> Parts:
    return Parts(
        state=SimpleNamespace(name="state", read=lambda *_arguments, **_named: living(clock)),
        host=libvirt,
        storage=(),
        reader=reader,
        reporter=SimpleNamespace(),
        identity_files=SimpleNamespace(find=lambda: None, may_be_elsewhere=False),
        history=SimpleNamespace(load=History, changed=lambda: None, save=lambda _history: True),
        lock=SimpleNamespace(hold=contextlib.nullcontext),
        clock=clock,
    )


class Agent:
    """Runs audits one after the other, each with the memory of the last."""

    def __init__(self) -> None:
        self.clock, self.libvirt, self.memory = Clock(), Libvirt(), AuditMemory()
        self._parts = parts(self.clock, self.libvirt, NoPlacement())

    def audit(self, second: int) -> AuditReport:
        self.clock.second = second
        result = run_audit(REQUEST, facts.settings(), self._parts, self.memory, lambda: False)
        self.memory = result.memory
        return result.report


def source(report: AuditReport, name: str) -> SourceStatus:
    return next(status for status in report.sources if status.name == name)


def test_a_libvirt_outage_becomes_an_error_after_300_s():
    """The finding `source-unavailable` about libvirt starts as a warning; its severity is error after 300 s."""
    agent = Agent()
    told = []
    for second in (0, 60, 120, 299, 300):
        report = agent.audit(second)
        (seen,) = report.findings
        told.append((seen.finding.code, seen.finding.subject, seen.finding.severity.value, seen.first_seen_at))
        assert report.outcome is Outcome.PARTIAL
    began = "2026-11-21T12:00:00.000Z"
    assert told == [("source-unavailable", "libvirt", severity, began) for severity in ["warning"] * 4 + ["error"]]
    lost = source(report, "libvirt")
    assert (lost.ok, lost.asked, lost.lost_since, lost.losses) == (False, True, began, 5)


def test_the_report_says_why_placement_was_not_read():
    """Without libvirt and a compute_id file the agent does not know its provider's uuid, so it cannot ask Placement."""
    placement = source(Agent().audit(0), "placement")
    assert (placement.ok, placement.asked, placement.error) == (False, False, None)
    assert placement.not_asked_because == "libvirt was not read, so this host's provider uuid is not known"
    assert (placement.lost_since, placement.losses, placement.denied) == (None, 0, False)


def test_only_the_first_audit_of_an_agent_is_marked_first():
    """The report's field `first` is true only in the first audit since the agent started."""
    agent = Agent()
    assert [agent.audit(second).first for second in (0, 60, 120)] == [True, False, False]
