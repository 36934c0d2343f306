"""Decide what ``stocktake status`` shows of the daemon's last report: age, staleness, free amounts per class. Pure.

Another version of the program may have written the report file. A row of an unknown form is left out, and ``problems``
names that row. For a document of an unknown form, ``last_report`` raises SourceInconsistent and no other exception.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from agent.errors import SourceInconsistent
from agent.model.report import Outcome
from agent.render.audit_text import head_lines
from agent.render.documents import SCHEMA_VERSION, Document
from agent.render.reading_order import in_reading_order, names_in_evidence
from agent.text.amounts import number_text
from agent.text.numbers import unbounded
from agent.text.own_rows import TOO_DEEP, BadRow, Rows, is_too_deep, read_rows
from agent.text.wording import alike, cell, some_of

# After this many intervals without a new report, the report is stale.
PATIENCE = 3
# The exceptions that may come from rendering a value of an unknown form.
_OTHER_SHAPE = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError)
_TEXTS = ("code", "severity", "subject", "id", "expected", "actual", "remedy")
_LEDGER_NAMES = ("consumer_uuid", "consumer_name")
_TEXTS_OR_NULL = ("consumer_uuid", "provider_uuid", "resource_class")


@dataclass(frozen=True, slots=True, kw_only=True)
class LastReport:
    """The daemon's last report, without its invalid rows. ``age_s`` counts from the start of the audit.

    ``interval_s`` is None if no timer triggers audits. ``names`` maps consumers' uuids to names; ``problems`` has a
    sentence for each invalid row.
    """

    path: str
    age_s: float
    interval_s: float | None
    outcome: Outcome
    audit: Document
    inventory: tuple[Document, ...]
    resource_view: Document | None
    names: Mapping[str, str]
    problems: tuple[str, ...] = ()

    @property
    def is_stale(self) -> bool:
        """Whether the report is older than three intervals."""
        return self.interval_s is not None and self.age_s > PATIENCE * self.interval_s


def last_report(report: Document, path: str, now: str, interval_s: float | None) -> LastReport:
    """Check the report; ``now`` is in ISO 8601. Raises SourceInconsistent if anything but a single row is invalid."""
    as_a_whole = _without_rows(report)
    if where := unbounded(as_a_whole):
        raise SourceInconsistent("report", f"{path}: {where} is not a 64-bit number")
    if is_too_deep(as_a_whole):
        raise SourceInconsistent("report", f"{path}: {TOO_DEEP}")
    try:
        findings = _rows("findings", report["audit"]["findings"], _check_finding)
        inventory = _rows("inventory", report["inventory"], _check_inventory)
        ledger = _rows("ledger", report["ledger"], lambda row: _check_texts(row, (), _LEDGER_NAMES))
        problems = (*findings.problems, *inventory.problems, *ledger.problems)
        audit = {
            **report["audit"],
            "findings": list(findings.good),
            "notes": [*report["audit"].get("notes", ()), *(f"{path}: a row is ignored: {words}" for words in problems)],
        }
        found = LastReport(
            path=path,
            age_s=_age_s(audit["started_at"], now),
            interval_s=interval_s,
            outcome=Outcome(audit["outcome"]),
            audit=audit,
            inventory=inventory.good,
            resource_view=report.get("resource_view"),
            names={row["consumer_uuid"]: row["consumer_name"] for row in ledger.good if row["consumer_uuid"]},
            problems=problems,
        )
        # Render everything once, so that a bad value raises here and printing cannot fail half-way.
        status_lines(found)
        status_document(found)
    except _OTHER_SHAPE as error:
        raise SourceInconsistent("report", f"{path}: this version cannot read the report: {error!r}") from error
    return found


def _without_rows(report: Document) -> Document:
    """Return the report without its rows. Each row is checked separately, so that a bad number drops only one row."""
    rest = {name: value for name, value in report.items() if not isinstance(value, list)}
    return {**rest, "audit": {name: value for name, value in report["audit"].items() if name != "findings"}}


def _rows(name: str, rows: object, show: Callable[[Document], object]) -> Rows[Document]:
    """Return the rows that ``show`` can render. Raises TypeError if ``rows`` is not a list."""
    if not isinstance(rows, list):
        raise TypeError(f"{name} is not a list")

    def read(row: Document) -> Document:
        if where := unbounded(row):
            raise BadRow(f"{where} is not a 64-bit number")
        if is_too_deep(row):
            raise BadRow(TOO_DEEP)
        try:
            show(row)
        except _OTHER_SHAPE as error:
            raise BadRow(f"this version cannot read the row: {error!r:.60}") from error
        return row

    return read_rows(name, rows, read)


def _check_finding(finding: Document) -> None:
    _check_texts(finding, _TEXTS, _TEXTS_OR_NULL)
    # Rendering calls _finding, and sorting calls names_in_evidence. An invalid finding must raise already here.
    _finding(finding)
    names_in_evidence([finding])


def _check_inventory(row: Document) -> None:
    _check_texts(row, ("provider", "provider_uuid", "resource_class"))
    _free((row,))


def _check_texts(row: Document, texts: tuple[str, ...], texts_or_null: tuple[str, ...] = ()) -> None:
    wrong = [name for name in texts if not isinstance(row[name], str)]
    wrong += [name for name in texts_or_null if row[name] is not None and not isinstance(row[name], str)]
    if wrong:
        raise TypeError(f"not text: {', '.join(wrong)}")


def status_lines(last: LastReport) -> tuple[str, ...]:
    """Return the lines for people."""
    return tuple(_lines(last))


def status_document(last: LastReport) -> Document:
    """Return the keys of an audit's document, plus the report's age and the free amounts."""
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
    """Return the warning for a report that is older than three intervals."""
    interval = number_text(last.interval_s or 0.0)
    return (
        f"the last report is {number_text(last.age_s)} s old, more than {PATIENCE} intervals of {interval} s:"
        " is stocktake-agent running?"
    )


def _lines(last: LastReport) -> Iterator[str]:
    every = "no periodic audits" if last.interval_s is None else f"one is due every {number_text(last.interval_s)} s"
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
    """Return the free amount of one provider, or of several providers with equal amounts."""
    first, name = rows[0], rows[0]["resource_class"]
    negative = " (negative: more is recorded than this host offers)" if (first["free"] or 0) < 0 else ""
    amounts = f"{name}: free {cell(name, first['free'])}, used {cell(name, first['used'])}"
    if len(rows) == 1:
        return f"{first['provider']} {amounts}{negative}"
    names = some_of([str(row["provider"]) for row in rows])
    return f"{len(rows)} providers with equal rows, each {amounts}{negative}: {names}"


def _finding(finding: Document) -> str:
    about = finding["consumer_uuid"] or finding["subject"] or finding["resource_class"] or finding["provider_uuid"]
    sure = "confirmed" if finding["confirmed"] else "not confirmed yet"
    return f"{finding['code']} ({finding['severity']}, {sure}) {about}: {finding['actual']}"


def _age_s(started_at: str, now: str) -> float:
    age = datetime.datetime.fromisoformat(now) - datetime.datetime.fromisoformat(started_at)
    return round(max(0.0, age.total_seconds()), 3)
