"""A small report built by hand: a host with two guests, a foreign volume, and a plan that raises DISK_GB's reserved."""

from dataclasses import replace

from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.finding import Finding, Remedy, RemedyKind, SeenFinding, Severity
from agent.model.host.capabilities import HostCpu
from agent.model.host.devices import PciPool
from agent.model.host.resource_view import CellPages, ResourceView, ViewCell
from agent.model.placement import ROOT, Inventory, ProviderKey
from agent.model.plan import CreateProvider, HeldBack, Plan, PutAggregates, PutInventories, PutTraits
from agent.model.report import (
    AuditReport,
    ConsumerName,
    EvacuationNote,
    HostSummary,
    InventoryRow,
    LedgerRow,
    Outcome,
    ProviderPlace,
    SourceStatus,
    StorageRow,
    TraitRow,
    Verdict,
)

PROVIDER = "11111111-0000-4000-8000-000000000001"
GUEST = "22222222-0000-4000-8000-000000000001"
LEAKED = "22222222-0000-4000-8000-000000000002"
CHILD = "11111111-0000-4000-8000-000000000002"

FOREIGN = Claim(
    consumer=Consumer(key="guests/scratch", kind="volume", name="scratch"),
    cause=Cause.FOREIGN_VOLUME,
    resource_class="DISK_GB",
    amount=8,
    provider_key=ROOT,
    source=Origin("lvm", "volume", "guests/scratch"),
    size_bytes=8_053_063_680,
)

FINDING = SeenFinding(
    finding=Finding(
        code="volume-foreign",
        severity=Severity.WARNING,
        remedy="lvremove guests/scratch, or set [lvm] foreign_volumes",
        expected="0 bytes in volumes that are nobody's",
        actual="8053063680 bytes",
        provider_uuid=PROVIDER,
        resource_class="DISK_GB",
        subject="guests/scratch",
        evidence=(FOREIGN, replace(FOREIGN, provider_key=ProviderKey("lvm", "other"))),
        facts=(("group", "guests"), ("size_bytes", 8_053_063_680)),
        remedies=(
            Remedy(
                kind=RemedyKind.HAND, words="remove the volume if it is not needed", command="lvremove guests/scratch"
            ),
        ),
    ),
    confirmed=True,
    first_seen_at="2026-11-21T09:00:00.000Z",
)

VIEW = ResourceView(
    hypervisor_type="QEMU",
    hypervisor_version=8_002_002,
    hypervisor_hostname="cmp1.example.org",
    host_ip="192.0.2.10",
    vcpus=48,
    vcpus_used=6,
    memory_mib=262_144,
    memory_used_mib=4096,
    disk_total_bytes=536_870_912_000,
    disk_used_bytes=21_474_836_480,
    disk_available_least_gib=-3,
    cpu=HostCpu(
        arch="x86_64",
        model="EPYC",
        vendor="AMD",
        sockets=1,
        cores=24,
        threads=2,
        features=frozenset({"avx2", "aes"}),
        maxphysaddr=("emulate", 48),
    ),
    cells=(
        ViewCell(
            id=0,
            socket=0,
            cpuset=(0, 1),
            pcpuset=(2,),
            memory_mib=131_072,
            siblings=((0, 24),),
            pages=(CellPages(size_kib=2048, total=256, reserved=64),),
            physnets=("physnet1",),
            is_tunneled=True,
        ),
    ),
    pci_devices=5,
    pci_pools=(
        PciPool(
            address="0000:81:00.0",
            vendor_id="8086",
            product_id="1515",
            kind="type-VF",
            numa_node=0,
            count=2,
            tags=(("physical_network", None), ("remote_managed", "false")),
            parent_interface="ens1",
            provider_uuid=CHILD,
        ),
    ),
    supported_instances=(("x86_64", "kvm", "hvm"),),
    uptime_s=12.5,
    load=(0.25, 0.5, 1.0),
    unknown=("disk_available_least: domain x: vanished",),
)

VCPU = Inventory(resource_class="VCPU", total=48, max_unit=48, allocation_ratio=4.0)
DISK = Inventory(resource_class="DISK_GB", total=500, reserved=8, max_unit=500)


