"""Decide what ``explain`` says: one class's three books taken apart by reason, or all that is known of one consumer.

A book whose source could not be read is unknown and has no amount: an empty book
and an unread one look alike in the rows, so the sources decide. Nor has one that
nobody keeps: what is promised and held is counted of the classes that a resource of
ours decides on the root (``owned``), of all others nothing is, which is not 0. The
parts of a book always add up to its amount. explain_text and explain_json write it
down. Pure.
"""

from __future__ import annotations

import dataclasses
import re
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import os_resource_classes

from agent.model.finding import SeenFinding
from agent.model.report import AuditReport, EvacuationNote, LedgerRow, Verdict
from agent.model.snapshot import FILESYSTEM, LIBVIRT, LVM, PLACEMENT, STATE
from agent.text.wording import MEANINGS, NOT_COMPARED, ON_CHILDREN, UNDECIDED

# In the order in which an operator asks: what the scheduler subtracts comes first.
BOOKS = ("recorded", "promised", "held")
# The one source without which a book is unknown, and those without which it is incomplete.
_SOURCE = {"recorded": PLACEMENT, "promised": STATE, "held": LIBVIRT}
_STORAGE = {"DISK_GB": (LVM, FILESYSTEM)}
# Verdicts that say less than the cause does.
_PLAIN = frozenset({Verdict.AGREED, Verdict.RESERVED, Verdict.UNMANAGED})
_WITH_CAUSE = frozenset({Verdict.SETTLING, Verdict.UNKNOWN})
# Books that only a resource's own module keeps.
_KEPT_BY_OWNER = frozenset({"promised", "held"})
_CLASS_NAME = re.compile(r"\w+\Z", re.ASCII)


