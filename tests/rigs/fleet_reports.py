"""A made cloud of many hosts as their report documents: leaks, consumers on two hosts, orphans, strangers in stores.

``documents(number)`` makes the same cloud in each run. Of each 100 hosts: 4 leak, 2 sell twice (a guest without an
allocation, a guest that the cloud does not know), 2 share a consumer, 2 have an orphan, 3 have strangers, 1 could not
read Placement, 1 is silent.
"""

import datetime
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.finding import Finding, FindingState, SeenFinding, Severity
from agent.model.placement import ROOT, Inventory, ProviderKey
from agent.model.plan import Plan
from agent.model.report import (
    AuditReport,
    ConsumerName,
    InventoryRow,
    LedgerRow,
    Outcome,
    SourceStatus,
    StorageRow,
    Verdict,
)
from agent.render.documents import report_document

#: The time of the newest audit.
AT = datetime.datetime(2026, 11, 22, 3, 11, 7, tzinfo=datetime.UTC)
VERSIONS = ("1.4.0", "1.4.0", "1.4.0", "1.3.2")
ROLES = ("companion", "companion", "owner", "observer")
GIB = 1 << 30
#: What the findings about orphans say of them.
OLD_PROVIDER = (
    ("providers", 1),
    ("inventory", "100 GiB of DISK_GB, 65536 MiB of MEMORY_MB, 16 VCPU"),
    ("allocations", "0e7a: 2048 MiB of MEMORY_MB; 0e7a: 2 VCPU"),
)
OLD_NODE = (("compute_node_id", 7), ("vcpus", 24), ("memory_mib", 131_072), ("local_gib", 800))
#: Amounts that one leaked consumer holds.
LEAK = {"VCPU": 8, "MEMORY_MB": 16_384, "DISK_GB": 80}


def iso(at: datetime.datetime) -> str:
    """Return the time as reports write it."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ago(**units: float) -> str:
    """Return the time so long before AT."""
    return iso(AT - datetime.timedelta(**units))


def name(number: int) -> str:
    """Return the name of a host."""
    return f"compute-{number:04d}"


def uid(*parts: object) -> str:
    """Return a uuid that depends only on the parts."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(map(str, parts))))


def claim(consumer: str, resource_class: str, amount: int, system: str, provider: ProviderKey = ROOT) -> Claim:
    """Return one claim of a consumer in the book of ``placement`` or ``nova``."""
    return Claim(
        consumer=Consumer(key=consumer, kind="instance", uuid=consumer, name="vm"),
        cause=Cause.RECORDED_ONLY if system == "placement" else Cause.INSTANCE,
        resource_class=resource_class,
        amount=amount,
        provider_key=provider,
        source=Origin(system, "allocations", consumer),
    )


def found(code: str, severity: Severity, headline: str, since: str, **changes: Any) -> SeenFinding:
    """Return a confirmed finding."""
    return SeenFinding(
        finding=Finding(
            code=code, severity=severity, remedy="", expected="", actual=headline, headline=headline, **changes
        ),
        confirmed=True,
        first_seen_at=since,
        last_seen_at=iso(AT),
        state=FindingState.CONFIRMED,
        times=2,
    )


def leaked(host: int, number: int = 1, since: str = "") -> SeenFinding:
    """Return the finding about one leaked consumer."""
    consumer = uid("leaked", host, number)
    evidence = tuple(claim(consumer, *amount, "placement") for amount in LEAK.items())
    return found(
        "allocation-leaked",
        Severity.ERROR,
        f"old-{host}-{number}: the instance is deleted, and Placement still counts 8 VCPU",
        since or ago(hours=2 + host % 70),
        began_at=ago(hours=3 + host % 70),
        began_because="the instance was deleted",
        consumer_uuid=consumer,
        provider_uuid=uid("provider", host),
        evidence=evidence,
    )


def missing(host: int) -> SeenFinding:
    """Return the finding about an instance without an allocation."""
    consumer = uid("missing", host)
    return found(
        "allocation-missing",
        Severity.ERROR,
        f"dev-{host}: 4 VCPU and 8 GiB RAM are promised, and Placement counts nothing",
        ago(days=1, minutes=host),
        consumer_uuid=consumer,
        provider_uuid=uid("provider", host),
        evidence=(claim(consumer, "VCPU", 4, "nova"), claim(consumer, "MEMORY_MB", 8192, "nova")),
    )


