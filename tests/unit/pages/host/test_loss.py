"""The three numbers of a host, each on a world in which exactly one thing is wrong."""

import dataclasses

import pytest

from agent.model.claim import Cause
from agent.model.own_consumers import own_consumer_uuid
from agent.model.placement import Inventory
from agent.model.report import InventoryRow, Verdict
from agent.pages.host.loss import Loss, losses_of, without_owner
from tests.rigs.pages import GIB, dead
from tests.rigs.screens import BILLING, DELETED, FOREIGN, HOST, LEAKED, LOST, MISSING, SCREEN, STALE, UNREAD

CLEAN = dataclasses.replace(SCREEN, findings=(), ledger=(), inventory=(), storage=())


def row(uuid, resource_class="VCPU", promised=None, held=None, recorded=None, **changes):
    plain = dataclasses.replace(
        SCREEN.ledger[0],
        consumer_uuid=uuid,
        consumer_key=uuid or "guests/by-hand",
        resource_class=resource_class,
        promised=promised,
        held=held,
        recorded=recorded,
    )
    return dataclasses.replace(plain, **changes)


def offer(resource_class="VCPU", reserved=0, ratio=4.0, terms=()):
    found = Inventory(
        resource_class=resource_class,
        total=100,
        reserved=reserved,
        min_unit=1,
        max_unit=100,
        step_size=1,
        allocation_ratio=ratio,
    )
    return InventoryRow(provider="compute-1", provider_uuid=HOST, wanted=found, recorded=found, used=0, terms=terms)


def test_a_host_without_findings_has_nothing_wasted():
    losses = losses_of(CLEAN)
    assert (losses.sold_twice, losses.wasted) == (Loss(), Loss())
    assert losses.unaccounted == Loss(size_bytes=0)
    assert losses.sold_twice.is_none
    assert losses.unaccounted.is_none


def test_allocations_of_deleted_or_moved_instances_are_wasted():
    report = dataclasses.replace(
        CLEAN,
        findings=(LEAKED, STALE),
        ledger=(row(DELETED, recorded=4), row(BILLING, recorded=8), row(BILLING, "MEMORY_MB", recorded=16384)),
    )
    assert losses_of(report).wasted.amounts == {"VCPU": 12, "MEMORY_MB": 16384}


def test_allocations_on_other_provider_trees_are_not_wasted():
    """The host page counts leaked allocations as wasted only if they are on this host's provider tree."""
    ledger = (row(DELETED, recorded=4), row(DELETED, "DISK_GB", recorded=80, outside_tree=True))
    report = dataclasses.replace(CLEAN, findings=(LEAKED,), ledger=ledger)
    assert losses_of(report).wasted.amounts == {"VCPU": 4}


def test_vcpus_without_an_allocation_count_as_sold_twice():
    """An instance has 2 VCPUs, but no allocation in Placement.

    The host page counts the 2 VCPUs as "sold twice". The reason is that Placement may give the same VCPUs to a new
    instance.
    """
    report = dataclasses.replace(CLEAN, findings=(LOST,), ledger=(row(MISSING, promised=2, held=2),))
    assert losses_of(report).sold_twice.amounts == {"VCPU": 2}


@pytest.mark.parametrize(
    ("reserved", "sold_twice"),
    [(0, 8), (1, 4), (2, 0), (3, 0)],
    ids=["none reserved", "half reserved", "all reserved", "more reserved"],
)
def test_unreserved_vcpus_of_an_unknown_guest_are_sold_twice(reserved: int, sold_twice: int):
    """A guest unknown to nova uses 8 VCPU, 4 of them reserved. Placement can give the other 4 to an instance."""
    guest = row("5e0f", held=8, cause=Cause.FOREIGN_GUEST.value, verdict=Verdict.UNMANAGED)
    report = dataclasses.replace(CLEAN, ledger=(guest,), inventory=(offer(reserved=reserved),))
    assert losses_of(report).sold_twice.amounts == ({"VCPU": sold_twice} if sold_twice else {})