# Book -> the sources that were not read and that may have more of it; a book that was read as a whole is not in it.
Unread = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Consumers of one book that count for the same reason; ``consumers`` are sorted keys, one a row."""

    reason: str
    amount: int
    consumers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """``amount`` of a book was rounded up, consumer by consumer, from ``size_bytes`` in all."""

    amount: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """One book of one class. ``amount`` is None where it is unknown; ``problems`` are errors of its sources.

    ``not_counted`` says why where nobody keeps this book of this class. ``exact`` is None where nothing has a size.
    """

    name: str
    amount: int | None
    parts: tuple[Part, ...]
    problems: tuple[str, ...] = ()
    not_counted: str | None = None
    exact: Exact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evacuated:
    """A finished evacuation: ``amount`` is what its instance takes where it lives now; it contributes 0 here.

    ``recorded`` is what Placement still counts for it here, None where that is nothing or unknown.
    """

    note: EvacuationNote
    amount: int | None
    recorded: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassExplanation:
    """``scope`` is the report cut down to this class: its ledger and inventory rows, findings, what was held back.

    ``not_counted``: as ``uncounted`` says it of the class.
    """

    resource_class: str
    books: tuple[Book, ...]
    not_counted: str | None
    evacuations: tuple[Evacuated, ...]
    scope: AuditReport


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerExplanation:
    """``scope`` is the report cut down to this consumer; ``evacuations`` are of this instance.

    ``not_counted``: as ``uncounted`` says it of the classes of its rows. ``unread``: as ``unread_books`` says it of
    each of them; ``unread_anywhere``: of all classes that a consumer may hold.
    """

    consumer: str
    not_counted: Mapping[str, str]
    unread: Mapping[str, Unread]
    unread_anywhere: Unread
    evacuations: tuple[EvacuationNote, ...]
    scope: AuditReport


Explanation = ClassExplanation | ConsumerExplanation

# Whether a resource of ours decides that class on the root (agent.resources; telemetry decides nothing itself).
Owned = Callable[[str], bool]


def explain_class(report: AuditReport, resource_class: str, owned: Owned) -> ClassExplanation:
    """The arithmetic of one class. Raises LookupError on a class that ``known_classes`` does not list."""
    if resource_class not in known_classes(report):
        raise LookupError(resource_class)
    scope = scope_of_class(report, resource_class)
    return ClassExplanation(
        resource_class=resource_class,
        books=totals(report, resource_class, owned),
        not_counted=uncounted(report, resource_class, owned),
        evacuations=tuple(_evacuated(note, scope.ledger, resource_class) for note in report.evacuations),
        scope=scope,
    )


def explain_consumer(report: AuditReport, consumer: str, owned: Owned) -> ConsumerExplanation:
    """All that the audit knows of a consumer: a uuid, or the key of what has none (``vg/lv``). Raises LookupError."""
    wanted = canonical(consumer)
    scope = scope_of_consumer(report, wanted)
    notes = tuple(note for note in report.evacuations if wanted in (note.instance_uuid, note.migration_uuid))
    if not (scope.ledger or scope.findings or notes):
        raise LookupError(consumer)
    # Of the whole report: whether a promise is known, other consumers' rows say.
    return ConsumerExplanation(
        consumer=wanted,
        not_counted=all_uncounted(scope, owned),
        unread={row.resource_class: unread_books(report, row.resource_class) for row in scope.ledger},
        unread_anywhere=unread_books(report, *_STORAGE),
        evacuations=notes,
        scope=scope,
    )


def scope_of_class(report: AuditReport, resource_class: str) -> AuditReport:
    """The report cut down to that class."""
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
    """The report cut down to that consumer, in the spelling of ``canonical``; the inventory is whole."""
    return dataclasses.replace(
        report,
        ledger=tuple(row for row in report.ledger if consumer in (row.consumer_uuid, row.consumer_key)),
        findings=tuple(seen for seen in report.findings if _is_about_consumer(seen, consumer)),
    )


def uncounted(report: AuditReport, resource_class: str, owned: Owned) -> str | None:
    """Why nothing promised or held of the class is counted; None where it is."""
    if owned(resource_class):
        return None
    children = (row.wanted for row in report.inventory if row.provider_uuid != report.provider_uuid)
    return ON_CHILDREN if any(i and i.resource_class == resource_class for i in children) else UNDECIDED


def all_uncounted(report: AuditReport, owned: Owned) -> dict[str, str]:
    """The same of every class in the report's ledger; those that are counted are left out."""
    said = {name: uncounted(report, name, owned) for name in {row.resource_class for row in report.ledger}}
    return {name: why for name, why in said.items() if why}


def meaning(row: LedgerRow, not_counted: str | None) -> str:
    """What the row's verdict says; ``not_counted`` is of its class."""
    return not_counted if not_counted and row.verdict is Verdict.UNKNOWN else MEANINGS[row.verdict]


def verdict_word(row: LedgerRow, not_counted: str | None) -> str:
    """The verdict's name for people: one book alone compares with nothing."""
    return NOT_COMPARED if not_counted and row.verdict is Verdict.UNKNOWN else row.verdict.value


def known_classes(report: AuditReport) -> frozenset[str]:
    """Placement's standard classes, and every class that the report mentions."""
    listed = {r.resource_class for r in report.ledger}
    for row in report.inventory:
        listed |= {i.resource_class for i in (row.wanted, row.recorded) if i}
    return frozenset(os_resource_classes.STANDARDS) | listed


def is_class_name(text: str, report: AuditReport) -> bool:
    """Whether the argument of ``explain`` means a class: one has no dash and no slash, and no consumer has that key."""
    if any(text in (row.consumer_key, row.consumer_uuid) for row in report.ledger):
        return False
    return bool(_CLASS_NAME.match(text)) and canonical(text) == text


def canonical(consumer: str) -> str:
    """A uuid in the spelling of Placement; anything else as it is."""
    try:
        return str(uuid.UUID(consumer))
    except ValueError:
        return consumer


