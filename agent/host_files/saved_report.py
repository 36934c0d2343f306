"""Turn the report file's document back into the report of the audit, so that commands can answer from the file.

Another version of the agent may have written the file. A row of an unknown form is left out, and ``SavedReport`` has a
sentence about this row. The writes of the plan are not restored: only the command ``audit`` shows the writes, and that
command does not read this file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeVar

from agent.errors import SourceInconsistent
from agent.host_files.finding_rows import finding_of
from agent.model.finding import FindingState, SeenFinding
from agent.model.placement import Inventory
from agent.model.plan import HeldBack, Plan
from agent.model.report import (
    AuditReport,
    ConsumerName,
    EvacuationNote,
    InventoryRow,
    LedgerRow,
    Outcome,
    ProviderPlace,
    SourceStatus,
    StorageRow,
    TraitRow,
    Verdict,
)
from agent.render.documents import Document
from agent.text.numbers import unbounded
from agent.text.own_rows import (
    TOO_DEEP,
    BadRow,
    Json,
    Rows,
    amount_of,
    count_of,
    is_too_deep,
    list_of,
    member_of,
    number_of,
    object_of,
    plain_text,
    read_rows,
    text_of,
    text_or_none,
    utc_time_of,
)

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SavedReport:
    """A report read from a file, without the file's invalid rows. ``problems`` has a sentence for each invalid row."""

    report: AuditReport
    problems: tuple[str, ...] = ()


def saved_report(document: Document) -> SavedReport:
    """Return the report that the document describes, without its invalid rows.

    Raises SourceInconsistent if another part of the document is invalid.
    """
    audit = document["audit"]
    findings = _rows("findings", audit.get("findings"), _seen)
    sources = _rows("sources", audit.get("sources"), _source)
    ledger = _rows("ledger", document.get("ledger"), _ledger)
    inventory = _rows("inventory", document.get("inventory"), _inventory)
    traits = _rows("traits", document.get("traits"), _trait)
    storage = _rows("storage", document.get("storage", []), _storage)
    evacuations = _rows("evacuations", document.get("evacuations"), _evacuation)
    names = _rows("names", document.get("names", []), _name)
    providers = _rows("providers", document.get("providers", []), _place)
    try:
        report = dataclasses.replace(
            _alone(audit),
            findings=findings.good,
            sources=sources.good,
            ledger=ledger.good,
            inventory=inventory.good,
            traits=traits.good,
            storage=storage.good,
            evacuations=evacuations.good,
            names=names.good,
            providers=providers.good,
        )
    except BadRow as error:
        raise SourceInconsistent("report", f"this version of Stocktake cannot read the report: {error}") from error
    every = (findings, sources, ledger, inventory, traits, storage, evacuations, names, providers)
    return SavedReport(report=report, problems=tuple(problem for rows in every for problem in rows.problems))


def _alone(audit: Json) -> AuditReport:
    """Return the report without its lists of rows, such as the findings and the ledger."""
    return AuditReport(
        audit_id=text_of(audit, "audit_id"),
        host=text_of(audit, "host"),
        node=text_or_none(audit, "node"),
        provider_uuid=text_or_none(audit, "provider_uuid"),
        role=text_of(audit, "role"),
        reasons=list_of(audit.get("reasons", []), plain_text),
        started_at=utc_time_of(audit, "started_at"),
        duration_ms=number_of(audit, "duration_ms"),
        outcome=member_of(Outcome, audit.get("outcome")),
        sources=(),
        plan=Plan(held_back=list_of(object_of(audit.get("plan", {})).get("held_back", []), _held_back)),
        error=text_or_none(audit, "error"),
        simulated=list_of(audit.get("simulated", []), plain_text),
        notes=list_of(audit.get("notes", []), plain_text),
    )


def _rows(name: str, rows: Json, read: Callable[[Json], T]) -> Rows[T]:
    """Parse each row with ``read``. A row that is nested too deep or has a number above 64 bits is also invalid."""

    def checked(row: Json) -> T:
        if is_too_deep(row):
            raise BadRow(TOO_DEEP)
        if where := unbounded(row):
            raise BadRow(f"{where} is not a 64-bit number")
        return read(object_of(row))

    return read_rows(name, rows, checked)


def _seen(row: Json) -> SeenFinding:
    finding = finding_of({"headline": "", **row}, text_of(row, "code"))
    saved_id = text_of(row, "id")
    if finding.id != saved_id:
        finding = dataclasses.replace(finding, saved_id=saved_id)
    confirmed = row.get("confirmed") is True
    usual = FindingState.CONFIRMED if confirmed else FindingState.SEEN
    return SeenFinding(
        finding=finding,
        confirmed=confirmed,
        first_seen_at=utc_time_of(row, "first_seen_at"),
        stands_since=text_or_none(row, "stands_since") or "",
        times=amount_of({"sightings": None, **row}, "sightings") or 0,
        state=member_of(FindingState, row.get("state", usual.value)),
        last_seen_at=text_or_none(row, "last_seen_at") or "",
        unknown_because=list_of(row.get("unknown_because", []), plain_text),
        caused_by=list_of(row.get("caused_by", []), plain_text),
        symptoms=list_of(row.get("symptoms", []), plain_text),
    )


