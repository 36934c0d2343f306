"""The log lines of an audit: constant texts with values as fields, and three lines in nova-compute's own wording."""

from __future__ import annotations

import logging as levels
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oslo_log import log as logging

from agent.model.finding import SeenFinding
from agent.model.placement import Inventory
from agent.model.plan import (
    CreateProvider,
    DeleteProvider,
    MoveProvider,
    PutAggregates,
    PutAllocations,
    PutInventories,
    PutTraits,
    Write,
)
from agent.model.report import AuditReport, HostSummary, NovaVersions
from agent.placement.microversions import optional_features, spoken
from agent.render.record_words import record_text
from agent.telemetry import events
from agent.telemetry.nova_releases import missing_in, with_release
from agent.text.amounts import with_class
from agent.text.wording import amount

LOG = logging.getLogger(__name__)

HYPERVISOR_VIEW = (
    "Hypervisor/Node resource view: name=%(node)s free_ram=%(free_ram)sMB free_disk=%(free_disk)sGB"
    " free_vcpus=%(free_vcpus)s pci_devices=%(pci_devices)s"
)
USABLE_VCPUS = "Total usable vcpus: %(total_vcpus)s, total allocated vcpus: %(used_vcpus)s"
FINAL_VIEW = (
    "Final resource view: name=%(node)s phys_ram=%(phys_ram)sMB used_ram=%(used_ram)sMB phys_disk=%(phys_disk)sGB"
    " used_disk=%(used_disk)sGB total_vcpus=%(total_vcpus)s used_vcpus=%(used_vcpus)s"
    " pci_stats=[%(pci_stats)s] stats={}"
)

# The logging module refuses extra fields named like an attribute of a record. A finding's facts may have any name.
_TAKEN = {*vars(levels.makeLogRecord({})), "message", "asctime", "extra"}


@dataclass(frozen=True, slots=True)
class Line:
    """One log record: a constant text with values as fields. ``words``: the % values of a line in nova's wording."""

    level: int
    event: str
    fields: Mapping[str, Any]
    words: Mapping[str, Any] | None = None


def emit(lines: tuple[Line, ...]) -> None:
    """Log the lines. If the logging module reserves the name of a field, the name gets an underscore appended."""
    for line in lines:
        arguments = (line.words,) if line.words is not None else ()
        fields = {f"{name}_" if name in _TAKEN else name: value for name, value in line.fields.items()}
        LOG.log(line.level, line.event, *arguments, extra=fields)


def finding_fields(seen: SeenFinding) -> dict[str, Any]:
    """Return the fields of a finding for its log line, without the fields that are None."""
    finding = seen.finding
    fields = {
        "code": finding.code,
        "finding_id": finding.id,
        "severity": finding.severity.value,
        "confirmed": seen.confirmed,
        "provider_uuid": finding.provider_uuid,
        "consumer_uuid": finding.consumer_uuid,
        "resource_class": finding.resource_class,
        "subject": finding.subject or None,
        "expected": finding.expected,
        "actual": finding.actual,
        "remedy": finding.remedy,
        "first_seen_at": seen.first_seen_at,
    }
    return {name: value for name, value in (*fields.items(), *finding.facts) if value is not None}