def spread(host: int, other: int, consumer: str) -> SeenFinding:
    """Return the finding about a consumer that also has allocations on another host."""
    elsewhere = uid("provider", other)
    return found(
        "consumer-on-several-providers",
        Severity.ERROR,
        f"shop: Placement counts 4 VCPU on {name(host)}, and the same classes on another host",
        ago(days=3, hours=host % 5),
        consumer_uuid=consumer,
        provider_uuid=uid("provider", host),
        evidence=(
            claim(consumer, "VCPU", 4, "placement"),
            claim(consumer, "VCPU", 4, "placement", ProviderKey("provider", elsewhere)),
        ),
        facts=(("other_providers", elsewhere), ("instance_host", name(max(host, other)))),
    )


def orphan(host: int, code: str = "provider-orphaned") -> SeenFinding:
    """Return the finding about an orphaned provider."""
    return found(
        code,
        Severity.WARNING,
        f"old-node-{host}: Placement still has this provider, and no compute node of this host has it",
        ago(days=9),
        provider_uuid=uid("orphan", host),
        subject=f"old-node-{host}",
        facts=OLD_PROVIDER if code == "provider-orphaned" else OLD_NODE,
    )


def foreign(host: int) -> SeenFinding:
    """Return the finding about a volume that an operator made by hand."""
    return found(
        "volume-foreign",
        Severity.WARNING,
        f"guests/backup-{host}: {20 + host % 300} GiB in a volume that is nobody's",
        ago(days=5),
        provider_uuid=uid("provider", host),
        subject=f"guests/backup-{host}",
        resource_class="DISK_GB",
    )


def stranger(host: int) -> SeenFinding:
    """Return the finding about guests that the cloud does not know, and for which nothing is reserved."""
    return found(
        "unmanaged-use-unplaced",
        Severity.WARNING,
        f"{name(host)}: 6 VCPU and 12288 MiB of guests that the cloud does not know are not reserved",
        ago(days=4, hours=host % 20),
        provider_uuid=uid("provider", host),
        resource_class="VCPU",
    )


def strange_rows(host: int) -> tuple[LedgerRow, ...]:
    """Return the ledger's rows of a guest that the cloud does not know: 6 VCPU and 12 GiB RAM."""
    guest = uid("stranger", host)
    return tuple(
        LedgerRow(
            consumer_uuid=guest, consumer_key=guest, consumer_name="by-hand", consumer_kind="domain",
            cause=Cause.FOREIGN_GUEST.value, provider=name(host), provider_uuid=uid("provider", host),
            resource_class=resource_class, promised=None, held=amount, recorded=None, verdict=Verdict.UNMANAGED,
            source="libvirt domain by-hand",
        )
        for resource_class, amount in (("VCPU", 6), ("MEMORY_MB", 12_288))
    )  # fmt: skip


def report(number: int, *findings: SeenFinding, **changes: Any) -> AuditReport:
    """Return the report of one host with these findings."""
    started = AT - datetime.timedelta(seconds=number % 60)
    made = AuditReport(
        audit_id=f"{number:08x}",
        host=name(number),
        node=f"{name(number)}.example.org",
        provider_uuid=uid("provider", number),
        role=ROLES[number % 4],
        reasons=("interval",),
        started_at=iso(started),
        duration_ms=20.0,
        outcome=Outcome.FINDINGS if findings else Outcome.CLEAN,
        sources=tuple(
            SourceStatus(name=source, ok=True, age_s=0.0, duration_ms=3.0, error=None)
            for source in ("placement", "state", "libvirt", "lvm")
        ),
        findings=findings,
        plan=Plan(),
        inventory=inventory(number, findings),
        storage=storage(number, findings),
        ledger=guest_rows(number),
        names=(ConsumerName(f"guest-{number}", uid("guest", number)),),
    )
    return replace(made, **changes)


