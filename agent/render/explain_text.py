"""Show an explanation as text: the sums of nova, the host and Placement, who uses how much, and the arithmetic.

Pure: no I/O.

An amount is the first word of its line, and a line has at most one uuid. Only ``Detail.SOURCES`` shows where the agent
read each amount, because the operator rarely needs this.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Sequence

from agent.model.placement import Inventory
from agent.model.report import AuditReport, EvacuationNote, InventoryRow, LedgerRow
from agent.render.cells import NOT_KNOWN
from agent.render.documents import finding_document
from agent.render.explain import (
    Book,
    ClassExplanation,
    ConsumerExplanation,
    Evacuated,
    Exact,
    Explanation,
    Unread,
    meaning,
    unread,
    unread_of_inventory,
    verdict_word,
)
from agent.render.explain_users import users
from agent.render.finding_text import counted, finding_blocks
from agent.render.layout import Block, Column, Grid, Kind, Line, line, toned
from agent.render.reading_order import names_of
from agent.text.amounts import beside_its_class, number_text
from agent.text.wording import NOT_COUNTED, alike, amount, cell, some_of

_GIB = 1 << 30
_INDENT = 2
_FIELDS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
# The two columns of a table without headings: an amount, and a text that says what the amount is.
_AMOUNTS = (Column("amount", "", Kind.NUMBER), Column("what", "", Kind.TEXT))
_OF_CONSUMER = (
    *(Column(book, book.upper(), Kind.NUMBER) for book in ("recorded", "promised", "held")),
    Column("resource_class", "CLASS"),
    Column("verdict", "VERDICT", toned=True),
    Column("cause", "CAUSE"),
    Column("provider", "PROVIDER", Kind.NAME),
)
_LEAVE_OUT = ("provider", "cause", "held", "promised")


class Detail(enum.Enum):
    """How much detail the text has."""

    BRIEF = "brief"
    SOURCES = "sources"


def explanation_blocks(explanation: Explanation, detail: Detail = Detail.BRIEF) -> Iterator[Block]:
    """Yield the whole text. With ``detail`` SOURCES, the text also says for each consumer where the amount was read."""
    if isinstance(explanation, ClassExplanation):
        yield from _of_class(explanation, detail)
    else:
        yield from _of_consumer(explanation, detail)


def _of_class(explanation: ClassExplanation, detail: Detail) -> Iterator[Block]:
    scope, name = explanation.scope, explanation.resource_class
    yield _sums(explanation)
    yield from (line(f"not read: {problem}", hang=_INDENT) for problem in unread(scope))
    yield from users(explanation)
    yield from (line(text, hang=_INDENT) for text in map(_exactly, explanation.books) if text)
    if explanation.not_counted:
        yield line(f"{name}: {explanation.not_counted}", hang=_INDENT)
    yield from _evacuations(name, explanation.evacuations, detail)
    if not scope.inventory:
        yield ""
        yield line(f"no inventory of {name}: {_why_no_inventory(name, scope)}", hang=_INDENT)
    for rows in alike(scope.inventory, lambda row: dataclasses.replace(row, provider="", provider_uuid="")):
        yield ""
        yield line(_heading(name, rows), hang=_INDENT)
        yield from _capacity(name, rows[0])
    for held in scope.plan.held_back:
        yield line(f"  Placement's inventory stays unchanged: {held.why}", hang=2 * _INDENT)
    if detail is Detail.SOURCES:
        yield from _sources(scope.ledger)
    findings = [finding_document(seen) for seen in scope.findings]
    yield from finding_blocks(findings, names_of(scope), scope.started_at)


def _sums(explanation: ClassExplanation) -> Line:
    """Return the first line: ``VCPU on NODE: recorded 24 of 192, promised 16, held 16 -> 8 recorded too much``.

    ``recorded`` is the sum in Placement, ``promised`` in nova's database, and ``held`` on the host. The text after the
    arrow is the result of the comparison.
    """
    scope, name = explanation.scope, explanation.resource_class
    shown = [row.wanted or row.recorded for row in scope.inventory]
    capacity = sum(inventory.capacity for inventory in shown if inventory)
    sums = [_sum(name, book) for book in explanation.books]
    if shown and explanation.books[0].amount is not None:
        sums[0] = f"{sums[0]} of {beside_its_class(name, capacity)}"
    return line(f"{name} on {scope.node or scope.host}: {', '.join(sums)}{_wrong(explanation)}", hang=_INDENT)


def _sum(name: str, book: Book) -> str:
    if book.not_counted:
        return f"{book.name} {NOT_COUNTED}"
    if book.amount is None:
        return f"{book.name} not known"
    least = "at least " if book.problems else ""
    return f"{book.name} {least}{beside_its_class(name, book.amount)}"


def _wrong(explanation: ClassExplanation) -> str:
    """Return what is wrong with Placement's allocations: ``-> 8 recorded too much, 4 missing in Placement``, or ""."""
    name = explanation.resource_class
    amounts = ((explanation.wasted, "recorded too much"), (explanation.missing, "missing in Placement"))
    found = [f"{beside_its_class(name, value)} {words}" for value, words in amounts if value]
    return f" -> {', '.join(found)}" if found else ""


