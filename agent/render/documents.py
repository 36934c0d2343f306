"""Turn an audit's report into JSON documents with stable keys and plain JSON values. Pure: no I/O.

New keys may be added at any time. Renaming or removing a key needs a new ``SCHEMA_VERSION``.
"""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from typing import Any

from agent.errors import SourceInconsistent
from agent.model.claim import Claim
from agent.model.finding import FindingState, GoneFinding, Remedy, SeenFinding
from agent.model.memo import for_equal_arguments
from agent.model.placement import ROOT, Inventory
from agent.model.plan import (
    CreateProvider,
    DeleteProvider,
    MoveProvider,
    Plan,
    PutAggregates,
    PutAllocations,
    PutInventories,
    PutTraits,
    Write,
)
from agent.model.report import AuditReport, InventoryRow, LedgerRow, StorageRow, TraitRow
from agent.model.usage import CellUsage
from agent.placement.microversions import spoken
from agent.render.record_words import record_document
from agent.render.view_document import view_document

SCHEMA_VERSION = 1

Document = dict[str, Any]

WRITE_KINDS: dict[type[Write], str] = {
    CreateProvider: "create-provider",
    MoveProvider: "move-provider",
    PutInventories: "put-inventories",
    PutTraits: "put-traits",
    PutAggregates: "put-aggregates",
    DeleteProvider: "delete-provider",
}


def audit_document(report: AuditReport) -> Document:
    """Return what ``stocktake audit -f json`` prints: the audit, its findings and its plan, without the ledger."""
    return _audit_document(report, [finding_document(finding) for finding in report.findings])


def _audit_document(report: AuditReport, findings: list[Document]) -> Document:
    return {
        "schema_version": SCHEMA_VERSION,
        "audit_id": report.audit_id,
        "host": report.host,
        "node": report.node,
        "provider_uuid": report.provider_uuid,
        "role": report.role,
        "reasons": list(report.reasons),
        "started_at": report.started_at,
        "duration_ms": report.duration_ms,
        "outcome": report.outcome.value,
        "sources": [dataclasses.asdict(source) for source in report.sources],
        "findings": findings,
        "plan": plan_document(report.plan, report.traits),
        "placement": {
            "requests": report.requests,
            "conflicts": report.conflicts,
            "attempts": report.attempts,
            "conflict_kinds": dict(report.conflict_kinds),
            "microversion": spoken(report.microversion) if report.microversion else None,
            "tried": report.tried,
        },
        "published": report.published,
        "writes_done": report.writes_done,
        "error": report.error,
        "simulated": list(report.simulated),
        "record_note": report.record_note,
        "nova_versions": dataclasses.asdict(report.nova_versions) if report.nova_versions else None,
        "healed": [dataclasses.asdict(note) for note in report.healed],
        "notes": list(report.notes),
        "causes": sum(not seen.caused_by for seen in report.findings),
        "findings_unknown": sum(seen.state is FindingState.UNKNOWN for seen in report.findings),
        "gone": [gone_document(gone) for gone in report.gone],
        "first": report.first,
        "boot": report.boot,
        "read_until": report.read_until,
        "nova_alive_since": report.nova_alive_since,
    }


def audit_keys(report: AuditReport, *names: str) -> Document:
    """Return the keys ``names`` of ``audit_document`` with their values. The JSON of other commands contains them."""
    audit = audit_document(report)
    return {name: audit[name] for name in names}


def finding_document(seen: SeenFinding) -> Document:
    """Return a finding as JSON. ``evidence`` has the amounts of consumers, and ``facts`` has other values by name."""
    finding = seen.finding
    return {
        "id": finding.id,
        "code": finding.code,
        "severity": finding.severity.value,
        "confirmed": seen.confirmed,
        "provider_uuid": finding.provider_uuid,
        "consumer_uuid": finding.consumer_uuid,
        "resource_class": finding.resource_class,
        "expected": finding.expected,
        "actual": finding.actual,
        "evidence": [claim_document(claim) for claim in finding.evidence],
        "remedy": finding.remedy,
        "first_seen_at": seen.first_seen_at,
        "subject": finding.subject,
        "facts": dict(finding.facts),
        "state": seen.state.value,
        "sightings": seen.times,
        "stands_since": seen.stands_since,
        "last_seen_at": seen.last_seen_at,
        "unknown_because": list(seen.unknown_because),
        "rests_on": sorted(finding.rests_on),
        "caused_by": list(seen.caused_by),
        "symptoms": list(seen.symptoms),
        "remedies": [remedy_document(remedy) for remedy in finding.remedies],
        "headline": finding.headline,
        "known": list(finding.known),
        **{name: getattr(finding, name) for name in ("began_at", "began_because")},
    }


def remedy_document(remedy: Remedy) -> Document:
    """Return one remedy. ``command`` is one line that can be pasted into a shell, or null."""
    return {"kind": remedy.kind.value, "words": remedy.words, "command": remedy.command}


