"""The line and the three bars of the capacity picture count the same: each contains what is reserved."""

import dataclasses

import pytest

from agent.model.claim import Cause
from agent.model.placement import Inventory
from agent.model.report import InventoryRow, Verdict
from agent.pages.host.books import class_books
from agent.pages.host.pictures.capacity import conclusion
from tests.rigs.pages import GIB, facts
from tests.rigs.screens import HOST, SCREEN, ledger_row

INSTANCE = ledger_row("i", "web", "DISK_GB", (160, 160, 160), Verdict.AGREED)
VOLUME = ledger_row(
    "vg/backup", "", "DISK_GB", (None, 120, None), Verdict.UNMANAGED, consumer_uuid=None,
    cause=Cause.FOREIGN_VOLUME.value, size_bytes=120 * GIB,
)  # fmt: skip


def books(*rows, total=400, reserved=0, ratio=1.0, terms=(), name="DISK_GB"):
    offer = Inventory(resource_class=name, total=total, reserved=reserved, max_unit=total, allocation_ratio=ratio)
    row = InventoryRow(provider="c", provider_uuid=HOST, wanted=offer, recorded=offer, used=0, terms=terms)
    (found,) = class_books(facts(dataclasses.replace(SCREEN, ledger=rows, inventory=(row,))))
    return found


def sums(found):
    return [book.total for book in found.books]


def test_a_reserved_volume_counts_for_host_and_placement():
    """On the host page, a reserved volume unknown to nova counts as used for the host and for Placement."""
    found = books(INSTANCE, VOLUME, reserved=120, terms=(("foreign-volume", 120),))
    assert sums(found) == [160, 280, 280]
    assert (found.whole, found.reserve, found.capacity, found.free) == (400, 120, 280, 120)
    assert conclusion(found) == (
        "DISK_GB: total 400 GiB, 120 GiB of it reserved; promised 160 GiB, held 280 GiB, recorded 280 GiB; "
        "free 120 GiB = 400 GiB (total x ratio) - 280 GiB (recorded)."
    )


def test_an_unreserved_volume_counts_as_used_only_on_the_host():
    """The host page counts an unreserved volume unknown to nova as used on the host, but not in Placement."""
    _, held, recorded = sums(books(INSTANCE, VOLUME, reserved=0))
    assert held - recorded == 120


def test_reserved_memory_counts_as_used_in_all_three_bars():
    """On the host page, the bars of nova, host and Placement all count reserved_host_memory_mb as used."""
    found = books(
        ledger_row("i", "web", "MEMORY_MB", (8192, 8192, 8192), Verdict.AGREED),
        ledger_row("reserved_host_memory_mb", "", "MEMORY_MB", (None, 512, None), Verdict.RESERVED),
        total=65_536, reserved=512, terms=(("reserved_host_memory_mb", 512),), name="MEMORY_MB",
    )  # fmt: skip
    assert sums(found) == [8704, 8704, 8704]
    assert found.free == 65_536 - 512 - 8192


def test_the_reserve_is_multiplied_by_the_allocation_ratio():
    """With 2 reserved CPUs and a ratio of 4, the host page shows 8 VCPU as reserved."""
    rows = (ledger_row("i", "web", "VCPU", (4, 4, 4), Verdict.AGREED),)
    found = books(*rows, total=48, reserved=2, ratio=4.0, terms=(("reserved_host_cpus", 2),), name="VCPU")
    assert (found.whole, found.reserve, found.capacity) == (192, 8, 184)
    assert sums(found) == [12, 12, 12]
    assert found.free == 180


@pytest.mark.parametrize("ratio", [1.0, 1.5, 4.0])
def test_host_and_placement_agree_at_any_allocation_ratio(ratio):
    """With the allocation ratios 1, 1.5 and 4, the host page shows equal disk use for the host and for Placement."""
    _, held, recorded = sums(books(INSTANCE, VOLUME, reserved=120, ratio=ratio, terms=(("foreign-volume", 120),)))
    assert held == recorded


def test_an_unexplained_reserve_counts_as_used_in_all_three_bars():
    """On the host page, all three bars count Placement's reserved amount as used, even if its reason is unknown."""
    found = books(INSTANCE, reserved=40)
    assert sums(found) == [200, 200, 200]
