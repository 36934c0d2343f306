"""Turn the report file's document back into the report of the audit, so that commands can answer from the file.

Another version of the agent may have written the file. A row of an unknown form is left out, and the problems name the
row. The writes of the plan are not restored: no command but ``audit`` shows them, and ``audit`` prints the document.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.errors import SourceInconsistent
from agent.host_files.finding_rows import finding_of, flag_of, list_of, member_of, object_of, plain_text, text_or_none
from agent.model.finding import FindingState, SeenFinding
from agent.model.placement import Inventory
from agent.model.plan import HeldBack, Plan
from agent.model.report import (
    AuditReport,
    EvacuationNote,
    InventoryRow,
    LedgerRow,
    Outcome,
    SourceStatus,
    StorageRow,
    TraitRow,
    Verdict,
)
from agent.render.documents import Document
from agent.text.numbers import finite, unbounded, whole
from agent.text.own_rows import TOO_DEEP, BadRow, Json, count_of, is_too_deep, read_rows, text_of, utc_time_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedReport:
    """The report, and one sentence for each row that was left out."""

    report: AuditReport
    problems: tuple[str, ...] = field(default=())


def saved_report(document: Document) -> SavedReport:
    """Return the report that the document describes. Raises SourceInconsistent if more than single rows are invalid."""
    audit = document["audit"]
    lists = {
        "findings": read_rows("findings", audit.get("findings"), _checked(_seen)),
        "sources": read_rows("sources", audit.get("sources"), _checked(_source)),
        "ledger": read_rows("ledger", document.get("ledger"), _checked(_ledger)),
        "inventory": read_rows("inventory", document.get("inventory"), _checked(_inventory)),
        "traits": read_rows("traits", document.get("traits"), _checked(_trait)),
        "storage": read_rows("storage", document.get("storage", []), _checked(_storage)),
        "evacuations": read_rows("evacuations", document.get("evacuations"), _checked(_evacuation)),
    }
    try:
        plan = Plan(held_back=list_of(object_of(audit.get("plan", {})).get("held_back", []), _held_back))
        report = AuditReport(
            audit_id=text_of(audit, "audit_id"),
            host=text_of(audit, "host"),
            node=text_or_none(audit, "node"),
            provider_uuid=text_or_none(audit, "provider_uuid"),
            role=text_of(audit, "role"),
            reasons=list_of(audit.get("reasons", []), plain_text),
            started_at=utc_time_of(audit, "started_at"),
            duration_ms=_number(audit, "duration_ms"),
            outcome=member_of(Outcome, audit.get("outcome")),
            plan=plan,
            error=text_or_none(audit, "error"),
            simulated=list_of(audit.get("simulated", []), plain_text),
            notes=list_of(audit.get("notes", []), plain_text),
            **{name: rows.good for name, rows in lists.items()},  # type: ignore[arg-type]  # by name
        )
    except BadRow as error:
        raise SourceInconsistent("report", f"this version cannot read the report: {error}") from error
    return SavedReport(report=report, problems=tuple(p for rows in lists.values() for p in rows.problems))
