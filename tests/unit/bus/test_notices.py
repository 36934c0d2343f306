"""Which events become notifications, with which type and priority, and that a notification stays small."""

import json
from dataclasses import replace

import pytest

from agent.bus.notices import notices
from agent.model.finding import SeenFinding, Severity
from agent.model.report import Outcome
from agent.render.documents import finding_document
from agent.telemetry.finding_changes import Change, FindingChange
from tests.rigs.reports import FINDING, PROVIDER, REPORT

HEAD = {
    "schema_version": 1, "audit_id": "0b5f9a52", "host": "compute-17", "node": "compute-17.example.org",
    "provider_uuid": PROVIDER, "role": "owner",
}  # fmt: skip


def test_an_audit_without_changes_sends_one_notification():
    """If no finding has changed, the agent sends only the notification `stocktake.audit.end`."""
    (end,) = notices(REPORT, ())
    assert (end.event_type, end.priority) == ("stocktake.audit.end", "info")
    assert end.payload == {
        **HEAD, "reasons": ["interval", "libvirt event"], "started_at": "2026-11-21T10:00:00.000Z", "duration_ms": 18.5,
        "outcome": "findings", "error": None, "published": True, "findings": 1, "confirmed": 1, "writes_done": 4,
        "held_back": 1, "sources_lost": ["state"],
        "placement": {
            "requests": 6, "conflicts": 1, "attempts": 2, "conflict_kinds": {"provider-generation": 1},
        },
    }  # fmt: skip
    assert len(json.dumps(end.payload)) < 1000


@pytest.mark.parametrize("change", Change)
def test_a_finding_notification_contains_every_field(change):
    told, _end = notices(REPORT, (FindingChange(change=change, seen=FINDING),))
    assert told.event_type == f"stocktake.finding.{change.value}"
    document = finding_document(FINDING)
    assert told.payload == {**HEAD, "finding": {**document, "evidence_total": len(document["evidence"])}}


@pytest.mark.parametrize(
    ("severity", "change", "priority"),
    [
        (Severity.ERROR, Change.APPEARED, "error"),
        (Severity.WARNING, Change.CONFIRMED, "warn"),
        (Severity.INFO, Change.CHANGED, "info"),
        (Severity.ERROR, Change.GONE, "info"),
    ],
)
def test_the_end_of_a_finding_has_priority_info(severity, change, priority):
    """A notification has the priority of the finding's severity; if the finding is gone, it has priority info."""
    seen = SeenFinding(finding=replace(FINDING.finding, severity=severity), confirmed=False, first_seen_at="x")
    assert notices(REPORT, (FindingChange(change=change, seen=seen),))[0].priority == priority


@pytest.mark.parametrize("outcome", [Outcome.CRASHED, Outcome.UNREADABLE])
def test_a_failed_audit_sends_a_notification_of_priority_error(outcome):
    assert notices(replace(REPORT, outcome=outcome, error="boom"), ())[0].priority == "error"


def test_a_finding_notification_has_at_most_20_evidence_entries():
    """A finding has 1000 pieces of evidence. Its notification contains 20 of them, and the total of 1000."""
    many = replace(FINDING.finding, evidence=FINDING.finding.evidence * 500)
    seen = SeenFinding(finding=many, confirmed=True, first_seen_at="x")
    finding = notices(REPORT, (FindingChange(change=Change.APPEARED, seen=seen),))[0].payload["finding"]
    assert (len(finding["evidence"]), finding["evidence_total"]) == (20, 1000)


def test_the_audit_end_notification_is_sent_last():
    """The agent first sends a notification for each changed finding, and then `stocktake.audit.end`."""
    changed = tuple(FindingChange(change=change, seen=FINDING) for change in (Change.GONE, Change.APPEARED))
    assert [told.event_type for told in notices(REPORT, changed)] == [
        "stocktake.finding.gone",
        "stocktake.finding.appeared",
        "stocktake.audit.end",
    ]
