"""``reserved`` of one class: its formulas, as tables of literals."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.books import ReserveTerms
from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.placement import ROOT
from agent.model.settings import UnmanagedPolicy
from agent.model.units import GIB
from agent.provider_tree.reserve import not_below, raised
from tests.rigs.facts import inventory, settings


def guest(resource_class, amount):
    return _claim(resource_class, amount, Cause.FOREIGN_GUEST)


def made_by(cause, size_bytes):
    return dataclasses.replace(_claim("DISK_GB", 99, cause), size_bytes=size_bytes)


def _claim(resource_class, amount, cause):
    return Claim(
        consumer=Consumer(key="x", kind="domain"),
        cause=cause,
        resource_class=resource_class,
        amount=amount,
        provider_key=ROOT,
        source=Origin("libvirt", "domain", "x"),
    )


def by_hand(size_bytes):
    return made_by(Cause.FOREIGN_VOLUME, size_bytes)


VCPU = inventory("VCPU", 48, allocation_ratio=4.0, reserved=2)
DISK = inventory("DISK_GB", 20)

AMOUNTS = {
    "nothing unmanaged": (VCPU, [], 2),
    "a ratio of 0, which Placement takes, leaves nothing to reserve": (
        inventory("VCPU", 48, allocation_ratio=0.0, reserved=2),
        [guest("VCPU", 8)],
        2,
    ),
    "a guest of 8 at ratio 4 takes 2": (VCPU, [guest("VCPU", 8)], 4),
    "rounded up": (VCPU, [guest("VCPU", 9)], 5),
    "rounded once, over the sum: 1+1+1+1 at ratio 4 is 1": (VCPU, [guest("VCPU", 1)] * 4, 3),
    "one more": (VCPU, [guest("VCPU", 1)] * 5, 4),
    "a ratio below 1 takes more": (inventory("VCPU", 48, allocation_ratio=0.5), [guest("VCPU", 3)], 6),
    # 21 / 1.4 in binary floating point is 15.000000000000002.
    "15 times 1.4 is 21": (inventory("VCPU", 48, allocation_ratio=1.4), [guest("VCPU", 21)], 15),
    "memory at 1.5": (inventory("MEMORY_MB", 8192, allocation_ratio=1.5), [guest("MEMORY_MB", 1024)], 683),
    "dedicated CPUs at 1": (inventory("PCPU", 8), [guest("PCPU", 3)], 3),
    "another class's": (VCPU, [guest("MEMORY_MB", 512), by_hand(GIB)], 2),
    "an instance's is promised, not unmanaged": (VCPU, [_claim("VCPU", 8, Cause.INSTANCE)], 2),
    "bytes": (DISK, [by_hand(3 * GIB)], 3),
    "one byte more is one GiB more": (DISK, [by_hand(3 * GIB + 1)], 4),
    "bytes are summed before they are rounded": (DISK, [by_hand(GIB // 2)] * 3, 2),
    "bytes are physical: no ratio": (inventory("DISK_GB", 20, allocation_ratio=2.0), [by_hand(3 * GIB)], 3),
    "every cause of bytes": (
        DISK,
        [
            by_hand(GIB // 4),
            made_by(Cause.VOLUME_ORPHANED, GIB // 4),
            made_by(Cause.BLOCK_STORAGE, GIB // 4),
            made_by(Cause.FOREIGN_GUEST, GIB // 4),
        ],
        1,
    ),
    "never above the total": (DISK, [by_hand(21 * GIB)], 20),
}


@pytest.mark.parametrize(("before", "claims", "expected"), AMOUNTS.values(), ids=AMOUNTS.keys())
def test_reserved_includes_guests_and_volumes_unknown_to_nova(before, claims, expected):
    """The reserved amount contains what guests and volumes unknown to nova use. It is rounded up."""
    after, _ = raised(before, (("own", before.reserved),), claims, settings())
    assert after == dataclasses.replace(before, reserved=expected)


def test_the_excess_of_reserved_over_the_total_is_reported():
    """If 23 GiB of DISK_GB are to be reserved but the total is 20, the agent reports an excess of 3."""
    _, terms = raised(DISK, (("own", 5),), [by_hand(18 * GIB)], settings())
    assert terms == ReserveTerms(resource_class="DISK_GB", terms=(("own", 5), ("foreign-volume", 18)), overflow=3)


def test_a_reserve_above_the_disk_total_is_reported():
    """The operator's reserve exceeds the total of DISK_GB. The agent reserves the total, and reports the rest."""
    after, terms = raised(DISK, (("disk", 15), ("image cache", 9), ("pages", 0)), [by_hand(GIB)], settings())
    assert after.reserved == 20
    assert terms.terms == (("disk", 15), ("image cache", 9), ("foreign-volume", 1))
    assert terms.overflow == 5


