"""The fixed report from which the golden screens are drawn: one host with a finding of each kind that a screen shows.

Four instances are in order. ``billing`` was evacuated to compute-2 and is still recorded here, which has two symptoms.
``old-shop`` is deleted and still recorded. An operator made a volume by hand. ``dev-3`` is missing in Placement, by the
last audit that could read Placement. One name is hostile, and one is long.
"""

from collections.abc import Iterable
from dataclasses import replace

from agent.model.finding import (
    Finding,
    FindingState,
    GoneFinding,
    GoneReason,
    Remedy,
    RemedyKind,
    SeenFinding,
    Severity,
)
from agent.model.placement import Inventory
from agent.model.plan import HeldBack, Plan, PutInventories
from agent.model.report import (
    AuditReport,
    EvacuationNote,
    InventoryRow,
    LedgerRow,
    Outcome,
    SourceStatus,
    StorageRow,
    TraitRow,
    Verdict,
)
from agent.render.draw import drawn
from agent.render.layout import Block, Look

HOST = "bd0379cb-12b7-54ae-a063-fe1cfa3fdfa4"
GPU = "0d5c8a9e-6f5e-5c9b-8f43-1f4c2b7a9d10"
BILLING = "95a20332-20e6-52bf-aeae-06fd5924e001"
MIGRATION = "3f0c9d51-7a7e-5b0b-9f0e-52a3c1d8e002"
DELETED = "6b1f7c22-9a01-5d3c-8e44-0c6f5a2be003"
MISSING = "c7e4d5a6-1b2c-5e3f-9a8b-7c6d5e4fe004"
WEB = tuple(f"02edd24{n}-3b92-5d58-9d51-d1d8bc0d577{n}" for n in range(4))
NAMES = ("web-1", "web-2", "database-of-the-accounting-department", "evil\x1b[2J\nname\u202e")
AT = "2026-11-22T03:11:07.000Z"
SINCE = "2026-11-22T03:07:00.000Z"


def _finding(code: str, severity: Severity, actual: str, **changes: object) -> SeenFinding:
    seen = {name: changes.pop(name) for name in ("state", "unknown_because", "times") if name in changes}
    found = Finding(
        code=code,
        severity=severity,
        remedy=str(changes.pop("remedy", "")),
        expected="no allocation on this host",
        actual=actual,
        provider_uuid=HOST,
        headline=f"{code}: {actual}"[:160],
        **changes,  # type: ignore[arg-type]
    )
    since = SeenFinding(
        finding=found, confirmed=True, first_seen_at=SINCE, last_seen_at=AT, state=FindingState.CONFIRMED
    )
    return replace(since, **seen)  # type: ignore[arg-type]


def _unset(uuid: str) -> Remedy:
    command = f"openstack resource provider allocation unset --provider {HOST} {uuid}"
    return Remedy(kind=RemedyKind.HAND, words="remove only this host's part", command=command)


def _heal(finding: SeenFinding, *more: Remedy) -> SeenFinding:
    command = f"stocktake heal --finding {finding.finding.id[:8]}"
    heal = Remedy(kind=RemedyKind.HEAL, words="print the plan of the repair", command=command)
    return replace(finding, finding=replace(finding.finding, remedies=(heal, *more)))


STALE = _heal(
    _finding(
        "allocation-stale-move",
        Severity.ERROR,
        "Placement counts 8 VCPU, 16384 MiB of MEMORY_MB here; the instance lives on compute-2",
        consumer_uuid=BILLING,
        facts=(("instance_host", "compute-2"),),
    ),
    _unset(BILLING),
)
SPREAD = _finding(
    "consumer-on-several-providers",
    Severity.WARNING,
    "VCPU on 2 providers",
    consumer_uuid=BILLING,
    remedy="see the cause",
)
COUNTED = _finding(
    "migration-finished-but-counted", Severity.WARNING, "8 VCPU of a finished evacuation", consumer_uuid=BILLING
)
LEAKED = _heal(
    _finding(
        "allocation-leaked",
        Severity.ERROR,
        "Placement counts 4 VCPU, 8192 MiB of MEMORY_MB for an instance that was deleted",
        consumer_uuid=DELETED,
        state=FindingState.SEEN,
    ),
    _unset(DELETED),
)
LOST = _finding(
    "allocation-missing",
    Severity.ERROR,
    "the cloud promised 2 VCPU, Placement counts nothing",
    consumer_uuid=MISSING,
    state=FindingState.UNKNOWN,
    unknown_because=("placement",),
    remedy="rebuild the allocation: openstack server show, then allocation set",
)
FOREIGN = _finding(
    "volume-foreign",
    Severity.WARNING,
    "volume guests/backup-by-hand takes 128849018880 bytes (counted in DISK_GB)",
    subject="guests/backup-by-hand",
    resource_class="DISK_GB",
)
FOREIGN = replace(
    FOREIGN,
    finding=replace(
        FOREIGN.finding,
        remedies=(
            Remedy(kind=RemedyKind.INSPECT, words="who uses it", command="lvs -o +lv_tags guests/backup-by-hand"),
            Remedy(kind=RemedyKind.HAND, words="remove it, or list it in [lvm] foreign_volumes", command=None),
        ),
    ),
)