def totals(report: AuditReport, resource_class: str, owned: Owned) -> tuple[Book, ...]:
    """The three books of one class over the report's rows: what stands at the foot of ``ledger``."""
    # What is left on a provider that shares with us has a row, and is no part of this host's books.
    rows = tuple(row for row in report.ledger if row.resource_class == resource_class and not row.outside_tree)
    not_counted = uncounted(report, resource_class, owned)
    return tuple(
        Book(name=name, amount=None, parts=(), not_counted=not_counted)
        if not_counted and name in _KEPT_BY_OWNER and all(getattr(row, name) is None for row in rows)
        else _book(name, report, rows, resource_class, not_counted)
        for name in BOOKS
    )


def unread(report: AuditReport) -> tuple[str, ...]:
    """One line for each source that could not be read; its name leads."""
    return tuple(_named(s.name, s.error or "no answer") for s in report.sources if not s.ok)


def unread_books(report: AuditReport, *resource_classes: str) -> Unread:
    """Which books are not known, or not as a whole, of these classes: what they do not mention may be there."""
    missing = {book: _missing(book, report, resource_classes) for book in BOOKS}
    return {book: sources for book, sources in missing.items() if sources}


def unread_of_inventory(report: AuditReport, resource_class: str) -> tuple[str, ...]:
    """Sources that were not read and that may offer this class."""
    failed = _errors(report)
    return tuple(s for s in (PLACEMENT, LIBVIRT, *_STORAGE.get(resource_class, ())) if s in failed)


def _named(source: str, error: str) -> str:
    return error if error.startswith(source) else f"{source}: {error}"


def _is_about_class(seen: SeenFinding, resource_class: str) -> bool:
    finding = seen.finding
    if finding.resource_class is not None:
        return finding.resource_class == resource_class
    return any(claim.resource_class == resource_class for claim in finding.evidence)


def _is_about_consumer(seen: SeenFinding, consumer: str) -> bool:
    finding = seen.finding
    if consumer in (finding.consumer_uuid, finding.subject):
        return True
    return any(consumer in (c.consumer.key, c.consumer.uuid, c.instance_uuid) for c in finding.evidence)


def _book(
    name: str, report: AuditReport, rows: tuple[LedgerRow, ...], resource_class: str, not_counted: str | None
) -> Book:
    parts = _parts(name, rows, not_counted)
    problems = _problems(name, report, resource_class)
    known = _is_known(name, report)
    return Book(
        name=name,
        amount=sum(part.amount for part in parts) if known else None,
        parts=parts if known else (),
        problems=problems,
        exact=_exact(rows) if known and name == "held" else None,
    )


def _exact(rows: Iterable[LedgerRow]) -> Exact | None:
    """Sizes are what the host holds: a promise and an allocation are whole units."""
    sized = [(row.held, row.size_bytes) for row in rows if row.held is not None and row.size_bytes is not None]
    return Exact(amount=sum(held for held, _ in sized), size_bytes=sum(size for _, size in sized)) if sized else None


def _parts(book: str, rows: Iterable[LedgerRow], not_counted: str | None) -> tuple[Part, ...]:
    """By reason; what is as it should be comes first, then by size."""
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
    word = verdict_word(row, not_counted)
    return f"{row.cause}, {word}" if row.verdict in _WITH_CAUSE else word


def _errors(report: AuditReport) -> dict[str, str]:
    return {source.name: source.error or "no answer" for source in report.sources if not source.ok}


def _is_known(book: str, report: AuditReport) -> bool:
    failed = _errors(report)
    if book == "promised" and LIBVIRT in failed:
        # Without a database libvirt is the promise, and without a node's name no row of the database is ours.
        return STATE not in failed and any(row.promised is not None for row in report.ledger)
    return _SOURCE[book] not in failed


def _problems(book: str, report: AuditReport, resource_class: str) -> tuple[str, ...]:
    failed = _errors(report)
    return tuple(_named(source, failed[source]) for source in _missing(book, report, (resource_class,)))


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