def gone_document(gone: GoneFinding) -> Document:
    """Return one finding that is gone, with the reason why it is gone.

    If a repair ended the finding, ``entry_id`` and ``actor`` name the repair's journal entry and who made the repair.
    """
    finding = gone.seen.finding
    return {
        "id": finding.id,
        "code": finding.code,
        "consumer_uuid": finding.consumer_uuid,
        "reason": gone.reason.value,
        "words": gone.words,
        "entry_id": gone.entry_id,
        "actor": gone.actor,
    }


def claim_document(claim: Claim) -> Document:
    """Return one claim (an amount that a consumer uses) as evidence of a finding.

    ``provider`` is ``root`` or ``kind:name``. ``size_bytes`` is the exact size of storage, null for other classes.
    """
    return {
        "consumer_uuid": claim.consumer.uuid,
        "consumer_key": claim.consumer.key,
        "consumer_name": claim.consumer.name,
        "consumer_kind": claim.consumer.kind,
        "instance_uuid": claim.instance_uuid,
        "cause": claim.cause.value,
        "provider": "root" if claim.provider_key == ROOT else f"{claim.provider_key.kind}:{claim.provider_key.name}",
        "resource_class": claim.resource_class,
        "amount": claim.amount,
        "size_bytes": claim.size_bytes,
        "source": str(claim.source),
    }


def plan_document(plan: Plan, traits: Iterable[TraitRow] = ()) -> Document:
    """Return the plan's digest, its writes in execution order, and the writes held back (``held_back``).

    ``traits`` are the trait rows of the report. Each write of traits lists all traits that the provider will have. Its
    keys ``added`` and ``removed`` list only the differences from the traits that Placement records now.
    """
    recorded: dict[str, set[str]] = defaultdict(set)
    for row in traits:
        if row.recorded:
            recorded[row.provider_uuid].add(row.trait)
    return {
        "digest": plan.digest,
        "writes": [
            *(_write_document(write, recorded[write.provider_uuid]) for write in plan.writes),
            *(_allocations_document(write) for write in plan.allocations),
            *(record_document(write) for write in plan.records),
            *(_write_document(write, frozenset()) for write in plan.removals),
        ],
        "held_back": [dataclasses.asdict(held) for held in plan.held_back],
    }


def ledger_rows(report: AuditReport) -> list[Document]:
    """Return one row per consumer, class and provider. A row has nova's, the host's and Placement's amount, or null."""
    return [_ledger_row(row) for row in report.ledger]


def inventory_rows(rows: Iterable[InventoryRow]) -> list[Document]:
    """Return one row for each inventory that the agent wants or that Placement records.

    ``recorded_*`` are Placement's inventory; ``used`` and ``free`` are computed from Placement's allocations.
    """
    return [_inventory_row(row) for row in rows]


def trait_rows(report: AuditReport) -> list[Document]:
    """Return one row per provider and trait."""
    return [
        {
            "provider": row.provider,
            "provider_uuid": row.provider_uuid,
            "trait": row.trait,
            "wanted": row.wanted,
            "recorded": row.recorded,
            "owner": row.owner,
        }
        for row in report.traits
    ]


def storage_rows(rows: Iterable[StorageRow]) -> list[Document]:
    """Return rows, each with the bytes of one owner in one store. The rows of a store add up to ``store_bytes``."""
    return [
        {
            "store": row.store,
            "owner_kind": row.owner_kind,
            "owner": row.owner,
            "what": row.what,
            "size_bytes": row.size_bytes,
            "source": row.source,
            "store_bytes": row.store_bytes,
        }
        for row in rows
    ]


def report_document(report: AuditReport) -> Document:
    """Return the whole report, as stored in the report file that ``stocktake status`` reads."""
    lists = {"ledger": _saved_ledger_rows(report.ledger), "storage": storage_rows(report.storage)}
    before = {"schema_version": SCHEMA_VERSION, "audit": audit_document(report)}
    return {**before, **lists, **_after_the_ledger(report)}


def _after_the_ledger(report: AuditReport) -> Document:
    summary = report.summary
    return {
        "inventory": inventory_rows(report.inventory),
        "traits": trait_rows(report),
        "evacuations": [dataclasses.asdict(note) for note in report.evacuations],
        "summary": {**dataclasses.asdict(summary), "pci_stats": list(summary.pci_stats)} if summary else None,
        "resource_view": view_document(report.resource_view) if report.resource_view else None,
        "cell_usages": None if report.cell_usages is None else [_cell_usage(one) for one in report.cell_usages],
        "names": [named._asdict() for named in report.names],
        "providers": [place._asdict() for place in report.providers],
    }


def report_to_json(report: AuditReport) -> str:
    """Return the report file's text, which is one line. Raises ValueError on a number that is not finite."""
    return "".join(report_parts(report))


