"""Decide what ``stocktake explain`` shows: the three books of one class by reason, or all facts about one consumer.

A book is one system's list of amounts: *promised* (nova's database), *held* (libvirt, storage) or *recorded*
(Placement's allocations). A book whose source could not be read is unknown and has no amount. An unknown book has no
rows, and an empty book has none either, so only the status of the sources shows whether a book is unknown.

The agent keeps the promised and the held book only for the classes that a module of agent/resources computes for the
root provider (``owned``). For any other class these two books have no amount, which does not mean 0.

The parts of a book always add up to its amount. explain_text and explain_json render the result. Pure: no I/O.
"""

from __future__ import annotations

import dataclasses
import re
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import os_resource_classes

from agent.model.finding import LEAKING, SeenFinding
from agent.model.report import AuditReport, EvacuationNote, LedgerRow, SourceStatus, Verdict
from agent.model.snapshot import FILESYSTEM, LIBVIRT, LVM, PLACEMENT, STATE
from agent.text.wording import MEANINGS, NOT_COMPARED, ON_CHILDREN, UNDECIDED

# The books in the order of the output. The recorded book comes first, because its amount reduces the free capacity.
BOOKS = ("recorded", "promised", "held")
# A book is unknown if its source in _SOURCE was not read. The held book of a class is incomplete if its source in
# _STORAGE was not read.
_SOURCE = {"recorded": PLACEMENT, "promised": STATE, "held": LIBVIRT}
_STORAGE = {"DISK_GB": (LVM, FILESYSTEM)}
# For rows with one of these verdicts, ``Part.reason`` names the cause of the claim (such as ``instance``) and not the
# verdict, because the cause says more.
_PLAIN = frozenset({Verdict.AGREED, Verdict.RESERVED, Verdict.UNMANAGED})
_WITH_CAUSE = frozenset({Verdict.SETTLING, Verdict.UNKNOWN})
# The agent computes these two books only for classes of which a module of agent/resources computes the amounts.
_KEPT_BY_OWNER = frozenset({"promised", "held"})
_CLASS_NAME = re.compile(r"\w+\Z", re.ASCII)

# Maps a book's name to the names of its unreadable sources. A book whose sources were all read has no key.
Unread = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The sum of a book's amounts with the same ``reason``, and the keys of the consumers that have these amounts."""

    reason: str
    amount: int
    consumers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """Two sums over the rows with a known size: ``size_bytes`` in bytes, ``amount`` with each row's size rounded up."""

    amount: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """One book (promised, held or recorded) of one class.

    ``amount`` is None if unknown; ``problems`` are the errors of the book's sources.
    ``not_counted`` is the reason why the agent does not keep this book for this class. ``exact`` is None if no row has
    a size.
    """

    name: str
    amount: int | None
    parts: tuple[Part, ...]
    problems: tuple[str, ...] = ()
    not_counted: str | None = None
    exact: Exact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evacuated:
    """A finished evacuation of an instance from this host. The evacuation adds nothing to this host's books.

    ``amount`` is how much of the class the instance uses on its new host, None if unknown.
    ``recorded`` is the amount that Placement still records for the instance on this host, None if 0 or unknown.
    """

    note: EvacuationNote
    amount: int | None
    recorded: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassExplanation:
    """The explanation of one class. ``scope`` is the report reduced to the class's rows, findings and held-back writes.

    ``not_counted`` is the result of ``uncounted`` for the class. ``wasted`` is what Placement records here for
    instances that are deleted or have moved away, ``missing`` what the cloud promised and Placement does not record.
    """

    resource_class: str
    wasted: int
    missing: int
    books: tuple[Book, ...]
    not_counted: str | None
    evacuations: tuple[Evacuated, ...]
    scope: AuditReport


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerExplanation:
    """The explanation of one consumer. ``scope`` is the report reduced to the consumer, except for the inventory.

    ``not_counted`` is the result of ``all_uncounted``. ``unread`` maps each class of the consumer's rows to the result
    of ``unread_books``. ``unread_anywhere`` is the result of ``unread_books`` for all classes together.
    """

    consumer: str
    not_counted: Mapping[str, str]
    unread: Mapping[str, Unread]
    unread_anywhere: Unread
    evacuations: tuple[EvacuationNote, ...]
    scope: AuditReport