def _caused(symptom: SeenFinding) -> SeenFinding:
    return replace(symptom, caused_by=(STALE.finding.id,))


FINDINGS = (
    replace(STALE, symptoms=(SPREAD.finding.id, COUNTED.finding.id)),
    _caused(SPREAD),
    _caused(COUNTED),
    LEAKED,
    LOST,
    FOREIGN,
)


def ledger_row(
    uuid: str, name: str, resource_class: str, books: tuple, verdict: Verdict, **changes: object
) -> LedgerRow:
    """Return a row of an instance of compute-1; ``books`` are the promised, the held and the recorded amount."""
    promised, held, recorded = books
    plain = LedgerRow(
        consumer_uuid=uuid,
        consumer_key=uuid,
        consumer_name=name,
        consumer_kind="instance",
        cause="instance",
        provider="compute-1",
        provider_uuid=HOST,
        resource_class=resource_class,
        promised=promised,
        held=held,
        recorded=recorded,
        verdict=verdict,
        source=f"nova instances {uuid}",
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def _ledger() -> tuple[LedgerRow, ...]:
    rows = []
    for uuid, name in zip(WEB, NAMES, strict=True):
        rows.append(ledger_row(uuid, name, "VCPU", (4, 4, 4), Verdict.AGREED))
        rows.append(ledger_row(uuid, name, "MEMORY_MB", (8192, 8192, 8192), Verdict.AGREED))
    for uuid, name, vcpus, mib, verdict in (
        (BILLING, "billing", 8, 16384, Verdict.ALLOCATION_STALE_MOVE),
        (DELETED, "old-shop", 4, 8192, Verdict.ALLOCATION_LEAKED),
    ):
        left = {"cause": "recorded-only", "source": f"placement allocations {uuid}"}
        rows.append(ledger_row(uuid, name, "VCPU", (None, None, vcpus), verdict, **left))
        rows.append(ledger_row(uuid, name, "MEMORY_MB", (None, None, mib), verdict, **left))
    rows.append(ledger_row(MISSING, "dev-3", "VCPU", (2, 2, None), Verdict.ALLOCATION_MISSING))
    by_hand = {"consumer_uuid": None, "consumer_kind": "volume", "cause": "foreign-volume", "size_bytes": 128849018880}
    key = "guests/backup-by-hand"
    source = f"lvm {key}"
    rows.append(ledger_row(key, "", "DISK_GB", (None, 120, None), Verdict.UNMANAGED, source=source, **by_hand))
    kept = {"consumer_uuid": None, "consumer_kind": "host", "cause": "host-reserved", "source": "configuration"}
    rows.append(ledger_row("reserved_host_memory_mb", "", "MEMORY_MB", (None, 512, None), Verdict.RESERVED, **kept))
    return tuple(rows)


VCPU = Inventory(resource_class="VCPU", total=48, max_unit=48, allocation_ratio=4.0)
MEMORY = Inventory(resource_class="MEMORY_MB", total=262144, reserved=512, max_unit=262144)
DISK = Inventory(resource_class="DISK_GB", total=400, reserved=120, max_unit=400)
VGPU = Inventory(resource_class="VGPU", total=16, max_unit=16)


def _offer(wanted: Inventory, recorded: Inventory | None, used: int, **changes: object) -> InventoryRow:
    plain = InventoryRow(provider="compute-1", provider_uuid=HOST, wanted=wanted, recorded=recorded, used=used)
    return replace(plain, **changes)  # type: ignore[arg-type]


def _store(kind: str, owner: str, what: str, size_bytes: int) -> StorageRow:
    return StorageRow(
        store="vg guests",
        owner_kind=kind,
        owner=owner,
        what=what,
        size_bytes=size_bytes,
        source=f"lvm {owner or 'guests'}",
        store_bytes=429559644160,
    )


def _trait(name: str, wanted: bool, recorded: bool, owner: str = "ours") -> TraitRow:
    return TraitRow(provider="compute-1", provider_uuid=HOST, trait=name, wanted=wanted, recorded=recorded, owner=owner)


def _source(name: str, duration_ms: float) -> SourceStatus:
    return SourceStatus(name=name, ok=True, age_s=0.0, duration_ms=duration_ms, error=None)


GONE = GoneFinding(
    seen=_finding("guest-missing", Severity.ERROR, "no guest", consumer_uuid=WEB[0]),
    reason=GoneReason.HOST_CHANGED,
    words="libvirt: no guest -> a running guest",
)
SCREEN = AuditReport(
    audit_id="0b5f9a52-7f0e-4c5e-9a39-1d9b8e1a8f60",
    host="compute-1",
    node="compute-1",
    provider_uuid=HOST,
    role="owner",
    reasons=("command: audit",),
    started_at=AT,
    duration_ms=412.5,
    outcome=Outcome.FINDINGS,
    sources=(
        _source("placement", 120.5),
        replace(_source("state", 8.25), read="light"),
        _source("libvirt", 3.5),
        _source("lvm", 210.0),
    ),
    findings=FINDINGS,
    plan=Plan(
        writes=(PutInventories(provider_uuid=HOST, inventories=(DISK,)),),
        held_back=(HeldBack(provider_uuid=GPU, what="VGPU", why="the mediated devices of 0000:81:00.0 are not known"),),
    ),
    requests=12,
    tried=12,
    ledger=_ledger(),
    inventory=(
        _offer(VCPU, VCPU, 28),
        _offer(MEMORY, replace(MEMORY, reserved=0), 57344, terms=(("reserved_host_memory_mb", 512),)),
        _offer(DISK, None, 0, terms=(("foreign-volume", 120),)),
        _offer(VGPU, VGPU, 3, provider="compute-1_pci_0000_81_00_0", provider_uuid=GPU),
    ),
    traits=(
        _trait("COMPUTE_NODE", wanted=True, recorded=True),
        _trait("COMPUTE_VOLUME_MULTI_ATTACH", wanted=True, recorded=False),
        _trait("HW_CPU_X86_AVX512VPOPCNTDQ", wanted=False, recorded=True),
        _trait("CUSTOM_GOLD", wanted=True, recorded=True, owner="operator"),
    ),
    storage=(
        _store("foreign", "guests/backup-by-hand", "linear volume backup-by-hand", 128849018880),
        *(_store("instance", uuid, f"linear volume {uuid}_disk", 42949672960) for uuid in WEB),
        _store("free", "", "free extents", 128911933440),
    ),
    evacuations=(
        EvacuationNote(
            instance_uuid=BILLING,
            migration_uuid=MIGRATION,
            status="done",
            vcpus=8,
            memory_mib=16384,
            dest_host="compute-2",
        ),
    ),
    gone=(GONE,),
)
UNREAD = replace(
    SCREEN,
    outcome=Outcome.PARTIAL,
    sources=(
        SourceStatus(
            name="placement",
            ok=False,
            age_s=91.0,
            duration_ms=30000.0,
            error="http://placement.example.org: no answer within 30 s",
        ),
        *SCREEN.sources[1:],
    ),
    requests=0,
    tried=12,
    findings=tuple(
        replace(
            seen, state=FindingState.UNKNOWN, unknown_because=("placement",), last_seen_at="2026-11-22T03:09:36.000Z"
        )
        if seen.finding.code.startswith("allocation")
        else seen
        for seen in FINDINGS
    ),
    ledger=tuple(
        replace(row, recorded=None, verdict=Verdict.UNKNOWN)
        for row in SCREEN.ledger
        if row.cause != "recorded-only" and row.verdict is not Verdict.RESERVED
    ),
    inventory=tuple(replace(row, recorded=None, used=None) for row in SCREEN.inventory),
    gone=(),
)


def _one_of_many(seen: SeenFinding, number: int) -> SeenFinding:
    """Return the finding again, about another consumer; ``number`` has one digit."""
    consumer = f"{number}{str(seen.finding.consumer_uuid)[1:]}"
    finding = replace(
        seen.finding, consumer_uuid=consumer, headline=f"shop-{number}: Placement counts 4 VCPU of a deleted instance"
    )
    return _heal(replace(seen, finding=finding))


# Seven instances were deleted, and Placement counts all of them.
MANY_LEAKS = replace(SCREEN, findings=(*(_one_of_many(LEAKED, n) for n in range(7)), FOREIGN), gone=(), plan=Plan())


def shown(blocks: Iterable[Block], width: int | None = None) -> list[str]:
    """Return the lines that a command prints for these blocks, without colours."""
    return drawn(blocks, Look(width=width)).splitlines()