def _row(consumer, promised, held, recorded, verdict):
    return LedgerRow(
        consumer_uuid=consumer,
        consumer_key=consumer,
        consumer_name="vm",
        consumer_kind="instance",
        cause="instance",
        provider="compute-17",
        provider_uuid=PROVIDER,
        resource_class="VCPU",
        promised=promised,
        held=held,
        recorded=recorded,
        verdict=verdict,
        source=f"nova instances {consumer}",
    )


REPORT = AuditReport(
    audit_id="0b5f9a52",
    host="compute-17",
    node="compute-17.example.org",
    provider_uuid=PROVIDER,
    role="owner",
    reasons=("interval", "libvirt event"),
    started_at="2026-11-21T10:00:00.000Z",
    duration_ms=18.5,
    outcome=Outcome.FINDINGS,
    sources=(
        SourceStatus(name="libvirt", ok=True, age_s=0.0, duration_ms=3.25, error=None),
        SourceStatus(name="state", ok=False, age_s=61.0, duration_ms=5000.0, error="state: timed out"),
    ),
    findings=(FINDING,),
    plan=Plan(
        writes=(
            CreateProvider(provider_uuid=CHILD, name="child", parent_uuid=PROVIDER),
            PutInventories(provider_uuid=PROVIDER, inventories=(DISK, VCPU)),
            PutTraits(provider_uuid=PROVIDER, traits=("CUSTOM_OWNER_STOCKTAKE",)),
            PutAggregates(provider_uuid=PROVIDER, aggregates=()),
        ),
        held_back=(HeldBack(provider_uuid=PROVIDER, what="MEMORY_MB", why="libvirt could not be read"),),
    ),
    published=True,
    writes_done=4,
    requests=6,
    conflicts=1,
    conflict_kinds=(("provider-generation", 1),),
    microversion=(1, 38),
    attempts=2,
    ledger=(
        _row(GUEST, 4, 4, 4, Verdict.AGREED),
        _row(LEAKED, None, None, 200, Verdict.ALLOCATION_LEAKED),
    ),
    inventory=(
        InventoryRow(
            provider="compute-17",
            provider_uuid=PROVIDER,
            wanted=DISK,
            recorded=None,
            used=None,
            terms=(("foreign", 8),),
        ),
        InventoryRow(provider="compute-17", provider_uuid=PROVIDER, wanted=VCPU, recorded=VCPU, used=204),
    ),
    traits=(
        TraitRow(
            provider="compute-17",
            provider_uuid=PROVIDER,
            trait="CUSTOM_OWNER_STOCKTAKE",
            wanted=True,
            recorded=False,
            owner="ours",
        ),
    ),
    storage=(
        StorageRow(
            store="vg guests",
            owner_kind="foreign",
            owner="guests/scratch",
            what="linear volume scratch",
            size_bytes=8_053_063_680,
            source="lvm guests/scratch",
            store_bytes=9_126_805_504,
        ),
        StorageRow(
            store="vg guests",
            owner_kind="free",
            owner="",
            what="free extents",
            size_bytes=1_073_741_824,
            source="lvm guests",
            store_bytes=9_126_805_504,
        ),
    ),
    evacuations=(
        EvacuationNote(
            instance_uuid=LEAKED, migration_uuid=CHILD, status="done", vcpus=8, memory_mib=None, dest_host="compute-18"
        ),
    ),
    summary=HostSummary(
        node="compute-17.example.org",
        free_ram_mib=1024,
        free_disk_gib=None,
        free_vcpus=-156,
        total_vcpus=48,
        used_vcpus=204,
        phys_ram_mib=2048,
        used_ram_mib=1024,
        phys_disk_gib=500,
        used_disk_gib=20,
    ),
    simulated=("NUMA cells",),
    resource_view=VIEW,
    names=(ConsumerName("web-1", GUEST),),
    providers=(ProviderPlace("compute-17", PROVIDER, None), ProviderPlace("child", CHILD, PROVIDER)),
)


def report_with(number: int) -> AuditReport:
    """Return the report with as many traits as requests, so that a test notices a half-written document."""
    traits = tuple(replace(REPORT.traits[0], trait=f"CUSTOM_{index}") for index in range(number % 50))
    return replace(REPORT, requests=len(traits), traits=traits)