def _exactly(book: Book) -> str:
    """Return a text with the exact size in bytes of the promised, held or recorded amount; "" if no size is known.

    Each consumer's amount is rounded up to whole GiB, so the exact size may be smaller: ten volumes of 0.3 GiB count as
    10 GiB. If only some consumers have an exact size, the text says how many GiB these consumers have.
    """
    exact: Exact | None = book.exact
    if exact is None:
        return ""
    some = f"the exact size is known for only {exact.amount} GiB of this amount:"
    known = "the exact size is" if exact.amount == book.amount else some
    size = f"{exact.size_bytes / _GIB:.3f} GiB ({exact.size_bytes} bytes)"
    return f"{book.name}: {known} {size}; each consumer's amount is rounded up to whole GiB"


def _why_no_inventory(name: str, scope: AuditReport) -> str:
    if missing := unread_of_inventory(scope, name):
        return f"it is unknown whether this host offers {name}, because sources were {_not_read(missing)}"
    return f"this host offers no {name}" if scope.provider_uuid else "the provider of this host is unknown"


def _not_read(sources: tuple[str, ...]) -> str:
    return f"not read ({', '.join(sources)})"


def _evacuations(name: str, evacuations: Sequence[Evacuated], detail: Detail) -> Iterator[Block]:
    if evacuations:
        yield ""
        yield "evacuated from here, so counted as 0:"
        yield Grid(columns=_AMOUNTS, rows=tuple(("0", _evacuated(name, each)) for each in evacuations), indent=_INDENT)
    if detail is Detail.SOURCES:
        yield from (f"  from migration {each.note.migration_uuid} in nova's database" for each in evacuations)


def _evacuated(name: str, evacuated: Evacuated) -> str:
    note = evacuated.note
    size = "" if evacuated.amount is None else f" ({amount(name, evacuated.amount)})"
    still = evacuated.recorded
    recorded = f"; Placement still records {amount(name, still)} for it on this host" if still else ""
    return f"instance {note.instance_uuid}{size}: evacuation to {note.dest_host} is {note.status}{recorded}"


def evacuation_text(note: EvacuationNote, size: str = "") -> str:
    """Return the line ``evacuation UUID of instance UUID (8 VCPU) to HOST is done``.

    ``size`` is the part " (8 VCPU)" of the line; without ``size``, the line has no such part.
    """
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
        f"{len(rows)} providers with the same values (total {total}, {cell(name, first.used)} used): {names}; "
        "for each of them:"
    )


def _capacity(name: str, row: InventoryRow) -> Iterator[Block]:
    shown = row.wanted or row.recorded
    if shown is None:
        return
    if row.wanted is None:
        yield f"  the agent wants no {name} on this provider; Placement records:"
    ratio = number_text(shown.allocation_ratio)
    units = f"(min_unit {shown.min_unit}, step_size {shown.step_size})"
    rows = (
        (cell(name, shown.total), "total"),
        (cell(name, shown.reserved), f"reserved{_terms(row, shown)}"),
        (
            cell(name, shown.capacity),
            f"capacity = ({shown.total} total - {shown.reserved} reserved) x {ratio} ratio",
        ),
        _free(name, row, shown),
        (cell(name, shown.max_unit), f"max_unit: the largest amount in one request, whatever the ratio {units}"),
    )
    yield Grid(columns=_AMOUNTS, rows=rows, indent=_INDENT)
    if row.wanted is not None:
        yield line(f"  {_held_by_placement(row.wanted, row)}", hang=2 * _INDENT)


def _terms(row: InventoryRow, shown: Inventory) -> str:
    if not row.terms:
        return ""
    terms = " + ".join(f"{value} ({name})" for name, value in row.terms)
    over = sum(value for _, value in row.terms) - shown.reserved
    return f" = {terms}" + (f" - {over} (because reserved cannot exceed the total)" if over > 0 else "")


def _free(name: str, row: InventoryRow, shown: Inventory) -> tuple[str, str]:
    if row.free is None or row.used is None:
        return NOT_KNOWN, "the free amount is not known: Placement's allocations could not be read"
    warning = "; negative: more is recorded than this host offers" if row.free < 0 else ""
    return cell(name, row.free), f"free = {number_text(shown.capacity)} capacity - {row.used} recorded{warning}"


def _held_by_placement(wanted: Inventory, row: InventoryRow) -> str:
    if row.recorded == wanted:
        return "Placement records these values"
    if row.recorded is None:
        # ``used`` is None only if Placement could not be read.
        return (
            "Placement could not be read"
            if row.used is None
            else "Placement has no inventory of this class on this provider yet"
        )
    differing = ((field, getattr(row.recorded, field), getattr(wanted, field)) for field in _FIELDS)
    return "Placement records " + ", ".join(
        f"{field} {number_text(there)} (the agent wants {number_text(here)})"
        for field, there, here in differing
        if there != here
    )


