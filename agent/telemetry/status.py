"""Decide what ``status`` says of the daemon's last report: age, whether it still reports, free per class. Pure.

The report file may be of another version of the program: what is missing or of
another shape raises SourceInconsistent and never a bug.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agent.errors import SourceInconsistent
from agent.model.amounts import number_text
from agent.model.report import Outcome
from agent.telemetry.audit_text import head_lines
from agent.telemetry.documents import SCHEMA_VERSION, Document
from agent.telemetry.reading_order import in_reading_order, names_in_documents
from agent.telemetry.wording import alike, cell, some_of

# So many intervals without a report, and the daemon is said to be silent.
PATIENCE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LastReport:
    """``age_s`` since the audit began; ``interval_s`` is None where no timer asks for audits.

    ``names`` are consumers' names by uuid.
    """

    path: str
    age_s: float
    interval_s: float | None
    outcome: Outcome
    audit: Document
    inventory: tuple[Document, ...]
    resource_view: Document | None
    names: Mapping[str, str]

    @property
    def is_stale(self) -> bool:
        """Older than three intervals."""
        return self.interval_s is not None and self.age_s > PATIENCE * self.interval_s


def last_report(report: Document, path: str, now: str, interval_s: float | None) -> LastReport:
    """``report`` as report_from_json gives it, ``now`` in ISO 8601. Raises SourceInconsistent."""
    try:
        audit = report["audit"]
        found = LastReport(
            path=path,
            age_s=_age_s(audit["started_at"], now),
            interval_s=interval_s,
            outcome=Outcome(audit["outcome"]),
            audit=audit,
            inventory=tuple(report["inventory"]),
            resource_view=report.get("resource_view"),
            names=names_in_documents(report["ledger"]),
        )
        # Whatever the text needs is looked up here, once, so that printing cannot fail half-way.
        status_lines(found)
        status_document(found)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SourceInconsistent("report", f"{path}: not a report of this program: {error!r}") from error
    return found


def status_lines(last: LastReport) -> tuple[str, ...]:
    """For people."""
    return tuple(_lines(last))


def status_document(last: LastReport) -> Document:
    """The keys of an audit's document, with age and free beside them."""
    return {
        **last.audit,
        "schema_version": SCHEMA_VERSION,
        "report_file": last.path,
        "age_s": last.age_s,
        "interval_s": last.interval_s,
        "stale": last.is_stale,
        "resource_view": last.resource_view,
        "free": [
            {name: row[name] for name in ("provider", "provider_uuid", "resource_class", "used", "free")}
            for row in last.inventory
        ],
    }


def stale_line(last: LastReport) -> str:
    """What to say of a report that is older than three intervals."""
    interval = number_text(last.interval_s or 0.0)
    return (
        f"the last report is {number_text(last.age_s)} s old, more than {PATIENCE} intervals of {interval} s:"
        " is stocktake-agent running?"
    )


def _lines(last: LastReport) -> Iterator[str]:
    every = "no timer" if last.interval_s is None else f"one is due every {number_text(last.interval_s)} s"
    yield f"last report {number_text(last.age_s)} s ago ({every}), in {last.path}"
    if last.is_stale:
        yield stale_line(last)
    yield from head_lines(last.audit)
    if last.inventory:
        yield "free:"
    for rows in alike(last.inventory, lambda row: (row["resource_class"], row["free"], row["used"])):
        yield f"  {_free(rows)}"
    if last.audit["findings"]:
        yield "findings:"
    yield from (f"  {_finding(finding)}" for finding in in_reading_order(last.audit["findings"], last.names))


def _free(rows: tuple[Document, ...]) -> str:
    """Of one provider, or of several alike."""
    first, name = rows[0], rows[0]["resource_class"]
    negative = " (negative: more is recorded than this host can give)" if (first["free"] or 0) < 0 else ""
    amounts = f"{name}: free {cell(name, first['free'])}, used {cell(name, first['used'])}"
    if len(rows) == 1:
        return f"{first['provider']} {amounts}{negative}"
    names = some_of([str(row["provider"]) for row in rows])
    return f"{len(rows)} providers alike, each {amounts}{negative}: {names}"


def _finding(finding: Document) -> str:
    about = finding["consumer_uuid"] or finding["subject"] or finding["resource_class"] or finding["provider_uuid"]
    sure = "confirmed" if finding["confirmed"] else "not confirmed yet"
    return f"{finding['code']} ({finding['severity']}, {sure}) {about}: {finding['actual']}"


def _age_s(started_at: str, now: str) -> float:
    age = datetime.datetime.fromisoformat(now) - datetime.datetime.fromisoformat(started_at)
    return round(max(0.0, age.total_seconds()), 3)