Explanation = ClassExplanation | ConsumerExplanation

# The type of the function ``owned`` (agent.resources): whether a module of agent/resources computes the class for the
# root provider.
Owned = Callable[[str], bool]


def explain_class(report: AuditReport, resource_class: str, owned: Owned) -> ClassExplanation:
    """Return the explanation of one class. Raises LookupError on a class that ``known_classes`` does not list."""
    if resource_class not in known_classes(report):
        raise LookupError(resource_class)
    scope = scope_of_class(report, resource_class)
    return ClassExplanation(
        resource_class=resource_class,
        wasted=_sum_of(scope, "recorded", Verdict.ALLOCATION_LEAKED, Verdict.ALLOCATION_STALE_MOVE),
        missing=_sum_of(scope, "promised", Verdict.ALLOCATION_MISSING),
        books=totals(report, resource_class, owned),
        not_counted=uncounted(report, resource_class, owned),
        evacuations=tuple(_evacuated(note, scope.ledger, resource_class) for note in report.evacuations),
        scope=scope,
    )


def _sum_of(scope: AuditReport, book: str, *verdicts: Verdict) -> int:
    rows = (row for row in scope.ledger if row.verdict in verdicts and not row.outside_tree)
    return sum(getattr(row, book) or 0 for row in rows)


def explain_consumer(report: AuditReport, consumer: str, owned: Owned) -> ConsumerExplanation:
    """Return all facts about ``consumer``: a uuid, or the key of a consumer without a uuid (``vg/lv``).

    Raises LookupError if the audit has no row, finding or evacuation for the consumer.
    """
    wanted = canonical(consumer)
    scope = scope_of_consumer(report, wanted)
    notes = tuple(note for note in report.evacuations if wanted in (note.instance_uuid, note.migration_uuid))
    if not (scope.ledger or scope.findings or notes):
        raise LookupError(consumer)
    # unread_books needs the whole report, because other consumers' rows show whether the promised book is known.
    return ConsumerExplanation(
        consumer=wanted,
        not_counted=all_uncounted(scope, owned),
        unread={row.resource_class: unread_books(report, row.resource_class) for row in scope.ledger},
        unread_anywhere=unread_books(report, *_STORAGE),
        evacuations=notes,
        scope=scope,
    )


def scope_of_class(report: AuditReport, resource_class: str) -> AuditReport:
    """Return the report, reduced to the rows, findings and held-back writes of the class."""
    held_back = tuple(held for held in report.plan.held_back if held.what == resource_class)
    return dataclasses.replace(
        report,
        ledger=tuple(row for row in report.ledger if row.resource_class == resource_class),
        inventory=tuple(
            row
            for row in report.inventory
            if resource_class in {i.resource_class for i in (row.wanted, row.recorded) if i}
        ),
        findings=tuple(seen for seen in report.findings if _is_about_class(seen, resource_class)),
        plan=dataclasses.replace(report.plan, held_back=held_back),
    )


def scope_of_consumer(report: AuditReport, consumer: str) -> AuditReport:
    """Return the report, reduced to the consumer's rows and findings; the inventory stays whole.

    ``consumer`` has the form that ``canonical`` returns.
    """
    found = (seen.finding for seen in report.findings)
    own = {each.id: each.code for each in found if consumer in (each.consumer_uuid, each.subject)}
    return dataclasses.replace(
        report,
        ledger=tuple(row for row in report.ledger if consumer in (row.consumer_uuid, row.consumer_key)),
        findings=tuple(seen for seen in report.findings if _is_about_consumer(seen, consumer, own)),
    )


def uncounted(report: AuditReport, resource_class: str, owned: Owned) -> str | None:
    """Return why the agent does not compute promised and held amounts of the class; None if it computes them."""
    if owned(resource_class):
        return None
    children = (row.wanted for row in report.inventory if row.provider_uuid != report.provider_uuid)
    return ON_CHILDREN if any(i and i.resource_class == resource_class for i in children) else UNDECIDED


