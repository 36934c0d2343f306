"""Divide each book of each resource class into parts: instances, moves, reserve, unmanaged use, wrong. Pure.

The books are promised (nova's database), held (libvirt, storage) and recorded (Placement's allocations).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from agent.model.claim import UNMANAGED_CAUSES, Cause
from agent.model.own_consumers import OWN_KIND
from agent.model.report import InventoryRow, LedgerRow, Verdict
from agent.pages.bars import Part
from agent.pages.blocks import Meaning
from agent.pages.host.facts import HostFacts
from agent.render.explain import uncounted, unread_books
from agent.resources import owned

BOOKS = ("promised", "held", "recorded")
FIRST_CLASSES = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB")
INSTANCES, MOVES, RESERVE, UNMANAGED, WRONG = "instances", "moves and holds", "host's reserve", "unmanaged", "wrong"
#: The parts of a bar from left to right.
ORDER = (
    (INSTANCES, Meaning.COUNTED),
    (MOVES, Meaning.MOVING),
    (RESERVE, Meaning.RESERVED),
    (UNMANAGED, Meaning.FOREIGN),
    (WRONG, Meaning.WRONG),
)
_MOVES = frozenset({Cause.MIGRATION_IN.value, Cause.REVERT_HOLD.value, Cause.RESIZE_HERE.value})
_UNMANAGED = frozenset(cause.value for cause in UNMANAGED_CAUSES)
_WRONG = frozenset(
    {
        Verdict.ALLOCATION_LEAKED,
        Verdict.ALLOCATION_STALE_MOVE,
        Verdict.CONSUMER_UNKNOWN,
        Verdict.USAGE_UNLISTED,
        Verdict.GUEST_UNKNOWN,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """One book of one class: its parts from left to right, or the unread sources if the book is not known.

    ``not_counted``: the agent does not count this class in this book, so the amounts are not known. ``lacking`` (only
    in the recorded book): the amount that the cloud promised and Placement does not record.
    """

    name: str
    parts: tuple[Part, ...] = ()
    lacking: int = 0
    unread: tuple[str, ...] = ()
    not_counted: bool = False

    @property
    def is_known(self) -> bool:
        """Whether the amounts of the book are known."""
        return not self.unread and not self.not_counted

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return sum(part.amount for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassBooks:
    """One resource class: its three books, and the capacity of the host's providers (None if not known).

    ``is_offered``: Placement has an inventory of the class. Otherwise ``capacity`` is what the agent would publish.
    """

    resource_class: str
    capacity: float | None
    books: tuple[Book, ...]
    is_offered: bool = True

    @property
    def free(self) -> float | None:
        """What the scheduler can still allocate: capacity minus recorded.

        None if unknown, or if Placement has no inventory.
        """
        recorded = next((book for book in self.books if book.name == "recorded"), None)
        if not self.is_offered or self.capacity is None or recorded is None or not recorded.is_known:
            return None
        return self.capacity - recorded.total


def class_books(facts: HostFacts) -> tuple[ClassBooks, ...]:
    """Return the classes of the host: VCPU, PCPU, MEMORY_MB, DISK_GB first, then by name."""
    rows: dict[str, list[LedgerRow]] = defaultdict(list)
    for row in facts.report.ledger:
        if not row.outside_tree:
            rows[row.resource_class].append(row)
    offers: dict[str, list[InventoryRow]] = defaultdict(list)
    for offer in facts.report.inventory:
        if name := _class_of(offer):
            offers[name].append(offer)
    return tuple(
        ClassBooks(
            resource_class=name,
            capacity=_capacity(offers[name]),
            is_offered=any(offer.recorded for offer in offers[name]),
            books=tuple(_book(book, name, rows[name], facts) for book in BOOKS),
        )
        for name in sorted({*rows, *offers}, key=class_place)
    )


def class_place(name: str) -> tuple[int, str]:
    """Return a key that sorts VCPU, PCPU, MEMORY_MB and DISK_GB first, and then by name."""
    return (FIRST_CLASSES.index(name) if name in FIRST_CLASSES else len(FIRST_CLASSES), name)


def unread_classes(facts: HostFacts) -> tuple[ClassBooks, ...]:
    """Return VCPU, MEMORY_MB and DISK_GB with unknown amounts; () if the audit could read every source."""
    unread = tuple(source.name for source in facts.unread_sources)
    books = tuple(Book(name=name, unread=unread) for name in BOOKS)
    classes = ("VCPU", "MEMORY_MB", "DISK_GB") if unread else ()
    return tuple(ClassBooks(resource_class=name, capacity=None, books=books) for name in classes)


def _class_of(row: InventoryRow) -> str:
    inventory = row.wanted or row.recorded
    return inventory.resource_class if inventory else ""


def _capacity(rows: Iterable[InventoryRow]) -> float | None:
    """Return the sum of the capacities.

    If Placement does not have an inventory, the inventory that the agent wants counts.
    """
    shown = [row.recorded or row.wanted for row in rows]
    return sum(each.capacity for each in shown if each) if shown else None


def _book(name: str, resource_class: str, rows: Iterable[LedgerRow], facts: HostFacts) -> Book:
    unread = unread_books(facts.report, resource_class).get(name, ())
    sums: dict[str, int] = defaultdict(int)
    lacking = 0
    for row in rows:
        for part, amount in _parts(row, name):
            sums[part] += amount
        if name == "recorded":
            lacking += _lacking(row)
    if unread:
        return Book(name=name, unread=unread)
    if name != "recorded" and uncounted(facts.report, resource_class, owned):
        return Book(name=name, not_counted=True)
    return Book(
        name=name,
        parts=tuple(Part(name=part, meaning=meaning, amount=sums[part]) for part, meaning in ORDER),
        lacking=lacking,
    )


def _parts(row: LedgerRow, book: str) -> Iterable[tuple[str, int]]:
    amount: int | None = getattr(row, book)
    if not amount:
        return ()
    excess = max(0, amount - (row.promised or 0)) if book == "recorded" else 0
    if row.verdict is Verdict.ALLOCATION_DIFFERS and excess:
        return ((_part_of(row), amount - excess), (WRONG, excess))
    return ((WRONG if row.verdict in _WRONG else _part_of(row), amount),)


def _part_of(row: LedgerRow) -> str:
    causes = set(row.cause.split("+"))
    if row.verdict is Verdict.RESERVED:
        return RESERVE
    if causes & _UNMANAGED or row.consumer_kind == OWN_KIND or row.verdict is Verdict.OTHER_SERVICE:
        return UNMANAGED
    return MOVES if causes & _MOVES else INSTANCES


def _lacking(row: LedgerRow) -> int:
    if row.verdict is Verdict.ALLOCATION_MISSING:
        return row.promised or 0
    if row.verdict is Verdict.ALLOCATION_DIFFERS:
        return max(0, (row.promised or 0) - (row.recorded or 0))
    return 0
