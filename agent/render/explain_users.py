"""Show how much of one resource class each consumer uses: one table for each book.

Pure: no I/O.

The three books are "promised" (nova's database), "held" (libvirt, storage) and "recorded" (Placement's allocations). In
each table, the consumers about which the books disagree come first. Books with the same consumers and the same amounts
share one table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from agent.model.report import LedgerRow, Verdict
from agent.render.explain import Book, ClassExplanation, verdict_word
from agent.render.layout import Block, Column, Grid, Kind, line
from agent.render.ledger_grid import IN_ORDER
from agent.text.amounts import beside_its_class
from agent.text.wording import FEW, MEANINGS, some_of

_COLUMNS = (
    Column("amount", "", Kind.NUMBER),
    Column("who", "", Kind.TEXT, readable=24),
    Column("verdict", "", toned=True),
    Column("why", "", Kind.TEXT),
)
_INDENT = 4
# Consumers with one of these verdicts share a row, because the operator need not see them one by one.
_TOGETHER = (*IN_ORDER, Verdict.UNKNOWN)
_PLURALS = {"instance": "instances", "recorded-only": "consumers"}
_Cells = tuple[str, str, str, str]


def users(explanation: ClassExplanation) -> Iterator[Block]:
    """Yield a table of the consumers that use the class, with the amounts in Placement.

    If nova's database ("promised") or the host ("held") has other amounts, another table with a title shows them.
    """
    tables = [(book, _users_of(explanation, book)) for book in explanation.books if book.amount is not None]
    titled: dict[tuple[_Cells, ...], list[Book]] = defaultdict(list)
    for book, rows in tables:
        titled[rows].append(book)
    for rows, books in titled.items():
        if not rows:
            continue
        if _is_uncompared(explanation, books[0]):
            yield from (line(_uncompared(explanation, each), hang=2) for each in books)
        elif books[0].name != "recorded":
            names = (f"{each.name} {beside_its_class(explanation.resource_class, each.amount or 0)}" for each in books)
            yield line(f"{', '.join(names)}:", hang=2)
        yield Grid(columns=_COLUMNS, rows=rows, indent=_INDENT)


def _is_uncompared(explanation: ClassExplanation, book: Book) -> bool:
    """Return whether no amount in ``book`` could be compared, because Placement was not read."""
    recorded = next(each for each in explanation.books if each.name == "recorded")
    rows = _rows(explanation, book)
    return recorded.amount is None and all(row.verdict is Verdict.UNKNOWN for row in rows)


def _uncompared(explanation: ClassExplanation, book: Book) -> str:
    """Return one line for all amounts: ``VCPU promised 16 (4 instances; not compared, Placement was not read)``."""
    causes: dict[str, int] = defaultdict(int)
    for row in _rows(explanation, book):
        causes[row.cause] += 1
    users = ", ".join(
        f"{count} {_PLURALS.get(cause, cause) if count > 1 else cause}" for cause, count in causes.items()
    )
    name = explanation.resource_class
    total = f"{name} {book.name} {beside_its_class(name, book.amount or 0)}"
    return f"{total} ({users}; not compared, Placement was not read)"


def _rows(explanation: ClassExplanation, book: Book) -> list[LedgerRow]:
    return [row for row in explanation.scope.ledger if getattr(row, book.name) is not None and not row.outside_tree]


def _users_of(explanation: ClassExplanation, book: Book) -> tuple[_Cells, ...]:
    """Return the rows of the table.

    A group is all consumers with the same cause and the same verdict. A group has one row if its verdict is in
    ``_TOGETHER`` or if it has more than ``FEW`` consumers. In any other group, each consumer has a row of its own.
    """
    grouped: dict[tuple[bool, str, Verdict], list[LedgerRow]] = defaultdict(list)
    for row in _rows(explanation, book):
        grouped[row.verdict in _TOGETHER, row.cause, row.verdict].append(row)
    found: list[tuple[bool, int, _Cells]] = []
    for (together, _, _), rows in grouped.items():
        alone = len(rows) == 1 or (len(rows) <= FEW and not together)
        parts = [[row] for row in rows] if alone else [rows]
        found.extend((together, -_sum(part, book), _cells(explanation, part, book)) for part in parts)
    return tuple(cells for _, _, cells in sorted(found))


def _sum(rows: Sequence[LedgerRow], book: Book) -> int:
    return sum(getattr(row, book.name) or 0 for row in rows)


def _cells(explanation: ClassExplanation, rows: Sequence[LedgerRow], book: Book) -> _Cells:
    first = rows[0]
    total = beside_its_class(explanation.resource_class, _sum(rows, book))
    return total, _who(rows), verdict_word(first), _why(first, explanation)


def _who(rows: Sequence[LedgerRow]) -> str:
    first = rows[0]
    if len(rows) == 1:
        named = first.consumer_name and first.consumer_name != first.consumer_key
        return f"{first.consumer_name} {first.consumer_key}" if named else first.consumer_key
    what = f"{len(rows)} {_PLURALS.get(first.cause, first.cause)}"
    # uuids are not listed, because a list of many uuids would make the amounts hard to find. ``-v`` and
    # ``stocktake ledger`` list them.
    names = sorted(row.consumer_name or row.consumer_key for row in rows if row.consumer_name or not row.consumer_uuid)
    return what if first.cause == "instance" or len(names) < len(rows) else f"{what}: {some_of(names)}"


def _why(row: LedgerRow, explanation: ClassExplanation) -> str:
    """Return why the amount is wrong, with the instance's host if that is known; "" if nothing is wrong."""
    if row.verdict in IN_ORDER:
        return row.settling
    if row.verdict is Verdict.UNKNOWN:
        # If the agent does not compare amounts of this resource class, a line below the tables already says why.
        return "" if explanation.not_counted else "one of the sources to compare could not be read"
    host = _hosts(explanation).get(row.consumer_key)
    if row.verdict is Verdict.ALLOCATION_STALE_MOVE and host:
        return f"the instance lives on {host}"
    return MEANINGS[row.verdict]


def _hosts(explanation: ClassExplanation) -> Mapping[str, str]:
    """Return the present host of each instance that moved away. Evacuations and findings name these hosts."""
    evacuated = {each.note.instance_uuid: each.note.dest_host for each in explanation.evacuations}
    facts = ((seen.finding.consumer_uuid, dict(seen.finding.facts)) for seen in explanation.scope.findings)
    return evacuated | {uuid: str(each["instance_host"]) for uuid, each in facts if uuid and each.get("instance_host")}
