"""Return what a finding is about, as text for people and programs: for example an instance's name and uuid.

Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent.model.finding import Finding
from agent.model.report import AuditReport
from agent.render.reading_order import names_of

# The values of ``consumer_kind`` (in a row of the report's ledger) that do not say what the consumer is.
_VAGUE = frozenset({"", "unknown"})


def subjects_of(report: AuditReport, before: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return {id of a finding: what the finding is about}, for example ``instance web-1 UUID``.

    The result covers the report's present findings and the findings that are gone. ``before`` is this function's result
    after earlier audits, which still has the name of a consumer that is gone.
    """
    findings = [seen.finding for seen in (*report.findings, *(gone.seen for gone in report.gone))]
    if not findings:
        return {}
    names, earlier = names_of(report), before or {}
    kinds = {row.consumer_uuid: row.consumer_kind for row in report.ledger}
    found = {}
    for finding in findings:
        is_named = finding.consumer_uuid is None or finding.consumer_uuid in names
        known = earlier.get(finding.id)
        found[finding.id] = known if known and not is_named else _subject(finding, report, names, kinds)
    return found


def _subject(finding: Finding, report: AuditReport, names: Mapping[str, str], kinds: Mapping[str | None, str]) -> str:
    """Return the subject as text.

    For a finding about a consumer, the text is ``instance web-1 UUID``, for example. For any other finding, the text is
    the finding's field ``subject``. If this field is empty, the text is ``provider NAME UUID`` for a finding about a
    provider, else the host's name.
    """
    uuid = finding.consumer_uuid
    if uuid is None:
        root = ("provider", report.node or "", finding.provider_uuid) if finding.provider_uuid else (report.host,)
        return finding.subject or " ".join(word for word in root if word)
    kind, name = kinds.get(uuid, ""), names.get(uuid, "")
    if kind in _VAGUE:
        kind = "instance" if any(named.uuid == uuid for named in report.names) else "consumer"
    return " ".join(word for word in (kind, "" if name == uuid else name, uuid) if word)
