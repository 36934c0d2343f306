"""Which changes of findings are reported: also over losses of sources and restarts of the agent."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from agent.model.finding import Finding, FindingState, GoneFinding, GoneReason, SeenFinding, Severity
from agent.model.report import AuditReport, Outcome
from agent.telemetry.finding_changes import changes
from tests.rigs.reports import REPORT

LEAK = Finding(code="allocation-leaked", severity=Severity.WARNING, remedy="r", expected="e", actual="8 VCPU")
SEEN = SeenFinding(finding=LEAK, confirmed=False, first_seen_at="t", times=1, last_seen_at="t")
CONFIRMED = replace(SEEN, confirmed=True, times=2, state=FindingState.CONFIRMED)
UNKNOWN = replace(CONFIRMED, state=FindingState.UNKNOWN, times=0, unknown_because=("placement",))
GONE = GoneFinding(seen=CONFIRMED, reason=GoneReason.PLACEMENT_CHANGED, words="placement: 8 VCPU -> nothing")
EMPTY = replace(REPORT, findings=())


class Reader:
    """A reader of the reports, who starts with the agent's process."""

    def __init__(self) -> None:
        self.known: dict = {}
        self.spells: Counter[str] = Counter()
        self.now = 0.0

    def audit(self, report: AuditReport) -> list[str]:
        self.now += 120.0
        self.known, told = changes(self.known, report, self.now, self.spells)
        self.told = told
        return [change.change.value for change in told]


def found(*seen: SeenFinding, **changes: object) -> AuditReport:
    return replace(EMPTY, findings=seen, **changes)


def test_a_finding_that_cannot_be_checked_has_no_changes():
    """If Placement cannot be read, the agent cannot check a finding about it and reports no change of it."""
    reader = Reader()
    assert [reader.audit(found(one)) for one in (SEEN, CONFIRMED, UNKNOWN, UNKNOWN)] == [
        ["appeared"], ["confirmed"], [], [],
    ]  # fmt: skip
    assert reader.audit(found(replace(CONFIRMED, times=1))) == []
    assert reader.audit(replace(EMPTY, gone=(GONE,))) == ["gone"]
    assert reader.told[0].gone is GONE


def test_a_finding_that_an_audit_omits_is_not_logged_as_gone():
    """The agent logs a finding as gone when an audit lists it as gone, not when an audit merely omits it."""
    reader = Reader()
    reader.audit(found(CONFIRMED))
    assert reader.audit(EMPTY) == []
    assert reader.audit(replace(EMPTY, gone=(GONE,))) == ["gone"]


def test_a_restart_does_not_repeat_known_findings():
    """The first audit after a restart logs only findings that are new, changed, newly confirmed or gone."""
    other = replace(LEAK, subject="another")
    new, worse = replace(SEEN, finding=other), replace(CONFIRMED, finding=replace(LEAK, actual="16 VCPU"))
    for now, expected in (
        (found(CONFIRMED), []),
        (found(UNKNOWN), []),
        (found(worse), ["changed"]),
        (found(CONFIRMED, new), ["appeared"]),
        (replace(EMPTY, gone=(GONE,)), ["gone"]),
    ):
        assert Reader().audit(replace(now, first=True, remembered=(CONFIRMED,))) == expected
    assert Reader().audit(found(CONFIRMED, first=True, remembered=(SEEN,))) == ["confirmed"]


def test_a_confirmed_finding_is_not_logged_again_after_an_outage():
    """If a finding was confirmed before an outage of Placement, the agent does not log it again afterwards."""
    reader = Reader()
    worse = replace(LEAK, actual="16 VCPU")
    told = [
        reader.audit(found(one)) for one in (SEEN, CONFIRMED, UNKNOWN, CONFIRMED, replace(CONFIRMED, finding=worse))
    ]
    assert told == [["appeared"], ["confirmed"], [], [], ["changed"]]


def test_a_finding_saved_without_text_is_unchanged():
    """After a restart, the agent does not log a finding as changed if the finding was saved without its text."""
    without = replace(CONFIRMED, finding=replace(LEAK, actual="the agent knows only", saved_id=LEAK.id))
    assert Reader().audit(found(CONFIRMED, first=True, remembered=(without,))) == []


@pytest.mark.parametrize("outcome", [Outcome.CRASHED, Outcome.CANCELLED])
def test_a_crashed_or_cancelled_audit_logs_no_finding_changes(outcome):
    """A crashed or cancelled audit logs no changes of findings."""
    reader = Reader()
    reader.audit(found(CONFIRMED))
    assert reader.audit(found(UNKNOWN, outcome=outcome)) == []
    assert reader.audit(found(CONFIRMED)) == []