def all_uncounted(report: AuditReport, owned: Owned) -> dict[str, str]:
    """Return {class: reason} for the classes of the report's ledger for which ``uncounted`` gives a reason."""
    whys = {name: uncounted(report, name, owned) for name in {row.resource_class for row in report.ledger}}
    return {name: why for name, why in whys.items() if why}


def meaning(row: LedgerRow, not_counted: str | None) -> str:
    """Return what the row's verdict means; ``not_counted`` is the result of ``uncounted`` for the row's class."""
    if row.verdict is Verdict.SETTLING and row.settling:
        return f"{row.settling}; the agent draws no conclusion before nova has finished"
    return not_counted if not_counted and row.verdict is Verdict.UNKNOWN else MEANINGS[row.verdict]


def verdict_word(row: LedgerRow) -> str:
    """Return the verdict's name for people; ``not-compared`` replaces ``unknown``."""
    return NOT_COMPARED if row.verdict is Verdict.UNKNOWN else row.verdict.value


def known_classes(report: AuditReport) -> frozenset[str]:
    """Return Placement's standard classes and every class that the report mentions."""
    offered = {i.resource_class for row in report.inventory for i in (row.wanted, row.recorded) if i}
    return frozenset(os_resource_classes.STANDARDS) | {row.resource_class for row in report.ledger} | offered


def is_class_name(text: str, report: AuditReport) -> bool:
    """Return whether ``text`` can be a class name.

    A class name has only letters, digits and "_". A text that is the uuid or key of a consumer is no class name.
    """
    if any(text in (row.consumer_key, row.consumer_uuid) for row in report.ledger):
        return False
    return bool(_CLASS_NAME.match(text)) and canonical(text) == text


def canonical(consumer: str) -> str:
    """Return a uuid as Placement writes it (lower case, with hyphens), and any other text unchanged."""
    try:
        return str(uuid.UUID(consumer))
    except ValueError:
        return consumer


def totals(report: AuditReport, resource_class: str, owned: Owned) -> tuple[Book, ...]:
    """Return the sums of one class in the three books (promised, held, recorded), as in ``stocktake ledger``."""
    # The ledger also has rows of leftover allocations on a sharing provider outside this host's tree. These rows do not
    # count in this host's books.
    rows = tuple(row for row in report.ledger if row.resource_class == resource_class and not row.outside_tree)
    not_counted = uncounted(report, resource_class, owned)
    return tuple(
        Book(name=name, amount=None, parts=(), not_counted=not_counted)
        if not_counted and name in _KEPT_BY_OWNER and all(getattr(row, name) is None for row in rows)
        else _book(name, report, rows, resource_class, not_counted)
        for name in BOOKS
    )


def unread(report: AuditReport) -> tuple[str, ...]:
    """Return one line for each source that could not be read, starting with the source's name."""
    return tuple(_named(*failed) for failed in _errors(report).items())


def unread_books(report: AuditReport, *resource_classes: str) -> Unread:
    """Return the sources that could not be read, for each book that is unknown or incomplete for these classes.

    In such a book, "no amount" does not mean 0: the source that could not be read may have an amount of the consumer.
    """
    missing = {book: _missing(book, report, resource_classes) for book in BOOKS}
    return {book: sources for book, sources in missing.items() if sources}


def unread_of_inventory(report: AuditReport, resource_class: str) -> tuple[str, ...]:
    """Return the sources that could not be read and that the agent needs for the class's inventory."""
    failed = _errors(report)
    return tuple(s for s in (PLACEMENT, LIBVIRT, *_STORAGE.get(resource_class, ())) if s in failed)


def _named(source: str, error: str) -> str:
    return error if error.startswith(source) else f"{source}: {error}"


def _is_about_class(seen: SeenFinding, resource_class: str) -> bool:
    finding = seen.finding
    if finding.resource_class is not None:
        return finding.resource_class == resource_class
    return any(claim.resource_class == resource_class for claim in finding.evidence)