def guest_rows(host: int) -> tuple[LedgerRow, ...]:
    """Return the ledger's rows of one guest with 1 to 32 VCPU, which the three books have alike."""
    guest = uid("guest", host)
    amounts = (("VCPU", 1 + host * 7 % 32), ("MEMORY_MB", 4096))
    return tuple(
        LedgerRow(
            consumer_uuid=guest, consumer_key=guest, consumer_name=f"guest-{host}", consumer_kind="instance",
            cause=Cause.INSTANCE.value, provider=name(host), provider_uuid=uid("provider", host),
            resource_class=resource_class, promised=amount, held=amount, recorded=amount, verdict=Verdict.AGREED,
            source="nova instance",
        )
        for resource_class, amount in amounts
    )  # fmt: skip


def inventory(number: int, findings: tuple[SeenFinding, ...]) -> tuple[InventoryRow, ...]:
    """Return the inventory: 48 CPUs with ratio 4, 256 GiB RAM, 2 TiB disk; three quarters used, and the leaks."""
    leaks = sum(seen.finding.code == "allocation-leaked" for seen in findings)
    sizes = (("VCPU", 48, 4.0, 140), ("MEMORY_MB", 262_144, 1.0, 190_000), ("DISK_GB", 2048, 1.0, 1400))
    return tuple(
        InventoryRow(
            provider=name(number),
            provider_uuid=uid("provider", number),
            wanted=Inventory(resource_class=cls, total=total, max_unit=total, allocation_ratio=ratio),
            recorded=Inventory(resource_class=cls, total=total, max_unit=total, allocation_ratio=ratio),
            used=int(used * (60 + number % 40) / 100) + leaks * LEAK[cls],
        )
        for cls, total, ratio, used in sizes
    )


def storage(number: int, findings: tuple[SeenFinding, ...]) -> tuple[StorageRow, ...]:
    """Return one store, with a stranger for each finding about a volume."""
    rows = [
        StorageRow(
            store="vg guests", owner_kind="foreign", owner=seen.finding.subject or "", what="linear volume",
            size_bytes=(20 + number % 300) * GIB, source="lvm guests", store_bytes=2048 * GIB,
        )
        for seen in findings if seen.finding.code == "volume-foreign"
    ]  # fmt: skip
    taken = sum(row.size_bytes for row in rows)
    free = StorageRow(
        store="vg guests", owner_kind="free", owner="", what="free extents", size_bytes=2048 * GIB - taken,
        source="lvm guests", store_bytes=2048 * GIB,
    )  # fmt: skip
    return (*rows, free)


def unread(number: int) -> AuditReport:
    """Return the report of a host that could not read Placement."""
    sources = (
        SourceStatus(name="placement", ok=False, age_s=None, duration_ms=5000.0, error="placement: timed out"),
        SourceStatus(name="libvirt", ok=True, age_s=0.0, duration_ms=3.0, error=None),
    )
    gone = found("source-unavailable", Severity.ERROR, "placement: timed out", ago(minutes=25), subject="placement")
    return report(number, gone, outcome=Outcome.PARTIAL, sources=sources, inventory=())


def reports(number: int) -> Iterator[AuditReport]:
    """Yield the reports of so many hosts."""
    for host in range(1, number + 1):
        yield _report(host)


def documents(number: int) -> Iterator[dict[str, Any]]:
    """Yield the documents of so many hosts, each with the version of its agent."""
    for host, made in enumerate(reports(number), start=1):
        yield {**report_document(made), "agent_version": VERSIONS[host % 4]}


def _report(host: int) -> AuditReport:
    place = host % 100
    if place in (17, 34, 51, 68):
        return report(host, *(leaked(host, count) for count in range(1, 2 + host % 5)))
    if place == 23:
        return report(host, missing(host))
    if place == 29:
        return report(host, stranger(host), ledger=strange_rows(host))
    if place in (40, 41):
        other = host + 1 if place == 40 else host - 1
        consumer = uid("shared", min(host, other))
        return report(host, spread(host, other, consumer), names=(ConsumerName(f"shop-{min(host, other)}", consumer),))
    if place in (60, 61):
        return report(host, orphan(host, "provider-orphaned" if place == 60 else "compute-node-orphaned"))
    if place in (72, 73, 74):
        return report(host, foreign(host))
    if place == 90:
        return unread(host)
    if place == 95:
        return report(host, started_at=ago(hours=5, minutes=host % 60))
    return report(host)
