"""In which order findings are told to people: the loud ones first, then alike beside alike, by the names people use.

For text alone: the order in the documents is the audit's own. Works on documents
(documents.py), since ``status`` has nothing else. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agent.model.finding import SeenFinding, Severity
from agent.model.report import LedgerRow
from agent.render.documents import Document, finding_document

# Severity's members stand from loud to quiet.
_LOUDNESS = {severity.value: rank for rank, severity in enumerate(Severity)}


def in_reading_order(findings: Iterable[Document], names: Mapping[str, str]) -> list[Document]:
    """By severity, code, then consumer's name, resource class and subject; uuids decide only between equals.

    ``names`` are consumers' names by uuid; one that has none comes before those that have one.
    """
    return sorted(findings, key=lambda finding: _place(finding, names))


def seen_in_reading_order(findings: Iterable[SeenFinding], names: Mapping[str, str]) -> list[SeenFinding]:
    """The same for findings that are no documents yet."""
    return sorted(findings, key=lambda seen: _place(finding_document(seen), names))


def names_in(ledger: Iterable[LedgerRow]) -> dict[str, str]:
    """Consumers' names by uuid: a finding's evidence need not call them by name, the ledger does."""
    return {row.consumer_uuid: row.consumer_name for row in ledger if row.consumer_uuid and row.consumer_name}


def names_in_documents(ledger: Iterable[Document]) -> dict[str, str]:
    """The same of a report file's ledger."""
    return {row["consumer_uuid"]: row["consumer_name"] for row in ledger if row["consumer_uuid"]}


def names_in_evidence(findings: Iterable[Document]) -> dict[str, str]:
    """The same where there is nothing but findings: those that their evidence does call by name."""
    claims = (claim for finding in findings for claim in finding["evidence"])
    return {claim["consumer_uuid"]: claim["consumer_name"] for claim in claims if claim["consumer_name"]}


def _place(finding: Document, names: Mapping[str, str]) -> tuple[int, str, str, str, str, str]:
    return (
        # Of another version's report: after all that we know.
        _LOUDNESS.get(finding["severity"], len(_LOUDNESS)),
        finding["code"],
        names.get(finding["consumer_uuid"] or "", ""),
        finding["resource_class"] or "",
        finding["subject"],
        finding["id"],
    )
