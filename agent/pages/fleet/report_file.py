"""Keep what the fleet's page needs from one report file: the row of the host, and lists of limited length.

The module first makes the message that the agent would have sent on the bus, and then makes the row from this message,
so the page and ``stocktake watch`` judge a host by the same rules. A report consists mostly of rows that the page does
not need, so these rows are not parsed.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from agent.books.uncovered import UNMANAGED
from agent.bus.host_state import Sending, host_state
from agent.errors import SourceInconsistent
from agent.fleet.host import HostSeen, host_seen
from agent.host_files.saved_report import saved_report
from agent.model.finding import LEAKING, SeenFinding, Severity
from agent.model.own_consumers import OWN_KIND
from agent.model.report import AuditReport, StorageRow
from agent.model.snapshot import CEPH, FILESYSTEM, IMAGES, LVM
from agent.pages.codes import ORPHANS
from agent.pages.fleet.facts import DELETED, CodeSeen, HostDetails, NewFinding, Orphan, Owner, Spread, Stranger
from agent.pages.sizes import by_the_rule, listed
from agent.pages.times import moment_of
from agent.text.wording import printable

Document = Mapping[str, Any]

#: Volumes and files with one of these values of ``owner_kind`` do not belong to the cloud.
STRANGE_KINDS = frozenset({"leftover", "orphaned", "foreign", "unknown"})
SPREAD_CODE = "consumer-on-several-providers"
#: Each list of a host has at most this many entries, and the page only counts the others. The lists: consumers on
#: several providers; orphaned providers and nodes; volumes and files that do not belong to the cloud.
MOST_LISTED = 50
#: The maximum number of findings that the page keeps of one report: the newest findings.
MOST_NEWEST = 12
#: The maximum number of consumers that the page keeps of one report: the consumers with the most VCPU and PCPU.
MOST_LARGEST = 10
#: The maximum number of characters of a text from a report; longer texts are cut.
MOST_TEXT = 300
#: The audit interval in seconds that the page assumes for every host. A host counts as silent if its report is 15
#: minutes (three intervals) older than the newest report. A shorter time would count too many hosts as silent:
#: operators rarely gather the report files of all hosts within one minute.
INTERVAL_S = 300.0
#: The facts of a finding about an orphaned compute node include the amounts of the node's record in nova's database.
#: Each pair is a resource class and the name of a fact. The fact's value is the amount of the class.
_OF_ROW = (("VCPU", "vcpus"), ("MEMORY_MB", "memory_mib"), ("DISK_GB", "local_gib"))
_SEVERITIES = tuple(Severity)
_STORE_SOURCES = (LVM, FILESYSTEM, IMAGES, CEPH)
_UNUSED = ("traits", "evacuations", "names", "providers")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReport:
    """The kept part of one report file. ``audited_s`` is the time of the report's audit in seconds since 1970."""

    seen: HostSeen
    audited_s: float
    details: HostDetails


def host_report(document: Document) -> HostReport:
    """Return what the page needs of a report. Raises SourceInconsistent if ``document`` is no report of an audit."""
    try:
        return _host_report(document)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise SourceInconsistent("report", f"not the report of an audit: {error!r:.200}") from error


def _host_report(document: Document) -> HostReport:
    storage = [row for row in _objects(document.get("storage", [])) if row.get("owner_kind") in STRANGE_KINDS]
    ledger = [row for row in _objects(document.get("ledger", [])) if _is_outside_of_the_cloud(row)]
    saved = saved_report({**document, "storage": storage, "ledger": ledger, **{name: [] for name in _UNUSED}})
    report = saved.report
    audited = moment_of(report.started_at)
    if audited is None:
        raise ValueError(f"started_at is not a time: {report.started_at!r:.60}")
    version = document.get("agent_version")
    sending = Sending(
        at=report.started_at,
        interval_s=INTERVAL_S,
        agent_version=version if isinstance(version, str) else "unknown",
    )
    return HostReport(
        seen=host_seen(host_state(report, sending), audited.timestamp()),
        audited_s=audited.timestamp(),
        details=_details(report, document, len(saved.problems)),
    )


def _is_outside_of_the_cloud(row: Mapping[str, Any]) -> bool:
    """Return whether the row has a cause outside the cloud (``UNMANAGED``), or is about the agent's own consumer."""
    return row.get("cause") in UNMANAGED or row.get("consumer_kind") == OWN_KIND


def _details(report: AuditReport, document: Document, problems: int) -> HostDetails:
    spread = sorted((seen for seen in report.findings if seen.finding.code == SPREAD_CODE), key=_by_consumer)
    orphans = sorted((seen for seen in report.findings if seen.finding.code in ORPHANS), key=_by_consumer)
    owners = _largest(document)
    names = _names(document, {owner for owner, _ in owners} | {seen.finding.consumer_uuid or "" for seen in spread})
    wasted = {seen.finding.consumer_uuid: seen.finding.code for seen in report.findings if seen.finding.code in LEAKING}
    strangers = sorted(report.storage, key=_largest_first)
    return HostDetails(
        provider_uuid=report.provider_uuid,
        spread=tuple(_spread(seen, names, wasted.get(seen.finding.consumer_uuid, "")) for seen in spread[:MOST_LISTED]),
        spread_left_out=max(0, len(spread) - MOST_LISTED),
        orphans=tuple(map(_orphan, orphans[:MOST_LISTED])),
        orphans_left_out=max(0, len(orphans) - MOST_LISTED),
        strangers=tuple(map(_stranger, strangers[:MOST_LISTED])),
        strangers_left_out=max(0, len(strangers) - MOST_LISTED),
        stranger_bytes=tuple(sorted(_bytes_by_kind(strangers).items())),
        stores_unread=tuple(sorted(s.name for s in report.sources if not s.ok and s.name in _STORE_SOURCES)),
        rows_left_out=problems,
        codes=tuple(_codes(report.findings)),
        newest=tuple(map(_newest, sorted(report.findings, key=_first_seen, reverse=True)[:MOST_NEWEST])),
        largest=tuple(
            Owner(consumer_uuid=_cut(uuid), name=_cut(names.get(uuid, "")), amounts=tuple(sorted(amounts.items())))
            for uuid, amounts in owners
        ),
    )


