"""Show the rows of ``stocktake ledger`` to people, with the totals of each class below the table. Pure: no I/O.

Three columns have amounts: PROMISED (by nova's database), HELD (by libvirt and storage), RECORDED (by Placement).
A cell is empty if the consumer has no such amount. A cell is ``-`` if the amount is not known: its source could not be
read, or the agent does not compute it for the class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from agent.model.report import AuditReport, LedgerRow, Verdict
from agent.render.cells import NOT_KNOWN
from agent.render.explain import Book, Unread, all_uncounted, totals, unread, unread_books, verdict_word
from agent.render.layout import Column, Grid, Kind, Line, line
from agent.resources import owned
from agent.text.amounts import beside_its_class
from agent.text.wording import NOT_COUNTED

#: The verdicts of rows in which nothing is wrong.
IN_ORDER = (Verdict.AGREED, Verdict.RESERVED, Verdict.SETTLING)
# The columns of amounts, in order: what nova promised, what is used on the host, what Placement recorded.
_BOOKS = ("promised", "held", "recorded")
_COLUMNS = (
    Column("consumer_name", "CONSUMER", Kind.NAME, readable=10),
    Column("consumer_uuid", "UUID", Kind.UUID),
    Column("resource_class", "CLASS"),
    *(Column(book, book.upper(), Kind.NUMBER) for book in _BOOKS),
    Column("verdict", "VERDICT", toned=True),
    Column("cause", "CAUSE"),
    Column("provider", "PROVIDER", Kind.NAME),
    Column("source", "SOURCE", Kind.TEXT),
)
_LEAVE_OUT = ("source", "provider", "cause", "consumer_uuid", "held", "promised")


def is_differing(row: LedgerRow) -> bool:
    """Return whether the row's verdict asks for attention."""
    return row.verdict not in IN_ORDER


def reading_place(row: LedgerRow) -> tuple[bool, str, str, str]:
    """Return the row's sort key: rows with a problem first, then by consumer name and class."""
    return (not is_differing(row), row.consumer_name or row.consumer_key, row.consumer_key, row.resource_class)


def ledger_grid(report: AuditReport, rows: Sequence[LedgerRow]) -> Grid:
    """Return the table with the ledger rows ``rows`` of the report."""
    not_counted = all_uncounted(report, owned)
    missing = {name: unread_books(report, name) for name in {row.resource_class for row in rows}}
    return Grid(
        columns=_COLUMNS,
        rows=tuple(_cells(row, not_counted.get(row.resource_class), missing[row.resource_class]) for row in rows),
        leave_out=_LEAVE_OUT,
    )


def ledger_foot(report: AuditReport, rows: Sequence[LedgerRow]) -> Iterator[Line]:
    """Yield the totals of each class, what ``-`` means, and how many of the report's rows are not in ``rows``."""
    classes = sorted({row.resource_class for row in report.ledger})
    for name in classes:
        yield line(_total(name, totals(report, name, owned)), hang=2)
    not_counted = all_uncounted(report, owned)
    for why in sorted(set(not_counted.values())):
        yield line(f"{', '.join(sorted(c for c, each in not_counted.items() if each == why))}: {why}", hang=2)
    yield from (line(f'"-" means not known: {problem}', hang=2) for problem in unread(report))
    left = Counter(row.verdict.value for row in report.ledger) - Counter(row.verdict.value for row in rows)
    if left:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in left.most_common())
        yield line(f"{_rows(left.total())} left out: {counts}", hang=2)
    if not classes:
        far = ", as far as the sources could be read" if unread(report) else ""
        yield line(f"no consumer was found in nova's database, on this host or in Placement{far}", hang=2)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _cells(row: LedgerRow, not_counted: str | None, missing: Unread) -> tuple[str, ...]:
    # A volume that the cloud does not know has no uuid; the row's key is the name of the volume.
    name = row.consumer_name or ("" if row.consumer_uuid else row.consumer_key)
    books = (_amount(row, book, not_counted, missing) for book in _BOOKS)
    return (
        name,
        row.consumer_uuid or "",
        row.resource_class,
        *books,
        verdict_word(row),
        row.cause,
        row.provider,
        row.source,
    )


def _amount(row: LedgerRow, book: str, not_counted: str | None, missing: Unread) -> str:
    value = getattr(row, book)
    if value is not None:
        return beside_its_class(row.resource_class, value)
    return NOT_KNOWN if book in missing or (not_counted and book != "recorded") else ""


def _total(name: str, books: Iterable[Book]) -> str:
    cells: Mapping[str, str] = {book.name: _sum(name, book) for book in books}
    return f"total {name}: " + ", ".join(f"{book} {cells[book]}" for book in _BOOKS)


def _sum(name: str, book: Book) -> str:
    if book.not_counted:
        return NOT_COUNTED
    return "unknown" if book.amount is None else beside_its_class(name, book.amount)
