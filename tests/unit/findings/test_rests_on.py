"""rests_on: which sources an audit must have read before it may say that a finding exists or is gone."""

from __future__ import annotations

from agent.findings import BUILTIN
from agent.model.settings import Role
from agent.model.snapshot import FILESYSTEM, IMAGES, LIBVIRT, LVM, PLACEMENT, PMEM, STATE
from tests.rigs import facts
from tests.rigs.finding_worlds import PLANTED

TABLE = {
    (PLACEMENT, STATE): (
        "allocation-leaked", "allocation-stale-move", "consumer-on-several-providers", "consumer-project-differs",
        "consumer-unknown", "migration-finished-but-counted", "provider-orphaned", "rival-writer",
    ),
    (PLACEMENT, STATE, LIBVIRT): (
        "allocation-differs", "allocation-missing", "companion-leftover", "identity-changed", "pci-allocation-missing",
        "unmanaged-use-unplaced",
    ),
    (PLACEMENT, LIBVIRT): (
        "over-capacity", "pci-device-lost", "pci-spec-conflict", "provider-config-conflict",
        "provider-config-unmatched", "trait-unexpected", "store-changed",
    ),
    (PLACEMENT,): (
        "pci-reporting-disabled", "provider-name-conflict", "reshape-needed", "write-refused", "usage-unlisted",
    ),
    (STATE, LIBVIRT): (
        "compute-node-orphaned", "guest-missing", "guest-power-state-differs", "guest-running-deleted",
        "guest-size-differs", "guest-unknown", "hostname-duplicated",
    ),
    (STATE,): ("migration-stuck", "state-row-unreadable"),
    (LIBVIRT,): ("capabilities-incomplete", "cpu-offline", "mdev-type-unknown", "pci-spec-unmatched"),
    (LVM, STATE, LIBVIRT): ("volume-foreign", "volume-orphaned"),
    (LVM,): ("thin-pool-filling", "thin-pool-overcommitted", "volume-group-missing"),
    (IMAGES, STATE, LIBVIRT): ("image-leftover",),
    (PMEM,): ("pmem-namespace-missing",),
    (): ("source-unavailable", "source-stale"),
}  # fmt: skip


def test_each_finding_rule_needs_the_listed_sources():
    """A table in this test file lists the sources that each finding rule needs; the rules agree with the table."""
    expected = {code: frozenset(sources) for sources, codes in TABLE.items() for code in codes}
    assert {rule.code: rule.rests_on for rule in BUILTIN} == expected


def test_pinned_cpu_findings_do_not_need_placement_data():
    """Each finding needs all data sources of its rule, but a finding about pinned CPUs does not need Placement."""
    rules = {rule.code: rule.rests_on for rule in BUILTIN}
    found = [f for code in PLANTED for make in PLANTED[code] for f in make().decision(Role.OWNER).findings]
    pinned = {f.id for f in found if f.code == "over-capacity" and f.subject.startswith("cell ")}
    assert pinned
    assert all(f.rests_on >= rules[f.code] for f in found if f.id not in pinned)
    assert {f.rests_on for f in found if f.id in pinned} == {frozenset({STATE, LIBVIRT})}


def test_the_finding_store_changed_needs_three_sources():
    """The finding `store-changed` needs data of Placement, libvirt and the file system, and no other data."""
    found = [f for make in PLANTED["store-changed"] for f in make().decision(Role.OWNER).findings]
    assert {f.rests_on for f in found if f.code == "store-changed"} == {frozenset({PLACEMENT, LIBVIRT, FILESYSTEM})}


def test_a_finding_about_an_unallocated_volume_needs_lvm_data():
    """The finding about an LVM volume without an allocation needs data from LVM, Placement, nova and libvirt."""
    root = facts.root(facts.inventory("DISK_GB", 1))
    world = facts.snapshot(
        lvm=facts.group(20, facts.volume("v", 2)), placement=facts.view(provider=root, typed_consumers=True)
    )
    chosen = facts.lvm_settings(role=Role.COMPANION)
    (found,) = facts.findings(world, "unmanaged-use-unplaced", chosen)
    assert found.rests_on == {PLACEMENT, STATE, LIBVIRT, LVM}
