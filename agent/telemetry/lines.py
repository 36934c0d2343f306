"""The log lines about an audit's writes and counts, and three lines in nova-compute's own wording."""

from __future__ import annotations

import logging as levels
from collections import Counter
from itertools import groupby

from agent.model.placement import Inventory
from agent.model.plan import (
    CreateProvider,
    DeleteProvider,
    HeldBack,
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
from agent.telemetry.event_log import Line
from agent.telemetry.finding_changes import begins
from agent.telemetry.nova_releases import missing_in, with_release
from agent.text.amounts import with_class
from agent.text.wording import amount

OBSERVER = "observer"


def counted(counts: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
    """Return each count as text: ``clean:61`` means 61 audits with the outcome clean."""
    return tuple(f"{what}:{times}" for what, times in counts)


def speaks(newest: tuple[int, int]) -> Line:
    """Return the line with Placement's newest microversion, and with the optional features that it has and lacks."""
    uses, lacks = optional_features(newest)
    fields = {"microversions_up_to": spoken(newest), "uses": uses, "lacks": lacks}
    return Line(event=events.PLACEMENT_SPEAKS, fields=fields)


def nova_speaks(versions: NovaVersions) -> Line:
    """Return the line with the versions of nova's services, their releases, and what these releases lack."""
    fields = {
        "state_source": versions.state_source,
        "nova_compute": None if versions.compute is None else with_release(versions.compute),
        "nova_conductors": tuple(map(with_release, versions.conductors)),
        "lacks": missing_in(versions),
    }
    return Line(event=events.NOVA_SPEAKS, fields={name: value for name, value in fields.items() if value is not None})


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
    return (Line(event=events.PLACEMENT_WRITTEN, fields=fields),)


def held_back_lines(before: tuple[HeldBack, ...], report: AuditReport, spells: Counter[str]) -> tuple[Line, ...]:
    """Return one line for each reason why this audit held writes back.

    A write that the last audit held back for the same reason is left out. A line names all other writes with this
    reason. The line has ``provider_uuid`` only if all these writes are to the same provider.
    """
    new = sorted((held for held in report.plan.held_back if held not in before), key=lambda held: held.why)
    level = levels.INFO if report.role == OBSERVER else levels.WARNING
    logged = []
    for why, group in groupby(new, key=lambda held: held.why):
        writes = tuple(group)
        what = ", ".join(dict.fromkeys(held.what for held in writes))
        providers = {held.provider_uuid for held in writes}
        if begins(f"held back {sorted(providers)} {what}", spells):
            fields = {"what": what, "why": why, **({"provider_uuid": min(providers)} if len(providers) == 1 else {})}
            logged.append(Line(event=events.WRITE_HELD_BACK, chosen_level=level, fields=fields))
    return tuple(logged)


def _write_text(write: Write) -> str:
    match write:
        case CreateProvider():
            what = f"create {write.name}"
        case MoveProvider():
            what = f"move below {write.parent_uuid}" if write.parent_uuid else "make the provider a root provider"
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
    """Return the lines in nova-compute's wording: hypervisor resource view, usable vcpus, final resource view."""
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
    # If all CPUs are dedicated, the host has no usable vcpus. Then log no line about usable vcpus, like nova.
    usable = (events.USABLE_VCPUS,) if summary.total_vcpus else ()
    texts = (events.HYPERVISOR_VIEW, *usable, events.FINAL_VIEW)
    return tuple(Line(event=text, fields={}, words=words) for text in texts)


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
    return Line(event=events.AUDIT_DONE, fields=fields)
