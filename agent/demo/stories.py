"""Decide for each of the demo's six stories whether the agent's reports prove it, and collect the numbers as evidence.

Five stories are problems. In the sixth, the agent repairs the first problem, and the operator undoes the repair.

The expected numbers come from the demo's script (agent/demo/cast.py). A story is proved only if the agent's reports
contain the expected facts. Story 3 also needs the expected inventory and allocation candidates from Placement.

The functions do no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent.demo import cast
from agent.model.finding import INSTANCE_LEAKS, SeenFinding
from agent.model.placement import Inventory
from agent.model.report import AuditReport, InventoryRow
from agent.render.explain_text import evacuation_text
from agent.render.reading_order import names_in
from agent.text.wording import amount
from agent.why.model import Constraint, Obstacle, TreeAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The results of the demo: the last report of each host, inventories in Placement, and allocation candidates.

    ``offered_for_asked``: the providers that Placement returns for a request of ``cast.ASKED_VCPUS`` vCPUs.
    ``offered_for_max_unit``: the providers for a request of as many vCPUs as the first host has CPUs. ``answer``: what
    ``stocktake why`` says about a request of ``cast.ASKED_VCPUS`` on the first host; None if the host has no provider
    tree.
    """

    first: AuditReport
    second: AuditReport
    first_holds: tuple[InventoryRow, ...]
    second_holds: tuple[InventoryRow, ...]
    offered_for_asked: tuple[str, ...]
    offered_for_max_unit: tuple[str, ...]
    answer: TreeAnswer | None
    repair: Repair


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What the repair of story 1 did, and what the undo did afterwards.

    ``change`` and ``undo`` say this in sentences. ``entry_id`` is the journal entry of the repair, None if no entry was
    written. ``used_before``, ``used_after`` and ``used_at_end`` are the VCPUs that Placement counts on the first host.
    """

    finding_id: str
    change: str
    undo: str
    entry_id: str | None
    used_before: float | None
    used_after: float | None
    used_at_end: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One scene of the demo.

    ``evidence``: lines of text with numbers. ``ask``: the stocktake command, run on ``host``, that prints the numbers.
    """

    number: int
    title: str
    shown: bool
    evidence: tuple[str, ...]
    host: str
    ask: str


def stories(seen: Seen) -> tuple[Story, ...]:
    """Return the six stories, sorted by number."""
    problems = (_counted_twice(seen), _by_hand(seen), _no_valid_host(seen), _the_cycle(seen), _negative(seen))
    return (*problems, _repaired(seen.repair))


def _counted_twice(seen: Seen) -> Story:
    report = seen.first
    promised = sum(row.promised or 0 for row in report.ledger if row.resource_class == "VCPU")
    recorded = sum(row.recorded or 0 for row in report.ledger if row.resource_class == "VCPU")
    notes = [n for n in report.evacuations if n.instance_uuid == cast.EVACUATED.uuid]
    found = _of(report, "migration-finished-but-counted", cast.EVACUATED.uuid)
    expected = sum(guest.flavor.vcpus for guest in cast.FIRST.guests)
    return Story(
        number=1,
        title="4 guests have 16 vCPUs, and Placement counts 24: which consumer has the other 8?",
        shown=promised == expected and recorded == expected + cast.EVACUATED.flavor.vcpus and bool(notes and found),
        evidence=(
            f"VCPU on {report.node}: nova promised {promised} to instances, and Placement records {recorded}",
            *(
                f"{evacuation_text(note, f' ({note.vcpus} VCPU)')}, so nova counts 0 VCPU for the instance on this host"
                for note in notes
            ),
            *_sentences(found),
        ),
        host=cast.FIRST.name,
        ask="explain VCPU",
    )


def _by_hand(seen: Seen) -> Story:
    volume = f"{cast.FIRST.group}/{cast.FIRST.foreign[0][0]}"
    found = [
        f
        for f in _of(seen.first, "volume-foreign")
        if ("volume", volume) in f.finding.facts and ("size_bytes", cast.FOREIGN_BYTES) in f.finding.facts
    ]
    disk = _holds(seen.first_holds, "DISK_GB")
    reserved = disk.reserved if disk else None
    return Story(
        number=2,
        title="A logical volume made by hand in the volume group of the guests' disks",
        shown=bool(found) and reserved == cast.FIRST.foreign[0][1],
        evidence=(*_sentences(found), f"DISK_GB in Placement: {_inventory_text(disk)}"),
        host=cast.FIRST.name,
        ask="explain DISK_GB",
    )