def test_the_listed_parts_add_up_to_the_reserved_amount():
    """The parts that the agent lists, such as reserved_host_disk_mb, add up to the reserved amount of DISK_GB."""
    claims = [by_hand(GIB // 2), made_by(Cause.BLOCK_STORAGE, 2 * GIB), made_by(Cause.VOLUME_ORPHANED, GIB // 4)]
    after, terms = raised(DISK, (("reserved_host_disk_mb", 2),), claims, settings())
    assert terms.terms[0] == ("reserved_host_disk_mb", 2)
    assert dict(terms.terms)["block-storage"] == 2
    assert after.reserved == sum(amount for _, amount in terms.terms) == 5


RESERVE, REPORT, IGNORE = UnmanagedPolicy.RESERVE, UnmanagedPolicy.REPORT, UnmanagedPolicy.IGNORE


@pytest.mark.parametrize(
    ("volumes", "guests", "expected"),
    [(RESERVE, RESERVE, 6), (RESERVE, REPORT, 5), (REPORT, RESERVE, 1), (IGNORE, RESERVE, 1), (REPORT, IGNORE, 0)],
)
def test_reserves_for_volumes_and_guests_have_separate_options(volumes, guests, expected):
    """The option foreign_volumes controls the reserve for volumes, and unknown_guests the reserve for guests."""
    claims = [
        by_hand(GIB),
        made_by(Cause.VOLUME_ORPHANED, 2 * GIB),
        made_by(Cause.BLOCK_STORAGE, 2 * GIB),
        made_by(Cause.FOREIGN_GUEST, GIB),
    ]
    after, _ = raised(DISK, (), claims, settings(foreign_volumes=volumes, unknown_guests=guests))
    assert after.reserved == expected


TERMS = ReserveTerms(resource_class="DISK_GB", terms=(("own", 2),))
DOUBT = {
    "placement holds more: kept": (
        2,
        inventory("DISK_GB", 20, reserved=7),
        7,
        (("own", 2), ("kept-from-placement", 5)),
    ),
    "placement holds less: ours": (2, inventory("DISK_GB", 20, reserved=1), 2, (("own", 2),)),
    "the same": (2, inventory("DISK_GB", 20, reserved=2), 2, (("own", 2),)),
    "the class is new": (2, None, 2, (("own", 2),)),
    "more than there is now": (2, inventory("DISK_GB", 99, reserved=50), 20, (("own", 2), ("kept-from-placement", 18))),
    "all of it is reserved already": (20, inventory("DISK_GB", 99, reserved=50), 20, (("own", 2),)),
}


@pytest.mark.parametrize(("ours", "observed", "expected", "terms"), DOUBT.values(), ids=DOUBT.keys())
def test_a_higher_reserved_amount_in_placement_is_kept(ours, observed, expected, terms):
    """The agent keeps a reserved amount in Placement that is higher than the agent's own amount."""
    after, said = not_below(dataclasses.replace(DISK, reserved=ours), TERMS, observed)
    assert after.reserved == expected
    assert said.terms == terms
