"""Sort findings for people: by severity, then code, then the consumer's name. Pure: no I/O.

The JSON documents keep the audit's own order. The functions take documents (documents.py), because
``stocktake status`` has only the report file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agent.model.finding import ABOUT_READS, Severity
from agent.model.report import AuditReport, LedgerRow
from agent.render.documents import Document

# The rank of each severity, 0 for the most severe: this is the order of Severity's members.
_LOUDNESS = {severity.value: rank for rank, severity in enumerate(Severity)}


def in_reading_order(findings: Iterable[Document], names: Mapping[str, str]) -> list[Document]:
    """Sort the findings by severity, code, consumer's name, resource class, subject, and finally id.

    Within a severity, findings about unread sources come first, because other findings are not known without these
    sources. ``names`` maps consumers' uuids to names. Within a code, consumers without a name come first.
    """

    def place(finding: Document) -> tuple[int, bool, str, str, str, str, str]:
        return (
            # A report of another version may have an unknown severity, which sorts last.
            _LOUDNESS.get(finding["severity"], len(_LOUDNESS)),
            finding["code"] not in ABOUT_READS,
            finding["code"],
            names.get(finding["consumer_uuid"] or "", ""),
            finding["resource_class"] or "",
            finding["subject"],
            finding["id"],
        )

    return sorted(findings, key=place)


def names_in(ledger: Iterable[LedgerRow]) -> dict[str, str]:
    """Return {uuid: name} of the consumers in these rows."""
    return {row.consumer_uuid: row.consumer_name for row in ledger if row.consumer_uuid and row.consumer_name}


def names_of(report: AuditReport) -> dict[str, str]:
    """Return {uuid: name} of all consumers that the report names.

    After a partial audit, the report's ledger lacks some consumers. So the names also come from the report's ``names``
    and from the findings' evidence.
    """
    claims = (claim for seen in report.findings for claim in seen.finding.evidence)
    in_evidence = {claim.consumer.uuid: claim.consumer.name for claim in claims if claim.consumer.uuid}
    listed = {named.uuid: named.name for named in report.names}
    return listed | {uuid: name for uuid, name in in_evidence.items() if name} | names_in(report.ledger)


def names_in_evidence(findings: Iterable[Document]) -> dict[str, str]:
    """Return {uuid: name} of the consumers in the evidence of ``findings``. Each finding is a JSON document."""
    claims = (claim for finding in findings for claim in finding["evidence"])
    return {claim["consumer_uuid"]: claim["consumer_name"] for claim in claims if claim["consumer_name"]}