def _no_valid_host(seen: Seen) -> Story:
    vcpu = _holds(seen.first_holds, "VCPU")
    first = seen.answer.obstacles[:1] if seen.answer is not None and not seen.answer.fits else ()
    zombies = _of(seen.first, "consumer-on-several-providers", cast.EVACUATED.uuid)
    offered = cast.FIRST.root_uuid in seen.offered_for_max_unit
    refused = cast.FIRST.root_uuid not in seen.offered_for_asked
    expected = (cast.FIRST.cpus, cast.FIRST.cpus, 4.0)
    right = vcpu is not None and (vcpu.total, vcpu.max_unit, vcpu.allocation_ratio) == expected
    return Story(
        number=3,
        title=f"No valid host for {cast.ASKED_VCPUS} vCPUs on {cast.FIRST.cpus} CPUs at ratio 4 "
        "(max_unit), and a consumer with allocations on two providers",
        shown=right and offered and refused and any(map(_is_max_unit, first)) and bool(zombies),
        evidence=(
            f"VCPU in Placement: {_inventory_text(vcpu)}",
            f"Placement {'offers' if offered else 'does not offer'} this host for {cast.FIRST.cpus} vCPUs, and "
            f"{'does not offer' if refused else 'offers'} this host for "
            f"{cast.ASKED_VCPUS}: max_unit is the largest single request, and a higher ratio does not raise max_unit",
            *(
                f"the command stocktake why names the obstacle {o.constraint.value}: {o.words}. "
                f"Smallest change: {o.change}"
                for o in first
            ),
            *_sentences(zombies),
        ),
        host=cast.FIRST.name,
        ask=f"why --resource VCPU={cast.ASKED_VCPUS}",
    )


def _is_max_unit(first: Obstacle) -> bool:
    """Return whether max_unit (the first host's number of CPUs) refuses a request of ``cast.ASKED_VCPUS``."""
    return (first.constraint, first.wanted, first.available) == (Constraint.MAX_UNIT, cast.ASKED_VCPUS, cast.FIRST.cpus)


def _the_cycle(seen: Seen) -> Story:
    report = seen.first
    ghosts = [f for f in _of(report, "compute-node-orphaned") if f.finding.subject == cast.FIRST.ghost]
    reads = ", ".join(f"{s.name} {'ok' if s.ok else 'failed'} in {s.duration_ms:.0f} ms" for s in report.sources)
    return Story(
        number=4,
        title="The reads, writes and findings of an audit, such as a compute node record without a hypervisor",
        shown=bool(ghosts) and bool(report.sources) and all(s.ok for s in report.sources),
        evidence=(
            f"read: {reads}",
            f"result: {len(report.ledger)} ledger rows, {len(report.findings)} findings; writes in this audit: "
            f"{report.writes_done} (earlier audits had made every change); requests to Placement: {report.requests}",
            *_sentences(ghosts),
        ),
        host=cast.FIRST.name,
        ask="audit",
    )