def _sources(rows: Sequence[LedgerRow]) -> Iterator[Block]:
    """Yield two lines per row: the amounts in Placement, nova and the host, then where the agent read the amounts."""
    if rows:
        yield ""
        yield "consumers:"
    for row in rows:
        books = ((book, getattr(row, book)) for book in ("recorded", "promised", "held"))
        amounts = [f"{book} {beside_its_class(row.resource_class, n)}" for book, n in books if n is not None]
        size = [] if row.size_bytes is None else [f"{row.size_bytes} bytes"]
        yield line(f"  {_who(row)}: {', '.join((*amounts, *size))}: {row.cause}, ", toned(verdict_word(row)), hang=4)
        yield line(f"    from {row.source}", hang=6)


def _who(row: LedgerRow) -> str:
    named = row.consumer_name and row.consumer_name != row.consumer_key
    return f"{row.consumer_name} {row.consumer_key}" if named else row.consumer_key


def _of_consumer(explanation: ConsumerExplanation, detail: Detail) -> Iterator[Block]:
    scope = explanation.scope
    yield line(_consumer_head(explanation), hang=_INDENT)
    yield from (line(f"not read: {problem}", hang=_INDENT) for problem in unread(scope))
    if scope.ledger:
        yield _books_of(explanation)
        yield from (line(text, hang=_INDENT) for text in _meanings(explanation))
        sizes = {row.resource_class: row.size_bytes for row in scope.ledger if row.size_bytes is not None}
        yield from (f"exact size of {name}: {size} bytes" for name, size in sizes.items())
    else:
        yield line(_nowhere(explanation.unread_anywhere), hang=_INDENT)
    for note in explanation.evacuations:
        yield line(f"evacuation to {note.dest_host} is {note.status}, so the agent counts 0 on this host", hang=_INDENT)
        yield line(f"  from migration {note.migration_uuid} in nova's database", hang=4)
    if detail is Detail.SOURCES:
        yield from (line(f"{row.resource_class} from {row.source}", hang=_INDENT) for row in scope.ledger)
    findings = [finding_document(seen) for seen in scope.findings]
    yield from finding_blocks(findings, names_of(scope), scope.started_at)


def _consumer_head(explanation: ConsumerExplanation) -> str:
    """Return the first line: ``NAME UUID on NODE: instance, 2 findings``."""
    scope = explanation.scope
    row = next(iter(scope.ledger), None)
    facts = [row.consumer_kind] if row and row.consumer_kind else []
    facts.append(counted([finding_document(seen) for seen in scope.findings]))
    return f"{_who(row) if row else explanation.consumer} on {scope.node or scope.host}: {', '.join(facts)}"


def _books_of(explanation: ConsumerExplanation) -> Grid:
    node = explanation.scope.node
    columns = _OF_CONSUMER if any(row.provider != node for row in explanation.scope.ledger) else _OF_CONSUMER[:-1]
    rows = (_consumer_row(explanation, row) for row in explanation.scope.ledger)
    leave_out = tuple(name for name in _LEAVE_OUT if any(column.name == name for column in columns))
    cells = tuple(row[: len(columns)] for row in rows)
    return Grid(columns=columns, rows=cells, leave_out=leave_out, hint="-f json shows all columns")


def _consumer_row(explanation: ConsumerExplanation, row: LedgerRow) -> tuple[str, ...]:
    missing, uncounted = explanation.unread[row.resource_class], row.resource_class in explanation.not_counted
    amounts = []
    for book in ("recorded", "promised", "held"):
        value = getattr(row, book)
        nothing = NOT_KNOWN if book in missing or (uncounted and book != "recorded") else ""
        amounts.append(nothing if value is None else beside_its_class(row.resource_class, value))
    return (*amounts, row.resource_class, verdict_word(row), row.cause, row.provider)


def _meanings(explanation: ConsumerExplanation) -> Iterator[str]:
    """Yield one line for each different verdict in the table, with the verdict's meaning.

    Then yield one line for each column (recorded, promised, held) with unknown amounts. The line names the sources that
    were not read.
    """
    rows = explanation.scope.ledger
    yield from dict.fromkeys(
        f"{verdict_word(row)}: {meaning(row, explanation.not_counted.get(row.resource_class))}" for row in rows
    )
    missing = sorted(
        {(book, sources) for row in rows for book, sources in explanation.unread[row.resource_class].items()}
    )
    yield from (
        f"- in column {book}: not known, because sources were {_not_read(sources)}" for book, sources in missing
    )


def _nowhere(unread_books: Unread) -> str:
    """Return the line about a consumer that has no amount in nova's database, on the host or in Placement.

    If one of these three was not read completely, the line names the sources that could not be read.
    """
    if not unread_books:
        return "no amount of this consumer was found in nova's database, on this host or in Placement"
    unknown = ", ".join(
        f"its {book} amounts are unknown (not read: {', '.join(sources)})" for book, sources in unread_books.items()
    )
    return f"the sources that were read do not contain this consumer; {unknown}"
