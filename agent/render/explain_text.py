"""Render an explanation for people: one line per fact, every number with its unit, every sum with its terms. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from agent.model.placement import Inventory
from agent.model.report import AuditReport, EvacuationNote, InventoryRow, LedgerRow
from agent.render.documents import finding_document
from agent.render.explain import (
    Book,
    ClassExplanation,
    ConsumerExplanation,
    Evacuated,
    Exact,
    Explanation,
    Part,
    Unread,
    meaning,
    unread,
    unread_of_inventory,
    verdict_word,
)
from agent.render.reading_order import in_reading_order, names_in
from agent.text.amounts import beside_its_class, number_text
from agent.text.wording import NOT_COUNTED, alike, amount, cell, some_of

_GIB = 1 << 30
_PLURALS = {"instance": "instances", "instance, unknown": "instances, unknown"}


def lines(explanation: Explanation) -> tuple[str, ...]:
    """Return the whole text as lines without line ends."""
    if isinstance(explanation, ClassExplanation):
        return tuple(_of_class(explanation))
    return tuple(_of_consumer(explanation))


def _book_line(resource_class: str, book: Book) -> str:
    """Return a line such as ``VCPU recorded 24 = 16 (4 instances) + 8 (1 allocation-stale-move: UUID)``."""
    if book.not_counted:
        return f"{resource_class} {book.name} {NOT_COUNTED}"
    if book.amount is None:
        return f"{resource_class} {book.name}: amount unknown ({'; '.join(book.problems)})"
    least, unread_text = (" at least", f" ({'; '.join(book.problems)})") if book.problems else ("", "")
    made_of = f" = {' + '.join(map(_part, book.parts))}" if book.parts else ""
    exactly = _exactly(resource_class, book.amount, book.exact) if book.exact else ""
    total = beside_its_class(resource_class, book.amount)
    return f"{resource_class} {book.name}{least} {total}{made_of}{exactly}{unread_text}"


def _exactly(resource_class: str, total: int, exact: Exact) -> str:
    """Return the exact size, which may be less than the amount, because each consumer's amount is rounded up.

    Ten small volumes that take 3 GiB together count as 10 GiB. If only some rows have a size, the text names their sum.
    """
    of = "" if exact.amount == total else f" of {beside_its_class(resource_class, exact.amount)}"
    size = f"{exact.size_bytes / _GIB:.3f} GiB ({exact.size_bytes} bytes)"
    return f"; the exact size{of} is {size}, but each consumer's amount is rounded up"


def _part(part: Part) -> str:
    # Do not list instances in the sum: their uuids would hide the sum, and each instance has a line further down.
    count = len(part.consumers)
    noun = _PLURALS.get(part.reason, part.reason) if count > 1 else part.reason
    names = "" if part.reason in _PLURALS else f": {some_of(part.consumers)}"
    return f"{part.amount} ({count} {noun}{names})"


def _of_class(explanation: ClassExplanation) -> Iterator[str]:
    scope, name = explanation.scope, explanation.resource_class
    yield _head(name, scope)
    yield from (f"not read: {line}" for line in unread(scope))
    yield ""
    yield from (_book_line(name, book) for book in explanation.books)
    if explanation.not_counted:
        yield explanation.not_counted
    yield from (_evacuation_line(name, evacuated) for evacuated in explanation.evacuations)
    if not scope.inventory:
        yield f"no inventory of {name}: {_why_no_inventory(name, scope)}"
    for rows in alike(scope.inventory, lambda row: dataclasses.replace(row, provider="", provider_uuid="")):
        yield ""
        yield _heading(name, rows)
        yield from _capacity(name, rows[0])
    yield from (f"  Placement's inventory stays unchanged: {held.why}" for held in scope.plan.held_back)
    yield from _titled("consumers:", (_row(row, explanation.not_counted) for row in scope.ledger))
    yield from _titled("findings:", _findings(scope))


def _why_no_inventory(name: str, scope: AuditReport) -> str:
    if missing := unread_of_inventory(scope, name):
        return f"it is unknown whether this host offers any, because sources were {_not_read(missing)}"
    return f"this host offers no {name}" if scope.provider_uuid else "the provider of this host is unknown"


def _not_read(sources: tuple[str, ...]) -> str:
    return f"not read ({', '.join(sources)})"


def _head(subject: str, scope: AuditReport) -> str:
    return f"{subject} on {scope.node or scope.host}, audit of {scope.started_at}"


def _titled(title: str, found: Iterator[str]) -> Iterator[str]:
    listed = list(found)
    if listed:
        yield ""
        yield title
        yield from (f"  {line}" for line in listed)


def _evacuation_line(resource_class: str, evacuated: Evacuated) -> str:
    size = "" if evacuated.amount is None else f" ({amount(resource_class, evacuated.amount)})"
    recorded = evacuated.recorded
    still = f", yet Placement still records {amount(resource_class, recorded)} for it on this host" if recorded else ""
    return f"{evacuation_text(evacuated.note, size)}: contributes 0{still}"


def evacuation_text(note: EvacuationNote, size: str = "") -> str:
    """Return ``evacuation UUID of instance UUID (8 VCPU) to HOST is done``; ``size`` is the part in parentheses."""
    return (
        f"evacuation {note.migration_uuid} of instance {note.instance_uuid}{size} to {note.dest_host} is {note.status}"
    )


def _heading(name: str, rows: tuple[InventoryRow, ...]) -> str:
    first = rows[0]
    if len(rows) == 1:
        return f"provider {first.provider} ({first.provider_uuid})"
    shown = first.wanted or first.recorded
    total = cell(name, shown.total if shown else None)
    names = some_of([row.provider for row in rows])
    return (
        f"{len(rows)} providers with equal rows, each total {total}, {cell(name, first.used)} used: {names}; "
        "for each of them:"
    )


def _capacity(name: str, row: InventoryRow) -> Iterator[str]:
    shown = row.wanted or row.recorded
    if shown is None:
        return
    if row.wanted is None:
        yield f"  the agent wants no {name} on this provider; Placement records:"
    yield f"  total {cell(name, shown.total)}"
    yield f"  reserved {cell(name, shown.reserved)}{_terms(row, shown)}"
    yield (
        f"  capacity {cell(name, shown.capacity)} = "
        f"({shown.total} total - {shown.reserved} reserved) x {number_text(shown.allocation_ratio)} ratio"
    )
    yield f"  {_free(name, row, shown)}"
    yield (
        f"  max_unit {cell(name, shown.max_unit)}: no single request can be larger, whatever the ratio"
        f" (min_unit {shown.min_unit}, step_size {shown.step_size})"
    )
    if row.wanted is not None:
        yield f"  {_held_by_placement(row.wanted, row)}"


def _terms(row: InventoryRow, shown: Inventory) -> str:
    if not row.terms:
        return ""
    terms = " + ".join(f"{value} ({name})" for name, value in row.terms)
    over = sum(value for _, value in row.terms) - shown.reserved
    return f" = {terms}" + (f" - {over} (because reserved cannot exceed the total)" if over > 0 else "")


def _free(name: str, row: InventoryRow, shown: Inventory) -> str:
    if row.free is None or row.used is None:
        return "free unknown: the recorded amounts could not be read"
    warning = "; negative: more is recorded than this host offers" if row.free < 0 else ""
    return f"free {cell(name, row.free)} = {number_text(shown.capacity)} capacity - {row.used} recorded{warning}"


def _held_by_placement(wanted: Inventory, row: InventoryRow) -> str:
    if row.recorded == wanted:
        return "Placement records the same"
    if row.recorded is None:
        # used is None if and only if Placement could not be read.
        return "Placement could not be read" if row.used is None else "Placement has no such class on this provider yet"
    fields = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
    differing = ((field, getattr(row.recorded, field), getattr(wanted, field)) for field in fields)
    return "Placement records " + ", ".join(
        f"{field} {number_text(there)} (the agent wants {number_text(here)})"
        for field, there, here in differing
        if there != here
    )


def _row(row: LedgerRow, not_counted: str | None) -> str:
    amounts = ", ".join(
        f"{book} {beside_its_class(row.resource_class, value)}"
        for book, value in (("promised", row.promised), ("held", row.held), ("recorded", row.recorded))
        if value is not None
    )
    size = "" if row.size_bytes is None else f", {row.size_bytes} bytes"
    name = f" ({row.consumer_name})" if row.consumer_name and row.consumer_name != row.consumer_key else ""
    return f"{row.consumer_key}{name}: {amounts}{size}: {row.cause}, {verdict_word(row, not_counted)} [{row.source}]"


def _findings(scope: AuditReport) -> Iterator[str]:
    for finding in in_reading_order(map(finding_document, scope.findings), names_in(scope.ledger)):
        sure = "confirmed" if finding["confirmed"] else "not confirmed yet"
        yield f"{finding['code']} ({finding['severity']}, {sure}, first seen {finding['first_seen_at']})"
        yield from (f"  {name}: {finding[name]}" for name in ("expected", "actual", "remedy"))


def _of_consumer(explanation: ConsumerExplanation) -> Iterator[str]:
    scope = explanation.scope
    yield _head(f"consumer {explanation.consumer}", scope)
    yield from (f"not read: {line}" for line in unread(scope))
    yield ""
    for row in scope.ledger[:1]:
        name = f", named {row.consumer_name}" if row.consumer_name else ""
        yield f"kind of consumer: {row.consumer_kind}{name}"
    if not scope.ledger:
        yield _nowhere(explanation.unread_anywhere)
    for row in scope.ledger:
        yield ""
        name = row.resource_class
        yield from _consumer_row(row, explanation.not_counted.get(name), explanation.unread[name])
    notes = explanation.evacuations
    yield from _titled("moves:", (f"{evacuation_text(note)}, so the agent counts 0 on this host" for note in notes))
    yield from _titled("findings:", _findings(scope))


def _nowhere(unread_books: Unread) -> str:
    """Return the line about a consumer without rows; the line names each incomplete book and its unreadable sources."""
    if not unread_books:
        return "this host's three books do not contain this consumer"
    incomplete_books = ", ".join(f"{book} book: {_not_read(sources)}" for book, sources in unread_books.items())
    return f"the books that were read do not contain this consumer; {incomplete_books}"


def _consumer_row(row: LedgerRow, not_counted: str | None, unread_books: Unread) -> Iterator[str]:
    yield f"{row.resource_class} on provider {row.provider} ({row.provider_uuid})"
    for book in ("promised", "held", "recorded"):
        value = getattr(row, book)
        nothing = _nothing(book, not_counted, unread_books)
        yield f"  {book}: {nothing if value is None else cell(row.resource_class, value)}"
    if row.size_bytes is not None:
        yield f"  exact size: {row.size_bytes} bytes"
    yield f"  cause: {row.cause}"
    yield f"  verdict: {verdict_word(row, not_counted)}: {meaning(row, not_counted)}"
    yield f"  read from: {row.source}"


def _nothing(book: str, not_counted: str | None, unread_books: Unread) -> str:
    if not_counted and book != "recorded":
        return NOT_COUNTED
    return _not_read(unread_books[book]) if book in unread_books else "not mentioned"