def _negative(seen: Seen) -> Story:
    report = seen.second
    free = {row.recorded.resource_class: row.free for row in seen.second_holds if row.recorded}
    over = [f for f in _of(report, "over-capacity") if f.finding.resource_class in ("VCPU", "DISK_GB")]
    names = names_in(report.ledger)
    leaks = sorted(_of(report, "allocation-leaked"), key=lambda f: names.get(f.finding.consumer_uuid or "", ""))
    leaked = {f.finding.consumer_uuid for f in leaks}
    incoming = [
        row
        for row in report.ledger
        if row.consumer_uuid == cast.RESIZED.uuid and row.resource_class == "VCPU" and row.cause == "migration-in"
    ]
    negative = (free.get("VCPU") or 0) < 0 and (free.get("DISK_GB") or 0) < 0
    counted = bool(incoming) and incoming[0].promised == cast.LARGE.vcpus
    every = leaked == {guest.uuid for guest in cast.SECOND.leaked}
    return Story(
        number=5,
        title=f"Free vCPUs {_number(free.get('VCPU'))} and free disk {_number(free.get('DISK_GB'))}: "
        "are leaked allocations the cause?",
        shown=negative and counted and every and len(over) == 2,
        evidence=(
            *(f"over-capacity: {_overdrawn(f)}; expected: {f.finding.expected}" for f in over),
            *(
                f"leaked: {names.get(f.finding.consumer_uuid or '', '')} {f.finding.consumer_uuid}: {f.finding.actual}"
                for f in leaks
            ),
            *(
                f"instance {row.consumer_uuid} is being resized to this host, and nova already counts its "
                f"{row.promised} VCPU on this host"
                for row in incoming
            ),
            leak_summary(report),
        ),
        host=cast.SECOND.name,
        ask="explain VCPU",
    )


def _repaired(repair: Repair) -> Story:
    extra = cast.EVACUATED.flavor.vcpus
    expected = sum(guest.flavor.vcpus for guest in cast.FIRST.guests)
    used = (repair.used_before, repair.used_after, repair.used_at_end)
    return Story(
        number=6,
        title="The agent removes the leaked allocation of story 1, and the operator undoes the repair",
        shown=repair.entry_id is not None and used == (expected + extra, expected, expected + extra),
        evidence=(
            f"stocktake heal: {repair.change}",
            f"VCPU that Placement counts as used: {_number(repair.used_before)} before, "
            f"{_number(repair.used_after)} after the repair",
            f"stocktake undo {repair.entry_id}: {repair.undo}; VCPU used afterwards: {_number(repair.used_at_end)}",
            "here [heal] min_age is 0; by default heal changes nothing about a finding that is younger than 300 s",
        ),
        host=cast.FIRST.name,
        ask=f"heal --finding {repair.finding_id[:8]}",
    )


def leak_summary(report: AuditReport) -> str:
    """Return a sentence that says whether allocations on this host leaked, and how many consumers leaked how much."""
    leaks = {f.finding.consumer_uuid for code in INSTANCE_LEAKS for f in _of(report, code)}
    if not leaks:
        return f"{report.node} has no leaked allocations"
    amounts = [
        f"{sum(r.recorded or 0 for r in report.ledger if r.consumer_uuid in leaks and r.resource_class == name)} {unit}"
        for name, unit in (("VCPU", "VCPU"), ("MEMORY_MB", "MiB of MEMORY_MB"), ("DISK_GB", "GiB of DISK_GB"))
    ]
    return (
        f"{report.node} has leaked allocations: {len(leaks)} deleted or moved consumers still have {', '.join(amounts)}"
    )


def _overdrawn(seen: SeenFinding) -> str:
    """Return the amounts of an over-capacity finding as text.

    Another sentence of the story names the leaked consumers.
    """
    facts, name = dict(seen.finding.facts), seen.finding.resource_class or ""
    used, free, leaked = (amount(name, float(facts[fact] or 0)) for fact in ("used", "free", "leaked_amount"))
    return f"{name}: {used} used, of which {leaked} leaked; free: {free}"


def _of(report: AuditReport, code: str, consumer: str | None = None) -> list[SeenFinding]:
    return [
        seen
        for seen in report.findings
        if seen.finding.code == code and seen.confirmed and consumer in (None, seen.finding.consumer_uuid)
    ]


def _sentences(found: Iterable[SeenFinding]) -> list[str]:
    return [f"{s.finding.code}: {s.finding.actual} (expected: {s.finding.expected})" for s in found]


def _holds(rows: Iterable[InventoryRow], resource_class: str) -> Inventory | None:
    return next((r.recorded for r in rows if r.recorded and r.recorded.resource_class == resource_class), None)


def _inventory_text(inventory: Inventory | None) -> str:
    if inventory is None:
        return "nothing"
    return (
        f"total {inventory.total}, reserved {inventory.reserved}, ratio {inventory.allocation_ratio:g}, "
        f"max_unit {inventory.max_unit}"
    )


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"