def test_memory_of_an_unknown_guest_is_sold_twice():
    """Placement can sell the memory of an unknown guest a second time: reserved_host_memory_mb covers no guest."""
    guest = row("5e0f", "MEMORY_MB", held=4096, cause=Cause.FOREIGN_GUEST.value, verdict=Verdict.UNMANAGED)
    inventory = offer("MEMORY_MB", reserved=4096, ratio=1.0, terms=(("reserved_host_memory_mb", 4096),))
    report = dataclasses.replace(CLEAN, ledger=(guest,), inventory=(inventory,))
    assert losses_of(report).sold_twice.amounts == {"MEMORY_MB": 4096}


def test_unallocated_vcpus_of_an_unknown_guest_are_sold_twice():
    """An unknown guest uses 8 VCPU, 6 of them allocated; Placement can sell the other 2 VCPU a second time."""
    guest = row("5e0f", held=8, cause=Cause.FOREIGN_GUEST.value, verdict=Verdict.UNMANAGED)
    own = row(own_consumer_uuid(HOST, Cause.FOREIGN_GUEST), recorded=6, consumer_kind="stocktake")
    report = dataclasses.replace(CLEAN, ledger=(guest, own), inventory=(offer(),))
    assert losses_of(report).sold_twice.amounts == {"VCPU": 2}


def test_volume_sizes_are_added_up_before_the_sum_is_rounded():
    """Four volumes of half a GiB that are unknown to nova count as 2 GiB on the host page, not as 4 GiB."""
    volumes = tuple(
        row(
            None,
            "DISK_GB",
            held=1,
            size_bytes=GIB // 2,
            cause=Cause.FOREIGN_VOLUME.value,
            verdict=Verdict.UNMANAGED,
            consumer_key=f"guests/v{number}",
        )
        for number in range(4)
    )
    report = dataclasses.replace(CLEAN, ledger=volumes, inventory=(offer("DISK_GB", ratio=2.0),))
    assert losses_of(report).sold_twice.amounts == {"DISK_GB": 2}
    covered = dataclasses.replace(report, inventory=(offer("DISK_GB", reserved=1, ratio=2.0),))
    assert losses_of(covered).sold_twice.amounts == {"DISK_GB": 1}


def test_disk_space_without_an_owner_is_unaccounted_for():
    """If 60 of 100 bytes of a store belong to instances, the host page counts 40 bytes as unaccounted for."""
    store = SCREEN.storage[0]
    rows = (
        dataclasses.replace(store, owner_kind="instance", size_bytes=60, store_bytes=100),
        dataclasses.replace(store, owner_kind="unknown", size_bytes=30, store_bytes=100),
    )
    assert without_owner(dataclasses.replace(CLEAN, storage=rows)) == 40


def test_allocations_of_an_unknown_consumer_are_unaccounted_for():
    """If nova does not know a consumer, the host page counts its allocations as unaccounted for, not as wasted."""
    seen = dataclasses.replace(LEAKED, finding=dataclasses.replace(LEAKED.finding, code="consumer-unknown"))
    report = dataclasses.replace(CLEAN, findings=(seen,), ledger=(row(DELETED, recorded=4),))
    assert losses_of(report).unaccounted.amounts == {"VCPU": 4}
    assert losses_of(report).wasted.amounts == {}


def test_losses_are_unknown_if_placement_was_not_read():
    """If Placement was not read, the host page shows the wasted amounts and all other losses as unknown."""
    losses = losses_of(UNREAD)
    assert {loss.missing for loss in (losses.sold_twice, losses.wasted, losses.unaccounted)} == {("placement",)}
    assert not any(loss.is_none for loss in (losses.sold_twice, losses.wasted, losses.unaccounted))


def test_wasted_allocations_are_shown_if_lvm_was_not_read():
    """Wasted amounts are allocations that no instance uses. The host page computes them without data of LVM."""
    sources = tuple(dataclasses.replace(each, ok=each.name != "lvm") for each in SCREEN.sources)
    losses = losses_of(dataclasses.replace(SCREEN, sources=sources, findings=(FOREIGN,)))
    assert losses.wasted.is_known
    assert losses.unaccounted.missing == losses.sold_twice.missing == ("lvm",)


def test_losses_are_unknown_if_no_source_was_read():
    """If no source was read, the host page shows the wasted amounts and all other losses as unknown."""
    losses = losses_of(dead())
    assert not any(each.is_known for each in (losses.sold_twice, losses.wasted, losses.unaccounted))