def _codes(found: Sequence[SeenFinding]) -> Iterator[CodeSeen]:
    by_code: dict[str, list[SeenFinding]] = defaultdict(list)
    for seen in found:
        by_code[seen.finding.code].append(seen)
    for code, each in sorted(by_code.items()):
        severity = min((seen.finding.severity for seen in each), key=_SEVERITIES.index)
        began = min((seen.finding.began_at for seen in each if seen.finding.began_at), default="")
        yield CodeSeen(code=_cut(code), severity=severity.value, began=_cut(began))


def _first_seen(seen: SeenFinding) -> tuple[str, str]:
    return seen.first_seen_at, seen.finding.id


def _newest(seen: SeenFinding) -> NewFinding:
    finding = seen.finding
    headline = _cut(by_the_rule(finding.headline))
    return NewFinding(
        first_seen=_cut(seen.first_seen_at), code=_cut(finding.code), severity=finding.severity.value, headline=headline
    )


def _largest(document: Document) -> list[tuple[str, dict[str, int]]]:
    """Return the consumers to which Placement has allocated the most VCPU and PCPU, each with its amounts by class."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in _objects(document.get("ledger", [])):
        uuid, name, amount = row.get("consumer_uuid"), row.get("resource_class"), row.get("recorded")
        if isinstance(uuid, str) and isinstance(name, str) and isinstance(amount, int) and not row.get("outside_tree"):
            found[uuid][name] += amount
    cpus = {uuid: amounts["VCPU"] + amounts["PCPU"] for uuid, amounts in found.items()}
    most = heapq.nsmallest(
        MOST_LARGEST, (uuid for uuid in cpus if cpus[uuid] > 0), key=lambda uuid: (-cpus[uuid], uuid)
    )
    return [(uuid, dict(found[uuid])) for uuid in most]


def _by_consumer(seen: SeenFinding) -> tuple[str, str]:
    return seen.finding.consumer_uuid or "", seen.finding.id


def _largest_first(row: StorageRow) -> tuple[object, ...]:
    return -row.size_bytes, row.store, row.owner, row.owner_kind, row.what


def _spread(seen: SeenFinding, names: Mapping[str, str], wasted_by: str) -> Spread:
    finding = seen.finding
    known = dict(finding.facts)
    others = [other for other in str(known.get("other_providers", "")).split(", ") if other]
    by_provider: dict[str, Counter[str]] = {other: Counter() for other in ("", *others[:MOST_LISTED])}
    for claim in finding.evidence:
        provider = claim.provider_key.name if claim.provider_key.name in by_provider else ""
        by_provider[provider][claim.resource_class] += claim.amount
    uuid = finding.consumer_uuid or ""
    home = DELETED if known.get("instance_deleted") is True else str(known.get("instance_host") or "")
    return Spread(
        consumer_uuid=_cut(uuid),
        name=_cut(names.get(uuid, "")),
        amounts=tuple(sorted(by_provider.pop("").items())),
        elsewhere=tuple((_cut(other), tuple(sorted(found.items()))) for other, found in by_provider.items()),
        home=_cut(home),
        wasted_by=wasted_by,
        since=seen.first_seen_at,
    )


def _orphan(seen: SeenFinding) -> Orphan:
    finding = seen.finding
    known = dict(finding.facts)
    return Orphan(
        code=finding.code,
        what=_cut(finding.subject or ""),
        uuid=_cut(finding.provider_uuid or ""),
        offers=_cut(_offers(known)),
        holds=_cut(by_the_rule(str(known.get("allocations") or ""))),
        since=seen.first_seen_at,
    )


def _offers(known: Mapping[str, object]) -> str:
    """Return the resources of a compute node, or the inventory of a provider, as text from the finding's facts."""
    row = {name: known.get(key) for name, key in _OF_ROW}
    found = {name: value for name, value in row.items() if isinstance(value, int) and value > 0}
    return ", ".join(listed(found)) or by_the_rule(str(known.get("inventory") or ""))


def _stranger(row: StorageRow) -> Stranger:
    return Stranger(store=_cut(row.store), kind=row.owner_kind, owner=_cut(row.owner), size_bytes=row.size_bytes)


def _bytes_by_kind(rows: Iterable[StorageRow]) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in rows:
        found[row.owner_kind] += row.size_bytes
    return found


def _names(document: Document, wanted: Set[str]) -> dict[str, str]:
    """Return the names of the ``wanted`` consumers, by uuid."""
    rows = _objects(document.get("names", [])) if wanted else []
    found = ((str(row.get("uuid")), row.get("name")) for row in rows)
    return {uuid: name for uuid, name in found if uuid in wanted and isinstance(name, str)}


def _objects(rows: object) -> list[dict[str, Any]]:
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _cut(text: str) -> str:
    return printable(text[:MOST_TEXT])