def _source(row: Json) -> SourceStatus:
    return SourceStatus(
        name=text_of(row, "name"),
        ok=row.get("ok") is True,
        age_s=_number_or_none(row, "age_s"),
        duration_ms=number_of(row, "duration_ms"),
        error=text_or_none(row, "error"),
        denied=row.get("denied") is True,
        behind_s=_number_or_none(row, "behind_s"),
        read=text_or_none(row, "read"),
        asked=row.get("asked", True) is True,
        not_asked_because=text_or_none(row, "not_asked_because"),
        lost_since=text_or_none(row, "lost_since"),
        losses=amount_of({"losses": 0, **row}, "losses") or 0,
    )


def _ledger(row: Json) -> LedgerRow:
    return LedgerRow(
        consumer_uuid=text_or_none(row, "consumer_uuid"),
        consumer_key=text_of(row, "consumer_key"),
        consumer_name=text_of(row, "consumer_name"),
        consumer_kind=text_of(row, "consumer_kind"),
        cause=text_of(row, "cause"),
        provider=text_of(row, "provider"),
        provider_uuid=text_of(row, "provider_uuid"),
        resource_class=text_of(row, "resource_class"),
        promised=amount_of(row, "promised"),
        held=amount_of(row, "held"),
        recorded=amount_of(row, "recorded"),
        verdict=member_of(Verdict, row.get("verdict")),
        source=text_of(row, "source"),
        size_bytes=amount_of(row, "size_bytes"),
        outside_tree=row.get("outside_tree") is True,
        settling=text_or_none(row, "settling") or "",
    )


def _inventory(row: Json) -> InventoryRow:
    return InventoryRow(
        provider=text_of(row, "provider"),
        provider_uuid=text_of(row, "provider_uuid"),
        wanted=_amounts(row, ""),
        recorded=_amounts(row, "recorded_"),
        used=amount_of(row, "used"),
        terms=list_of(row.get("terms", []), lambda term: (text_of(term, "name"), count_of(term, "amount"))),
    )


def _amounts(row: Json, prefix: str) -> Inventory | None:
    if row.get(f"{prefix}total") is None:
        return None
    whole = {
        name: count_of(row, f"{prefix}{name}") for name in ("total", "reserved", "min_unit", "max_unit", "step_size")
    }
    ratio = number_of(row, f"{prefix}allocation_ratio")
    return Inventory(resource_class=text_of(row, "resource_class"), allocation_ratio=ratio, **whole)


def _trait(row: Json) -> TraitRow:
    return TraitRow(
        provider=text_of(row, "provider"),
        provider_uuid=text_of(row, "provider_uuid"),
        trait=text_of(row, "trait"),
        wanted=row.get("wanted") is True,
        recorded=row.get("recorded") is True,
        owner=text_of(row, "owner"),
    )


def _storage(row: Json) -> StorageRow:
    return StorageRow(
        store=text_of(row, "store"),
        owner_kind=text_of(row, "owner_kind"),
        owner=text_of(row, "owner"),
        what=text_of(row, "what"),
        size_bytes=count_of(row, "size_bytes"),
        source=text_of(row, "source"),
        store_bytes=count_of(row, "store_bytes"),
    )


def _evacuation(row: Json) -> EvacuationNote:
    return EvacuationNote(
        instance_uuid=text_of(row, "instance_uuid"),
        migration_uuid=text_of(row, "migration_uuid"),
        status=text_of(row, "status"),
        vcpus=amount_of(row, "vcpus"),
        memory_mib=amount_of(row, "memory_mib"),
        dest_host=text_of(row, "dest_host"),
    )


def _name(row: Json) -> ConsumerName:
    return ConsumerName(name=text_of(row, "name"), uuid=text_of(row, "uuid"))


def _place(row: Json) -> ProviderPlace:
    parent_uuid = text_or_none(row, "parent_uuid")
    return ProviderPlace(name=text_of(row, "name"), uuid=text_of(row, "uuid"), parent_uuid=parent_uuid)


def _held_back(row: Json) -> HeldBack:
    return HeldBack(provider_uuid=text_of(row, "provider_uuid"), what=text_of(row, "what"), why=text_of(row, "why"))


def _number_or_none(row: Json, name: str) -> float | None:
    return None if row.get(name) is None else number_of(row, name)