def counted(counts: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
    """Return each count as text: ``clean:61`` means 61 audits with the outcome clean."""
    return tuple(f"{what}:{times}" for what, times in counts)


def speaks(newest: tuple[int, int]) -> Line:
    """Return the line with Placement's newest microversion and the optional features that it enables or lacks."""
    uses, lacks = optional_features(newest)
    fields = {"microversions_up_to": spoken(newest), "uses": uses, "lacks": lacks}
    return Line(levels.INFO, events.PLACEMENT_SPEAKS, fields)


def nova_speaks(versions: NovaVersions) -> Line:
    """Return the line with the versions of nova's services, their releases, and what the agent does without."""
    fields = {
        "state_source": versions.state_source,
        "nova_compute": None if versions.compute is None else with_release(versions.compute),
        "nova_conductors": tuple(map(with_release, versions.conductors)),
        "lacks": missing_in(versions),
    }
    return Line(levels.INFO, events.NOVA_SPEAKS, {name: value for name, value in fields.items() if value is not None})


def written(report: AuditReport) -> tuple[Line, ...]:
    """Return one line if the audit wrote anything, else no line."""
    if not report.writes_done:
        return ()
    fields = {
        "writes": report.writes_done,
        "requests": report.requests,
        "conflicts": report.conflicts,
        "conflict_kinds": counted(report.conflict_kinds),
        "attempts": report.attempts,
        "provider_uuid": report.provider_uuid,
        "what": (
            *(_write_text(write) for write in report.plan.writes),
            *(_allocations_text(write) for write in report.plan.allocations),
            *(record_text(write) for write in report.plan.records),
            *(_write_text(write) for write in report.plan.removals),
        ),
    }
    return (Line(levels.INFO, events.PLACEMENT_WRITTEN, fields),)


def _write_text(write: Write) -> str:
    match write:
        case CreateProvider():
            what = f"create {write.name}"
        case MoveProvider():
            what = f"move below {write.parent_uuid}" if write.parent_uuid else "make it a root provider"
        case PutInventories():
            what = "inventories " + ", ".join(_inventory_text(row) for row in write.inventories)
        case PutTraits():
            what = f"{len(write.traits)} traits"
        case PutAggregates():
            what = f"{len(write.aggregates)} aggregates"
        case DeleteProvider():
            what = "delete"
    return f"{write.provider_uuid}: {what}"


def _allocations_text(write: PutAllocations) -> str:
    held = ", ".join(with_class(a.resource_class, a.amount) for a in write.allocations)
    return f"consumer {write.consumer_uuid}: {held or 'none'}"


def _inventory_text(row: Inventory) -> str:
    amounts = {"total": row.total, "reserved": row.reserved, "max_unit": row.max_unit}
    texts = " ".join(f"{name}={amount(row.resource_class, value)}" for name, value in amounts.items())
    return f"{row.resource_class} {texts} allocation_ratio={row.allocation_ratio}"


def views(summary: HostSummary) -> tuple[Line, ...]:
    """Return nova-compute's lines: hypervisor resource view, usable vcpus, final resource view."""
    known = {
        "node": summary.node,
        "free_ram": summary.free_ram_mib,
        "free_disk": summary.free_disk_gib,
        "free_vcpus": summary.free_vcpus,
        "pci_devices": summary.pci_devices,
        "pci_stats": ", ".join(summary.pci_stats),
        "total_vcpus": summary.total_vcpus,
        "used_vcpus": summary.used_vcpus,
        "phys_ram": summary.phys_ram_mib,
        "used_ram": summary.used_ram_mib,
        "phys_disk": summary.phys_disk_gib,
        "used_disk": summary.used_disk_gib,
    }
    words = {name: "unknown" if value is None else value for name, value in known.items()}
    # nova does not log the line of usable vcpus if the host has none (all CPUs are dedicated).
    texts = (HYPERVISOR_VIEW, USABLE_VCPUS, FINAL_VIEW) if summary.total_vcpus else (HYPERVISOR_VIEW, FINAL_VIEW)
    return tuple(Line(levels.INFO, text, {}, words) for text in texts)


def audit_line(report: AuditReport) -> Line:
    """Return the DEBUG line that every audit logs."""
    fields = {
        "audit_id": report.audit_id,
        "reasons": report.reasons,
        "outcome": report.outcome.value,
        "duration_ms": round(report.duration_ms, 1),
        "findings": len(report.findings),
        "writes": report.writes_done,
        "requests": report.requests,
        "conflicts": report.conflicts,
        "conflict_kinds": counted(report.conflict_kinds),
        "attempts": report.attempts,
    }
    return Line(levels.DEBUG, events.AUDIT_DONE, fields)