def _is_about_consumer(seen: SeenFinding, consumer: str, own: Mapping[str, str]) -> bool:
    """Return whether the finding concerns the consumer.

    ``own`` has the findings that are directly about this consumer: {finding id: finding code}.
    """
    finding = seen.finding
    if finding.code == "over-capacity" and finding.resource_class is not None:
        # The evidence of over-capacity lists every consumer of the class. But over-capacity concerns only those
        # consumers that have a finding of their own (such as a leak) that causes the over-capacity.
        return any(root in own for root in seen.caused_by) or (
            not seen.caused_by and any(code in LEAKING for code in own.values())
        )
    claims = ((c.consumer.key, c.consumer.uuid, c.instance_uuid) for c in finding.evidence)
    return any(consumer in names for names in ((finding.consumer_uuid, finding.subject), *claims))


def _book(
    name: str, report: AuditReport, rows: tuple[LedgerRow, ...], resource_class: str, not_counted: str | None
) -> Book:
    known, failed = _is_known(name, report), _errors(report)
    parts = _parts(name, rows, not_counted) if known else ()
    return Book(
        name=name,
        amount=sum(part.amount for part in parts) if known else None,
        parts=parts,
        problems=tuple(_named(source, failed[source]) for source in _missing(name, report, (resource_class,))),
        exact=_exact(rows) if known and name == "held" else None,
    )


def _exact(rows: Iterable[LedgerRow]) -> Exact | None:
    """Return the exact size of the held amounts, None if no row has a size. The other books have only whole units."""
    sized = [(row.held, row.size_bytes) for row in rows if row.held is not None and row.size_bytes is not None]
    return Exact(amount=sum(held for held, _ in sized), size_bytes=sum(size for _, size in sized)) if sized else None


def _parts(book: str, rows: Iterable[LedgerRow], not_counted: str | None) -> tuple[Part, ...]:
    """Return one part for each reason.

    The reasons of _PLAIN verdicts come first, then all others. Each of the two groups begins with the largest amount.
    """
    grouped: dict[tuple[bool, str], list[tuple[str, int]]] = defaultdict(list)
    for row in rows:
        value = getattr(row, book)
        if value is not None:
            grouped[row.verdict not in _PLAIN, _reason(row, not_counted)].append((row.consumer_key, value))
    ordered = sorted(grouped.items(), key=lambda item: (item[0][0], -sum(v for _, v in item[1]), item[0][1]))
    return tuple(
        Part(reason=reason, amount=sum(v for _, v in found), consumers=tuple(sorted(key for key, _ in found)))
        for (_, reason), found in ordered
    )


def _reason(row: LedgerRow, not_counted: str | None) -> str:
    if row.verdict in _PLAIN:
        return row.cause
    word = NOT_COMPARED if not_counted and row.verdict is Verdict.UNKNOWN else row.verdict.value
    return f"{row.cause}, {word}" if row.verdict in _WITH_CAUSE else word


def _errors(report: AuditReport) -> dict[str, str]:
    return {source.name: _why_unread(source) for source in report.sources if not source.ok}


def _why_unread(source: SourceStatus) -> str:
    if not source.asked:
        return f"{source.name} not asked: {source.not_asked_because or 'another source is unread'}"
    return source.error or "no answer"


def _is_known(book: str, report: AuditReport) -> bool:
    failed = _errors(report)
    if book == "promised" and LIBVIRT in failed:
        # The promised book needs libvirt too. Without nova, libvirt's domains define what is promised. With nova,
        # libvirt names the node, and without the node's name no row of nova can be assigned to this host.
        return STATE not in failed and any(row.promised is not None for row in report.ledger)
    return _SOURCE[book] not in failed


def _missing(book: str, report: AuditReport, resource_classes: Iterable[str]) -> tuple[str, ...]:
    failed = _errors(report)
    wanted = [_SOURCE[book]]
    if book == "held":
        wanted.extend(source for name in resource_classes for source in _STORAGE.get(name, ()))
    if book == "promised" and not _is_known(book, report):
        wanted.append(LIBVIRT)
    return tuple(source for source in wanted if source in failed)


def _evacuated(note: EvacuationNote, rows: Iterable[LedgerRow], resource_class: str) -> Evacuated:
    amounts = {"VCPU": note.vcpus, "MEMORY_MB": note.memory_mib}
    counted = [row.recorded for row in rows if row.consumer_key == note.instance_uuid and row.recorded]
    return Evacuated(note=note, amount=amounts.get(resource_class), recorded=sum(counted) if counted else None)
