"""Divide the amounts of each resource class into parts: instances, moves, reserve, unmanaged use, and wrong amounts.

Three sources have such amounts: nova's database (promised), the host (held), and Placement's allocations (recorded).
The amounts of one source are called a book.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agent.books.uncovered import UNMANAGED as UNMANAGED_NAMES
from agent.books.uncovered import own_reserve
from agent.model.claim import Cause
from agent.model.own_consumers import OWN_KIND
from agent.model.placement import Inventory
from agent.model.report import InventoryRow, LedgerRow, Verdict
from agent.pages.bars import Part
from agent.pages.blocks import Meaning
from agent.pages.host.facts import HostFacts
from agent.pages.sizes import class_place
from agent.render.explain import uncounted, unread_books
from agent.resources import owned

BOOKS = ("promised", "held", "recorded")
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
    """The amounts of one resource class in one source: promised (nova's database), held (host), recorded (Placement).

    ``parts`` are the parts of the page's bar, from left to right. The amounts are not known in two cases. ``unread``:
    needed sources that could not be read. ``not_counted``: the agent never counts this class in this source.

    ``lacking`` (only for recorded): the amount that nova's database has and Placement does not record.
    """

    name: str
    parts: tuple[Part, ...] = ()
    lacking: int = 0
    unread: tuple[str, ...] = ()
    not_counted: bool = False

    @property
    def is_known(self) -> bool:
        """Whether the amounts are known."""
        return not self.unread and not self.not_counted

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return sum(part.amount for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassBooks:
    """One resource class: the inventory of the host's providers, and the amounts promised, held and recorded.

    ``whole`` is total x allocation ratio. ``reserve`` is reserved x ratio. ``whole`` and each of the ``books`` include
    the reserve. ``whole`` and ``reserve`` are None if they are not known. ``is_offered``: Placement has an inventory of
    the class. If False, ``whole`` and ``reserve`` are computed from the inventory that the agent wants. ``offers`` are
    (total, ratio) of each provider's inventory. ``used`` is Placement's own sum of the allocations. ``listed`` is the
    sum of the single allocations in the audit's report. Both are None if they are not known.
    """

    resource_class: str
    whole: float | None
    books: tuple[Book, ...]
    reserve: float | None = None
    is_offered: bool = True
    offers: tuple[tuple[int, float], ...] = ()
    used: int | None = None
    listed: int | None = None

    @property
    def capacity(self) -> float | None:
        """What Placement can allocate to consumers, (total - reserved) x ratio; None if it is not known."""
        return None if self.whole is None else self.whole - (self.reserve or 0.0)

    @property
    def free(self) -> float | None:
        """The amount that the scheduler can still allocate, which may be negative.

        None if the amount is unknown, or if Placement has no inventory of the class.
        """
        recorded = next((book for book in self.books if book.name == "recorded"), None)
        if not self.is_offered or self.whole is None or recorded is None or not recorded.is_known:
            return None
        return self.whole - recorded.total


def class_books(facts: HostFacts) -> tuple[ClassBooks, ...]:
    """Return the classes of the host: VCPU, PCPU, MEMORY_MB, DISK_GB first, then the others by name."""
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
            whole=_offered(offers[name], lambda each: each.total),
            reserve=_offered(offers[name], lambda each: each.reserved),
            offers=tuple((each.total, each.allocation_ratio) for each in _shown(offers[name])),
            used=_used(offers[name]),
            listed=sum(row.recorded or 0 for row in rows[name]),
            is_offered=any(offer.recorded for offer in offers[name]),
            books=tuple(_book(book, name, rows[name], offers[name], facts) for book in BOOKS),
        )
        for name in sorted({*rows, *offers}, key=class_place)
    )


def unread_classes(facts: HostFacts) -> tuple[ClassBooks, ...]:
    """Return VCPU, MEMORY_MB and DISK_GB with unknown amounts, for a report that has no amounts.

    Return () if the audit could read every source: then the host really has no amounts.
    """
    unread = tuple(source.name for source in facts.unread_sources)
    books = tuple(Book(name=name, unread=unread) for name in BOOKS)
    classes = ("VCPU", "MEMORY_MB", "DISK_GB") if unread else ()
    return tuple(ClassBooks(resource_class=name, whole=None, books=books) for name in classes)


def _class_of(row: InventoryRow) -> str:
    inventory = row.wanted or row.recorded
    return inventory.resource_class if inventory else ""


def _offered(rows: Sequence[InventoryRow], amount_of: Callable[[Inventory], int]) -> float | None:
    """Return the sum of (amount x allocation ratio) over the inventories of ``rows``; None if ``rows`` is empty.

    ``amount_of`` returns the amount of an inventory, such as its total. The function uses the
    inventory that Placement has for the row; if Placement has no inventory, the inventory that the agent wants.
    """
    return sum(amount_of(each) * each.allocation_ratio for each in _shown(rows)) if rows else None


def _shown(rows: Iterable[InventoryRow]) -> list[Inventory]:
    return [each for row in rows if (each := row.recorded or row.wanted)]


def _used(rows: Sequence[InventoryRow]) -> int | None:
    known = [row.used for row in rows if row.used is not None]
    return sum(known) if rows and len(known) == len(rows) else None


def _book(
    name: str, resource_class: str, rows: Sequence[LedgerRow], offers: Sequence[InventoryRow], facts: HostFacts
) -> Book:
    unread = unread_books(facts.report, resource_class).get(name, ())
    if unread:
        return Book(name=name, unread=unread)
    if name != "recorded" and uncounted(facts.report, resource_class, owned):
        return Book(name=name, not_counted=True)
    sums: dict[str, float] = defaultdict(float)
    ratio = _ratio(offers)
    for part, amount in (*_reserves(name, offers), *(each for row in rows for each in _parts(row, name, ratio))):
        sums[part] += amount
    return Book(
        name=name,
        parts=tuple(Part(name=part, meaning=meaning, amount=sums[part]) for part, meaning in ORDER),
        lacking=sum(map(_lacking, rows)) if name == "recorded" else 0,
    )


def _reserves(book: str, offers: Iterable[InventoryRow]) -> Iterable[tuple[str, float]]:
    """Yield the parts of the reserved amount as (name, amount x ratio). The name is RESERVE or UNMANAGED.

    RESERVE is what the operator reserves for the host itself. UNMANAGED is the rest of Placement's ``reserved``, for
    use that the cloud does not know. Only the book "recorded" has this part.
    """
    for offer in offers:
        shown = offer.recorded or offer.wanted
        if shown is None:
            continue
        own = own_reserve(offer) if offer.terms else shown.reserved
        if book != "recorded":
            yield RESERVE, own * shown.allocation_ratio
        elif offer.recorded is not None:
            yield RESERVE, min(own, shown.reserved) * shown.allocation_ratio
            yield UNMANAGED, max(0, shown.reserved - own) * shown.allocation_ratio


def _ratio(offers: Iterable[InventoryRow]) -> float:
    shown = next((each for row in offers if (each := row.recorded or row.wanted)), None)
    return shown.allocation_ratio if shown else 1.0


def _parts(row: LedgerRow, book: str, ratio: float) -> Iterable[tuple[str, float]]:
    amount: int | None = getattr(row, book)
    if not amount or row.verdict is Verdict.RESERVED:
        # Leave out the ledger's reserve rows: ``_reserves`` already counts the reserve, multiplied by the ratio.
        return ()
    if book == "held" and row.size_bytes is not None and _part_of(row) == UNMANAGED:
        # Placement must reserve the volume's full size, and each reserved GiB reduces the capacity by 1 GiB x ratio. So
        # the volume costs its size x ratio, and the bar shows this amount.
        return ((WRONG if row.verdict in _WRONG else UNMANAGED, row.size_bytes / (1 << 30) * ratio),)
    excess = max(0, amount - (row.promised or 0)) if book == "recorded" else 0
    if row.verdict is Verdict.ALLOCATION_DIFFERS and excess:
        return ((_part_of(row), amount - excess), (WRONG, excess))
    return ((WRONG if row.verdict in _WRONG else _part_of(row), amount),)


def _part_of(row: LedgerRow) -> str:
    causes = set(row.cause.split("+"))
    if causes & UNMANAGED_NAMES or row.consumer_kind == OWN_KIND or row.verdict is Verdict.OTHER_SERVICE:
        return UNMANAGED
    return MOVES if causes & _MOVES else INSTANCES


def _lacking(row: LedgerRow) -> int:
    if row.verdict is Verdict.ALLOCATION_MISSING:
        return row.promised or 0
    if row.verdict is Verdict.ALLOCATION_DIFFERS:
        return max(0, (row.promised or 0) - (row.recorded or 0))
    return 0
