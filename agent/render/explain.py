"""Decide what ``stocktake explain`` shows: the amounts of one class, or all facts about one consumer.

A book is one system's list of amounts: *promised* (nova's database), *held* (libvirt, storage) or *recorded*
(Placement's allocations). If the source of a book could not be read, the book is unknown. An unknown book has no rows,
like an empty book. The status of the source shows the difference.

The agent computes promised and held amounts only for the classes of the root provider that have a module in
agent/resources (``owned``). For any other class these two amounts are None, which does not mean 0.

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

# The order of the amounts in the output. Placement's amount (recorded) is first, because it reduces the free capacity.
BOOKS = ("recorded", "promised", "held")
# Amounts are unknown if their source in _SOURCE was not read. The held amounts of a class are incomplete if a source in
# _STORAGE was not read.
_SOURCE = {"recorded": PLACEMENT, "promised": STATE, "held": LIBVIRT}
_STORAGE = {"DISK_GB": (LVM, FILESYSTEM)}
# For an amount with one of these verdicts, the output names the cause (such as ``instance`` or ``foreign-guest``). For
# an amount with another verdict, the output names the verdict.
_PLAIN = frozenset({Verdict.AGREED, Verdict.RESERVED, Verdict.UNMANAGED})
_WITH_CAUSE = frozenset({Verdict.SETTLING, Verdict.UNKNOWN})
# The agent computes promised and held amounts only for classes that have a module in agent/resources.
_KEPT_BY_OWNER = frozenset({"promised", "held"})
_CLASS_NAME = re.compile(r"\w+\Z", re.ASCII)

# Maps "promised", "held" or "recorded" to the names of its unread sources. A key without unread sources is absent.
Unread = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The sum of the amounts that ``consumers`` take for the same ``reason``, such as ``instance``.

    ``consumers`` has the consumers' keys.
    """

    reason: str
    amount: int
    consumers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """The sum of the held amounts and the sum of the sizes in bytes, over all rows whose size in bytes is known."""

    amount: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """The amounts of one class according to one system: promised (nova), held (this host) or recorded (Placement).

    ``amount``: the sum, None if unknown. ``problems``: the errors of the sources that could not be read.
    ``not_counted``: why the agent does not compute these amounts. ``exact``: the sum in bytes, None if not known.
    """

    name: str
    amount: int | None
    parts: tuple[Part, ...]
    problems: tuple[str, ...] = ()
    not_counted: str | None = None
    exact: Exact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evacuated:
    """A finished evacuation of an instance from this host. The instance no longer counts on this host.

    ``amount`` is how much of the class the instance uses on its new host, None if unknown.
    ``recorded`` is the amount that Placement still records for the instance on this host, None if 0 or unknown.
    """

    note: EvacuationNote
    amount: int | None
    recorded: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassExplanation:
    """The explanation of one resource class. ``scope`` is the part of the audit's report about this class.

    ``not_counted``: why the agent does not compute promised and held amounts of the class, None if it computes them.
    ``wasted``: what Placement records here for instances that are deleted or have moved away. ``missing``: what nova
    promised and Placement does not record.
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
    """The explanation of one consumer. ``scope`` has the consumer's rows and findings, and the host's whole inventory.

    ``not_counted`` maps a class to the reason why the agent does not compute promised and held amounts of the class.
    ``unread`` maps each of the consumer's classes to the sources that could not be read. ``unread_anywhere`` has the
    unread sources of all classes of the host.
    """

    consumer: str
    not_counted: Mapping[str, str]
    unread: Mapping[str, Unread]
    unread_anywhere: Unread
    evacuations: tuple[EvacuationNote, ...]
    scope: AuditReport


Explanation = ClassExplanation | ConsumerExplanation

# The type of ``agent.resources.owned``: whether the agent computes the root provider's inventory of a class.
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
    # unread_books needs the whole report, not only ``scope``, because it searches the rows of all consumers for a
    # promised amount.
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
    """Return the report with only the consumer's rows and findings, but with the whole inventory.

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
    """Return why the agent does not compute the promised and held amounts of the class, None if it does."""
    if owned(resource_class):
        return None
    children = (row.wanted for row in report.inventory if row.provider_uuid != report.provider_uuid)
    return ON_CHILDREN if any(i and i.resource_class == resource_class for i in children) else UNDECIDED


def all_uncounted(report: AuditReport, owned: Owned) -> dict[str, str]:
    """Return {class: reason} for the classes whose promised and held amounts the agent does not compute."""
    whys = {name: uncounted(report, name, owned) for name in {row.resource_class for row in report.ledger}}
    return {name: why for name, why in whys.items() if why}


def meaning(row: LedgerRow, not_counted: str | None) -> str:
    """Return a text that explains the row's verdict. ``not_counted``: why the class is not compared, or None."""
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

    A class name has only letters, digits and "_". The uuid or name of a consumer in the report is no class name.
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
    """Return the promised, held and recorded amounts of one class, as ``stocktake ledger`` also shows them."""
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
    """Return {book: sources}: the unreadable sources from which the book takes amounts of these classes.

    A book is one system's list of amounts. A consumer without an amount in a returned book may use more than 0.
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
    """Return whether the finding is in the output of ``stocktake explain`` for this consumer.

    ``own`` has the findings that are about this consumer, as {finding id: code}.
    """
    finding = seen.finding
    if finding.code == "over-capacity" and finding.resource_class is not None:
        # The evidence of over-capacity lists every consumer of the class. Show over-capacity only for a consumer that
        # causes it, that is, a consumer with a finding of its own such as a leak.
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
    """Return the sums of the held amounts and sizes of all rows with a size in bytes; None if there is no such row."""
    sized = [(row.held, row.size_bytes) for row in rows if row.held is not None and row.size_bytes is not None]
    return Exact(amount=sum(held for held, _ in sized), size_bytes=sum(size for _, size in sized)) if sized else None


def _parts(book: str, rows: Iterable[LedgerRow], not_counted: str | None) -> tuple[Part, ...]:
    """Return the sum of the rows' amounts for each reason.

    Normal reasons (_PLAIN) come first, then all others. Each of the two groups begins with the largest amount.
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
        # Promised amounts need libvirt too. Without nova as a source, they come from libvirt's domains. With nova, the
        # agent finds this host's rows by the node's name, which comes from libvirt.
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
