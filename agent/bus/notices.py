"""Turn an audit into notifications: one for its end, and one for each new, confirmed, changed or gone finding.

The notifications are small on purpose: a client that needs the ledger calls the RPC method ``last_report``. New keys
may be added; renaming or removing a key needs a new ``SCHEMA_VERSION``. docs/messages.md has examples. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agent.model.finding import Severity
from agent.model.report import AuditReport, Outcome
from agent.render.documents import finding_document, gone_document
from agent.telemetry.finding_changes import Change, FindingChange

SCHEMA_VERSION = 1

AUDIT_END = "stocktake.audit.end"
FINDING = "stocktake.finding."

#: The maximum number of items in a notification's ``evidence``. A finding may list 1,000 volumes.
EVIDENCE = 20

INFO = "info"
WARN = "warn"
ERROR = "error"

_PRIORITIES = {Severity.INFO: INFO, Severity.WARNING: WARN, Severity.ERROR: ERROR}
_FAILED = frozenset({Outcome.CRASHED, Outcome.UNREADABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One notification. Its queue's name contains the ``priority``, which is info, warn or error."""

    event_type: str
    priority: str
    payload: dict[str, Any]


def notices(report: AuditReport, changed: tuple[FindingChange, ...]) -> tuple[Notice, ...]:
    """Return the notifications of one audit: finding changes first, the audit's end last."""
    return (*(_of_finding(report, one) for one in changed), _of_audit(report))


def _of_audit(report: AuditReport) -> Notice:
    payload = {
        **_head(report),
        "reasons": list(report.reasons),
        "started_at": report.started_at,
        "duration_ms": report.duration_ms,
        "outcome": report.outcome.value,
        "error": report.error,
        "published": report.published,
        "findings": len(report.findings),
        "confirmed": sum(seen.confirmed for seen in report.findings),
        "writes_done": report.writes_done,
        "held_back": len(report.plan.held_back),
        "sources_lost": sorted(source.name for source in report.sources if not source.ok),
        "placement": {
            "requests": report.requests,
            "conflicts": report.conflicts,
            "attempts": report.attempts,
            "conflict_kinds": dict(report.conflict_kinds),
        },
    }
    return Notice(event_type=AUDIT_END, priority=ERROR if report.outcome in _FAILED else INFO, payload=payload)


def _of_finding(report: AuditReport, changed: FindingChange) -> Notice:
    document = finding_document(changed.seen)
    evidence = document["evidence"]
    finding = {**document, "evidence": evidence[:EVIDENCE], "evidence_total": len(evidence)}
    priority = INFO if changed.change is Change.GONE else _PRIORITIES[changed.seen.finding.severity]
    payload = {**_head(report), "finding": finding}
    if changed.gone is not None:
        payload["gone"] = gone_document(changed.gone)
    return Notice(event_type=f"{FINDING}{changed.change.value}", priority=priority, payload=payload)


def _head(report: AuditReport) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "audit_id": report.audit_id,
        "host": report.host,
        "node": report.node,
        "provider_uuid": report.provider_uuid,
        "role": report.role,
    }