def report_parts(report: AuditReport, agent_version: str = "") -> Iterator[str]:
    """Yield the text of the report file in parts, because one text with thousands of findings takes 50 MiB more memory.

    The daemon's report file also contains ``agent_version``, which the fleet's page shows. Raises ValueError on a
    number that is not finite.
    """
    of_the_agent = {"agent_version": agent_version} if agent_version else {}
    before = _text({"schema_version": SCHEMA_VERSION, **of_the_agent, "audit": _audit_document(report, [])})
    head, empty, tail = before.partition('"findings":[]')
    yield f"{head}{empty[:-1]}"
    separator = ""
    for finding in report.findings:
        yield separator + _text(finding_document(finding))
        separator = ","
    yield f"]{tail[:-1]}"
    yield f',"ledger":{_ledger_text(report.ledger)},"storage":{_storage_text(report.storage)},'
    yield f"{_text(_after_the_ledger(report))[1:]}\n"


def _cell_usage(usage: CellUsage) -> Document:
    """Return what the guests use of one NUMA cell: the CPUs, the memory and the pages."""
    return {
        "id": usage.id,
        "cpus": usage.cpus,
        "memory_mib": usage.memory_mib,
        "pinned": list(usage.pinned),
        "pages": [{"size_kib": size_kib, "used": used} for size_kib, used in usage.pages],
    }


def _saved_ledger_rows(rows: Iterable[LedgerRow]) -> list[Document]:
    """Return the ledger rows for the report file. A command needs the two added keys to compute the host's sums."""
    return [_ledger_row(row) | {"outside_tree": row.outside_tree, "settling": row.settling} for row in rows]


# Ledger and storage rows are nearly the whole text of a report. On an unchanged host these rows equal the rows of the
# last audit, so their text is cached: with 1,000 guests this saves 16 ms in each audit.
@for_equal_arguments
def _ledger_text(rows: tuple[LedgerRow, ...]) -> str:
    return _text(_saved_ledger_rows(rows))


@for_equal_arguments
def _storage_text(rows: tuple[StorageRow, ...]) -> str:
    return _text(storage_rows(rows))


def _text(value: Document | list[Document]) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def report_from_json(text: str) -> Document:
    """Parse the text that ``report_to_json`` returned. Raises SourceInconsistent on any other text."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceInconsistent("report", "not a JSON document") from error
    if not isinstance(document, dict):
        raise SourceInconsistent("report", "not a JSON object")
    if document.get("schema_version") != SCHEMA_VERSION:
        found = document.get("schema_version")
        raise SourceInconsistent("report", f"schema_version is {found!r}, but this program reads {SCHEMA_VERSION}")
    shapes = {"audit": dict, "ledger": list, "inventory": list, "traits": list, "evacuations": list}
    odd = [name for name, shape in shapes.items() if not isinstance(document.get(name), shape)]
    if odd:
        raise SourceInconsistent("report", f"missing, or not of the expected type: {', '.join(odd)}")
    return document


def _ledger_row(row: LedgerRow) -> Document:
    return {
        "consumer_uuid": row.consumer_uuid,
        "consumer_name": row.consumer_name,
        "consumer_kind": row.consumer_kind,
        "cause": row.cause,
        "provider": row.provider,
        "resource_class": row.resource_class,
        "promised": row.promised,
        "held": row.held,
        "recorded": row.recorded,
        "verdict": row.verdict.value,
        "source": row.source,
        "consumer_key": row.consumer_key,
        "provider_uuid": row.provider_uuid,
        "size_bytes": row.size_bytes,
    }


def _inventory_row(row: InventoryRow) -> Document:
    shown = row.wanted or row.recorded
    return {
        "provider": row.provider,
        "provider_uuid": row.provider_uuid,
        "resource_class": shown.resource_class if shown else None,
        **_amounts(row.wanted, ""),
        "used": row.used,
        "free": row.free,
        **_amounts(row.recorded, "recorded_"),
        "terms": [{"name": name, "amount": amount} for name, amount in row.terms],
    }


def _amounts(inventory: Inventory | None, prefix: str) -> Document:
    names = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
    return {f"{prefix}{name}": getattr(inventory, name) if inventory else None for name in names}


def _write_document(write: Write, recorded: Set[str]) -> Document:
    fields = dataclasses.asdict(write)
    plain = {name: list(value) if isinstance(value, tuple | frozenset) else value for name, value in fields.items()}
    document = {"kind": WRITE_KINDS[type(write)], **plain}
    if isinstance(write, PutTraits):
        document["added"] = sorted(set(write.traits) - recorded)
        document["removed"] = sorted(recorded - set(write.traits))
    return document


def _allocations_document(write: PutAllocations) -> Document:
    """Return all allocations that the consumer will have after the write. An empty list deletes the consumer.

    The document omits the consumer's generation: a write always uses the generation that the agent read.
    """
    return {
        "kind": "put-allocations",
        "consumer_uuid": write.consumer_uuid,
        "consumer_type": write.consumer_type,
        "allocations": [
            {"provider_uuid": a.provider_uuid, "resource_class": a.resource_class, "amount": a.amount}
            for a in write.allocations
        ],
    }
