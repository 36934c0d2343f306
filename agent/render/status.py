"""Decide what ``stocktake status`` shows of the daemon's last report: age, staleness, findings, free amounts.

Pure: no I/O.

Another version of the program may have written the report file. A row in an unknown format is left out and named in
``problems``. For a document in an unknown format, ``last_report`` raises SourceInconsistent and no other exception.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.errors import SourceInconsistent
from agent.model.report import Outcome
from agent.render.audit_text import gone_lines, head_lines, simulated_lines
from agent.render.cells import NOT_KNOWN
from agent.render.documents import SCHEMA_VERSION, Document
from agent.render.finding_text import finding_block, finding_blocks, unknown_lines
from agent.render.layout import Block, Column, Grid, Kind, line
from agent.render.reading_order import in_reading_order, names_in_evidence
from agent.text.amounts import beside_its_class, number_text
from agent.text.numbers import unbounded
from agent.text.own_rows import TOO_DEEP, BadRow, Rows, is_too_deep, read_rows
from agent.text.wording import alike, some_of

# The number of intervals without a new report after which the report is stale.
PATIENCE = 3
# The exceptions that the rendering of a value in an unknown format may raise.
_OTHER_SHAPE = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError)
_TEXTS = ("code", "severity", "subject", "id", "expected", "actual", "remedy")
_LEDGER_NAMES = ("consumer_uuid", "consumer_name")
_TEXTS_OR_NULL = ("consumer_uuid", "provider_uuid", "resource_class")
_FREE = (
    Column("provider", "PROVIDER", Kind.NAME),
    Column("resource_class", "CLASS"),
    Column("free", "FREE", Kind.NUMBER),
    Column("used", "USED", Kind.NUMBER),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastReport:
    """The daemon's last report, without its invalid rows. ``age_s``: seconds from the audit's start to ``now``.

    ``interval_s`` is None if no timer triggers audits. ``names`` maps consumers' uuids to names; ``problems`` has a
    sentence for each invalid row.
    """

    path: str
    now: str
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
    """Return the checked report without its invalid rows. ``now`` is ISO 8601.

    Raises SourceInconsistent if anything else in the report is invalid.
    """
    as_a_whole = _without_rows(report)
    if where := unbounded(as_a_whole):
        raise SourceInconsistent("report", f"{path}: {where} is not a 64-bit number")
    if is_too_deep(as_a_whole):
        raise SourceInconsistent("report", f"{path}: {TOO_DEEP}")
    try:
        findings = _rows("findings", report["audit"]["findings"], lambda row: _check_finding(row, now))
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
            now=now,
            age_s=_age_s(audit["started_at"], now),
            interval_s=interval_s,
            outcome=Outcome(audit["outcome"]),
            audit=audit,
            inventory=inventory.good,
            resource_view=report.get("resource_view"),
            names=names_in_evidence(findings.good)
            | {row["consumer_uuid"]: row["consumer_name"] for row in ledger.good if row["consumer_uuid"]},
            problems=problems,
        )
        # Render everything once here, so that an invalid value raises an error now and not in the middle of the output.
        status_blocks(found)
        status_document(found)
    except _OTHER_SHAPE as error:
        raise SourceInconsistent(
            "report", f"{path}: this version of Stocktake cannot read the report: {error!r}"
        ) from error
    return found


def _without_rows(report: Document) -> Document:
    """Return the report without its rows, so that an invalid number in a row does not make the whole report invalid.

    ``_rows`` checks the rows one by one and leaves out the invalid ones.
    """
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
            raise BadRow(f"this version of Stocktake cannot read the row: {error!r:.60}") from error
        return row

    return read_rows(name, rows, read)


def _check_finding(finding: Document, now: str) -> None:
    _check_texts(finding, _TEXTS, _TEXTS_OR_NULL)
    # The output calls these functions later. They are called here to raise the error of an invalid finding now, while
    # the finding can still be left out.
    tuple(finding_block(finding, names_in_evidence([finding]), now))
    tuple(unknown_lines([finding], now))
    in_reading_order([finding], {})
    if not all(isinstance(each, str) for key in ("caused_by", "symptoms") for each in finding.get(key, ())):
        raise TypeError("caused_by and symptoms must be lists of ids")


def _check_inventory(row: Document) -> None:
    _check_texts(row, ("provider", "provider_uuid", "resource_class"))
    _free((row,))


def _check_texts(row: Document, texts: tuple[str, ...], texts_or_null: tuple[str, ...] = ()) -> None:
    wrong = [name for name in texts if not isinstance(row[name], str)]
    wrong += [name for name in texts_or_null if row[name] is not None and not isinstance(row[name], str)]
    if wrong:
        raise TypeError(f"not text: {', '.join(wrong)}")


def status_blocks(last: LastReport) -> tuple[Block, ...]:
    """Return the lines and tables that ``stocktake status`` shows to people."""
    return tuple(_blocks(last))


def status_document(last: LastReport) -> Document:
    """Return the last audit's JSON document, with the report's age and the free amounts added."""
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


def _blocks(last: LastReport) -> Iterator[Block]:
    every = "no periodic audits" if last.interval_s is None else f"one is due every {number_text(last.interval_s)} s"
    yield line(f"last report {number_text(last.age_s)} s ago ({every}), in {last.path}", hang=2)
    if last.is_stale:
        yield line(stale_line(last), hang=2)
    yield from head_lines(last.audit, last.now)
    yield from finding_blocks(last.audit["findings"], last.names, last.now)
    yield from simulated_lines(last.audit)
    yield from gone_lines(last.audit)
    if last.inventory:
        yield ""
        yield from free_blocks(last.inventory)


def free_blocks(inventory: Sequence[Document]) -> Iterator[Block]:
    """Yield the table of free amounts, and a line if an amount is negative."""
    groups = alike(inventory, lambda row: (row["resource_class"], row["free"], row["used"]))
    yield Grid(columns=_FREE, rows=tuple(_free(rows) for rows in groups))
    if any((row["free"] or 0) < 0 for row in inventory):
        yield "FREE is negative: more is recorded than this host offers"


def _free(rows: tuple[Document, ...]) -> tuple[str, ...]:
    """Return the texts of one table row, which is about one provider or several providers with equal amounts."""
    first, name = rows[0], str(rows[0]["resource_class"])
    free, used = (NOT_KNOWN if first[key] is None else beside_its_class(name, first[key]) for key in ("free", "used"))
    if len(rows) == 1:
        return (str(first["provider"]), name, free, used)
    return (f"each of {len(rows)} providers: {some_of([str(row['provider']) for row in rows])}", name, free, used)


def _age_s(started_at: str, now: str) -> float:
    age = datetime.datetime.fromisoformat(now) - datetime.datetime.fromisoformat(started_at)
    return round(max(0.0, age.total_seconds()), 3)
