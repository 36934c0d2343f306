"""Role companion: the agent's consumers hold amounts that leave a scheduler the same offers as an owner would."""

from __future__ import annotations

import dataclasses
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.own_consumers import OWN_CAUSES, OWN_PROJECT_ID, OWN_TYPE, OWN_USER_ID, own_consumer_uuid
from agent.model.placement import ROOT, Allocation, PlacementView
from agent.model.plan import PutAllocations
from agent.model.report import Verdict
from agent.model.settings import Role, UnmanagedPolicy
from agent.model.snapshot import LIBVIRT, LVM, PLACEMENT, STATE
from agent.model.units import GIB
from agent.provider_tree.companion import cut, demand, shares
from agent.provider_tree.reserve import raised
from tests.rigs.facts import (
    NOW,
    ROOT_UUID,
    allocations,
    decided,
    domain,
    group,
    host,
    inventory,
    lvm_settings,
    node,
    reserves,
    root,
    service,
    settings,
    snapshot,
    state,
    uuid,
    view,
    volume,
    without,
)

VOLUME, GUEST, ORPHAN = Cause.FOREIGN_VOLUME, Cause.FOREIGN_GUEST, Cause.VOLUME_ORPHANED
BESIDE = lvm_settings(role=Role.COMPANION)
NOVA = root(
    inventory("VCPU", 4, allocation_ratio=4.0),
    inventory("MEMORY_MB", 4096, reserved=512),
    inventory("DISK_GB", 19),
    traits=frozenset({"OWNER_NOVA", "COMPUTE_NODE"}),
)
ALIVE = state(service=service(last_seen_up=NOW))
BY_HAND = volume("by-hand", 2.5)
GHOST = domain("ghost", vcpus=2, memory_mib=512)


def claim(resource_class: str, amount: int, cause: Cause = GUEST, size_bytes: int | None = None) -> Claim:
    return Claim(
        consumer=Consumer(key="x", kind="domain"),
        cause=cause,
        resource_class=resource_class,
        amount=amount,
        provider_key=ROOT,
        source=Origin("libvirt", "domain", "x"),
        size_bytes=size_bytes,
    )


def held(plan, cause: Cause) -> dict[str, int] | None:
    """Return the amounts that the plan writes for that cause's consumer, or None if the plan does not write it."""
    mine = [w for w in plan.allocations if w.consumer_uuid == own_consumer_uuid(ROOT_UUID, cause)]
    return {a.resource_class: a.amount for w in mine for a in w.allocations} if mine else None


def after(before: PlacementView, writes: tuple[PutAllocations, ...]) -> PlacementView:
    """Return the view after Placement has accepted these writes."""
    written = {w.consumer_uuid for w in writes}
    kept = tuple(a for a in before.allocations if a.consumer_uuid not in written)
    new = tuple(
        dataclasses.replace(a, consumer_generation=(w.consumer_generation or 0) + 1)
        for w in writes
        for a in w.allocations
    )
    return dataclasses.replace(before, allocations=kept + new)


def ours(cause: Cause, **amounts: int) -> tuple[Allocation, ...]:
    return allocations(own_consumer_uuid(ROOT_UUID, cause), **amounts)


def world(**changes):
    usual = {"placement": view(provider=NOVA), "nova": ALIVE, "libvirt": host(GHOST), "lvm": group(20, BY_HAND)}
    return snapshot(**{**usual, **changes})


def test_a_companion_allocates_for_unknown_volumes_and_guests():
    """In role companion (beside nova-compute), the agent allocates for volumes and guests unknown to nova."""
    plan = decided(world(), BESIDE).plan
    assert plan.writes == ()
    assert held(plan, VOLUME) == {"DISK_GB": 3}
    assert held(plan, GUEST) == {"VCPU": 2, "MEMORY_MB": 512}
    assert len(plan.allocations) == 2
    for write in plan.allocations:
        assert (write.consumer_type, write.project_id, write.user_id) == (OWN_TYPE, OWN_PROJECT_ID, OWN_USER_ID)
        assert write.consumer_generation is None
        assert {a.provider_uuid for a in write.allocations} == {ROOT_UUID}


@pytest.mark.parametrize("nova", [ALIVE, state(service=service())], ids=["alive", "dead"])
def test_a_companion_writes_only_allocations_to_placement(nova):
    """In role companion (beside nova-compute), the agent writes allocations and leaves the providers to nova."""
    decision = decided(world(nova=nova), BESIDE)
    assert (decision.plan.writes, decision.rival) == ((), None)
    assert [f.code for f in decision.findings if f.code == "rival-writer"] == []
    assert decision.plan.allocations


def test_a_companion_writes_nothing_in_its_second_audit():
    """In role companion (beside nova-compute), the agent writes its allocations once.

    A second audit has nothing to write.
    """
    first = decided(world(), BESIDE).plan
    placed = after(view(provider=NOVA), first.allocations)
    again = decided(world(placement=placed), BESIDE)
    assert again.plan.is_empty
    assert [f.code for f in again.findings if f.code in ("consumer-unknown", "over-capacity")] == []


def test_an_allocation_write_contains_the_consumer_generation():
    """A write of an allocation contains the consumer generation that the agent read from Placement."""
    recorded = view(ours(VOLUME, DISK_GB=7), provider=NOVA)
    (write,) = decided(world(placement=recorded, libvirt=host()), BESIDE).plan.allocations
    assert ([a.amount for a in write.allocations], write.consumer_generation) == ([3], 1)


def test_the_allocation_for_a_vanished_guest_is_removed():
    """The agent made an allocation for an unknown guest. It removes the allocation after the guest has vanished."""
    recorded = view(ours(VOLUME, DISK_GB=3), ours(GUEST, VCPU=2, MEMORY_MB=512), provider=NOVA)
    plan = decided(world(placement=recorded, libvirt=host(), lvm=group(20)), BESIDE).plan
    assert held(plan, VOLUME) == held(plan, GUEST) == {}
    assert {w.consumer_generation for w in plan.allocations} == {1}


@pytest.mark.parametrize(
    ("lost", "kept_volume", "kept_guest"),
    [
        (LVM, True, False),  # a guest's CPUs and memory rest on no volume group
        (LIBVIRT, True, True),
        (STATE, True, True),
        (PLACEMENT, True, True),
    ],
)
def test_the_volume_allocation_stays_if_a_source_is_unread(lost, kept_volume, kept_guest):
    """If LVM, libvirt, nova's database or Placement cannot be read, the agent keeps its allocation for volumes."""
    recorded = view(ours(VOLUME, DISK_GB=7), ours(GUEST, VCPU=4, MEMORY_MB=1024), provider=NOVA)
    gone = world(placement=recorded, libvirt=host(), lvm=group(20))
    assert held(decided(gone, BESIDE).plan, VOLUME) == held(decided(gone, BESIDE).plan, GUEST) == {}
    plan = decided(without(gone, lost), BESIDE).plan
    assert (held(plan, VOLUME) is None, held(plan, GUEST) is None) == (kept_volume, kept_guest)
    if lost != PLACEMENT:
        assert "DISK_GB" in {h.what for h in plan.held_back}


def test_allocated_cpu_and_memory_are_updated_without_lvm():
    """LVM cannot be read. The agent still updates the VCPU and MEMORY_MB that it allocated for a guest."""
    recorded = view(ours(GUEST, VCPU=1, MEMORY_MB=1024, DISK_GB=4), provider=NOVA)
    plan = decided(without(world(placement=recorded), LVM), BESIDE).plan
    assert held(plan, GUEST) == {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 4}


@pytest.mark.parametrize("policy", [UnmanagedPolicy.REPORT, UnmanagedPolicy.IGNORE])
def test_the_allocation_for_an_unknown_volume_is_removed(policy):
    """If foreign_volumes is "report" or "ignore", the agent removes its allocation for an unknown volume."""
    recorded = view(ours(VOLUME, DISK_GB=3), provider=NOVA)
    chosen = dataclasses.replace(BESIDE, foreign_volumes=policy)
    plan = decided(world(placement=recorded), chosen).plan
    assert (held(plan, VOLUME), held(plan, GUEST)) == ({}, {"VCPU": 2, "MEMORY_MB": 512})


def test_a_guest_unknown_to_nova_gets_no_second_allocation():
    """A guest is unknown to nova and has an allocation in Placement. The agent adds no second allocation."""
    counted = view(allocations(uuid("ghost"), VCPU=2, MEMORY_MB=512), provider=NOVA)
    assert held(decided(world(placement=counted), BESIDE).plan, GUEST) is None


NOTHING_WRITTEN = {
    "no provider yet": (view(providers=()), "nova-compute has not created this host's provider"),
    "another name": (view(provider=dataclasses.replace(NOVA, name="other")), "identity is in doubt"),
    "another provider has the name": (
        view(providers=(), name_holder=dataclasses.replace(NOVA, uuid=uuid("other"))),
        "already has the name",
    ),
    "an old server": (view(provider=NOVA, typed_consumers=False), "1.38"),
}


@pytest.mark.parametrize(("placement", "why"), NOTHING_WRITTEN.values(), ids=NOTHING_WRITTEN.keys())
def test_a_companion_writes_nothing_without_a_host_provider(placement, why):
    """The agent in role companion (beside nova-compute) writes nothing if the host has no provider."""
    plan = decided(world(placement=placement), BESIDE).plan
    assert plan.is_empty
    assert [why in h.why for h in plan.held_back] == [True]


def test_nothing_is_written_if_the_node_has_another_name():
    """If nova's database and libvirt have different names for the node, an agent beside nova-compute writes nothing."""
    other = dataclasses.replace(ALIVE, nodes=(node(hypervisor_hostname="elsewhere"),))
    plan = decided(world(nova=other), BESIDE).plan
    assert plan.is_empty
    assert "identity is in doubt" in plan.held_back[0].why


def test_an_observer_detects_a_running_nova_compute():
    """An agent in role observer writes nothing. It detects that nova-compute writes to Placement."""
    decision = decided(world(), lvm_settings(role=Role.OBSERVER))
    assert (decision.plan.is_empty, decision.rival is not None) == (True, True)


def test_a_companion_reserves_nothing_for_unknown_volumes():
    """In role companion (beside nova-compute), the agent reserves no DISK_GB for volumes unknown to nova."""
    assert reserves(decided(world(), lvm_settings()))["DISK_GB"] == 3
    assert reserves(decided(world(), BESIDE))["DISK_GB"] == 0


def test_the_ledger_shows_why_the_agent_made_an_allocation():
    """The agent's ledger shows whether an allocation of the agent is for unknown guests or for unknown volumes."""
    recorded = view(ours(VOLUME, DISK_GB=3), ours(GUEST, VCPU=2, MEMORY_MB=512), provider=NOVA)
    decision = decided(world(placement=recorded), BESIDE)
    rows = [r for r in decision.ledger if r.consumer_kind == "stocktake"]
    assert sorted((r.cause, r.resource_class, r.recorded, r.verdict) for r in rows) == [
        ("foreign-guest", "MEMORY_MB", 512, Verdict.AGREED),
        ("foreign-guest", "VCPU", 2, Verdict.AGREED),
        ("foreign-volume", "DISK_GB", 3, Verdict.AGREED),
    ]
    assert {r.consumer_name for r in rows} == {"unmanaged foreign-guest", "unmanaged foreign-volume"}
    (of_volumes,) = [r for r in rows if r.cause == "foreign-volume"]
    assert of_volumes.source.endswith("lvm vg0/by-hand"), "it says what it stands for"
    assert (of_volumes.held, of_volumes.size_bytes) == (None, 5 * GIB // 2)


def test_an_unknown_volume_gets_its_own_allocation():
    """A volume unknown to nova gets its own allocation, even if an unrelated consumer has as much DISK_GB."""
    recorded = view(allocations(uuid("stranger"), DISK_GB=3), provider=NOVA)
    decision = decided(world(placement=recorded), BESIDE)
    (row,) = [r for r in decision.ledger if r.consumer_uuid == uuid("stranger")]
    assert (row.consumer_kind, row.cause, row.verdict is Verdict.AGREED) == ("unknown", "recorded-only", False)
    assert held(decision.plan, VOLUME) == {"DISK_GB": 3}


# Amounts ---------------------------------------------------------------------------------------------------------

DISK = inventory("DISK_GB", 20)
DEMANDS = {
    "bytes, rounded once over the sum": (DISK, [claim("DISK_GB", 9, VOLUME, GIB // 2)] * 3, 2),
    "one byte more": (DISK, [claim("DISK_GB", 9, VOLUME, 3 * GIB + 1)], 4),
    # (total - reserved) x ratio falls by 3 x 1.5 when 3 GiB are reserved.
    "bytes at ratio 1.5": (inventory("DISK_GB", 20, allocation_ratio=1.5), [claim("DISK_GB", 9, VOLUME, 3 * GIB)], 5),
    "bytes at ratio 1.1, as it is written": (
        inventory("DISK_GB", 20, allocation_ratio=1.1),
        [claim("DISK_GB", 9, VOLUME, 10 * GIB)],
        11,
    ),
    "a guest's demand is itself": (inventory("VCPU", 48, allocation_ratio=4.0), [claim("VCPU", 9)], 9),
    "no capacity, nothing to take from": (inventory("VCPU", 48, allocation_ratio=0.0), [claim("VCPU", 9)], 0),
}


@pytest.mark.parametrize(("there", "claims", "expected"), DEMANDS.values(), ids=DEMANDS.keys())
def test_disk_amounts_are_rounded_up_once(there, claims, expected):
    """The agent adds up the bytes of all volumes, multiplies by the allocation ratio, and then rounds up to GiB."""
    assert demand(claims, there) == expected


CUTS = {
    "all of it": (DISK, 0, {VOLUME: 3}, {VOLUME: 3}),
    "max_unit bounds each consumer": (inventory("VCPU", 4, allocation_ratio=4.0), 0, {GUEST: 9}, {GUEST: 4}),
    "what others hold is not free": (DISK, 18, {VOLUME: 3}, {VOLUME: 2}),
    "nothing is free": (DISK, 20, {VOLUME: 3}, {VOLUME: 0}),
    "less than nothing is free": (DISK, 25, {VOLUME: 3}, {VOLUME: 0}),
    "the first cause first": (DISK, 16, {VOLUME: 3, ORPHAN: 3}, {VOLUME: 3, ORPHAN: 1}),
    "reserved is no room": (inventory("DISK_GB", 20, reserved=18), 0, {VOLUME: 3}, {VOLUME: 2}),
    "below min_unit it is min_unit": (inventory("DISK_GB", 20, min_unit=4), 0, {VOLUME: 3}, {VOLUME: 4}),
    "and nothing where that does not fit": (inventory("DISK_GB", 20, min_unit=4), 17, {VOLUME: 3}, {VOLUME: 0}),
    "free in whole steps": (inventory("DISK_GB", 20, step_size=4), 13, {VOLUME: 8}, {VOLUME: 4}),
    "min_unit in whole steps": (inventory("DISK_GB", 20, min_unit=3, step_size=2), 0, {VOLUME: 2}, {VOLUME: 4}),
    "a max_unit below any step": (inventory("DISK_GB", 20, max_unit=3, step_size=4), 0, {VOLUME: 4}, {VOLUME: 0}),
    "a capacity of 4.5 holds 4": (
        inventory("DISK_GB", 3, allocation_ratio=1.5, max_unit=9),
        0,
        {VOLUME: 5},
        {VOLUME: 4},
    ),
}


@pytest.mark.parametrize(("there", "used", "wanted", "expected"), CUTS.values(), ids=CUTS.keys())
def test_a_new_allocation_fits_the_inventory(there, used, wanted, expected):
    """The amount that the agent allocates fits the free capacity, min_unit, max_unit and step_size."""
    assert cut(wanted, there, used) == expected


def test_only_the_sum_of_disk_amounts_is_rounded_to_step_size():
    """The agent needs 5 GiB and 2 GiB of disk, and step_size is 4. It allocates 8 GiB and not 12 GiB."""
    claims = [claim("DISK_GB", 0, VOLUME, 5 * GIB), claim("DISK_GB", 0, ORPHAN, 2 * GIB)]
    assert shares(claims, inventory("DISK_GB", 20, step_size=4)) == {VOLUME: 8, ORPHAN: 0}
    assert shares(claims, DISK) == {VOLUME: 5, ORPHAN: 2}


def test_a_volume_is_always_allocated_while_it_changes_owner():
    """A volume changes from one Placement consumer to another. The agent removes the old allocation last."""
    recorded = view(ours(Cause.BLOCK_STORAGE, DISK_GB=3), provider=NOVA)
    plan = decided(world(placement=recorded, libvirt=host()), BESIDE).plan
    assert [len(w.allocations) for w in plan.allocations] == [1, 0]


def test_the_old_allocation_is_removed_first_if_disk_gb_is_full():
    """The agent moves an allocation of DISK_GB from one consumer to another.

    If DISK_GB has no free room, the removal comes first.
    """
    full = view(ours(Cause.BLOCK_STORAGE, DISK_GB=3), allocations(uuid("i1"), DISK_GB=16), provider=NOVA)
    plan = decided(world(placement=full, libvirt=host()), BESIDE).plan
    assert [len(w.allocations) for w in plan.allocations] == [0, 1]


# Laws ------------------------------------------------------------------------------------------------------------

RATIOS = st.sampled_from([0.5, 1.0, 1.1, 1.4, 1.5, 2.0, 4.0, 16.0])
CAUSES = st.sampled_from(OWN_CAUSES)


@st.composite
def inventories(draw, resource_class="DISK_GB"):
    total = draw(st.integers(1, 64))
    return inventory(
        resource_class,
        total,
        reserved=draw(st.integers(0, total)),
        min_unit=draw(st.integers(1, 6)),
        max_unit=draw(st.integers(1, 80)),
        step_size=draw(st.integers(1, 6)),
        allocation_ratio=draw(RATIOS),
    )


DISK_CLAIMS = st.lists(st.builds(lambda c, s: claim("DISK_GB", 1, c, s), CAUSES, st.integers(1, 9 * GIB)), max_size=6)
GUEST_CLAIMS = st.lists(st.builds(lambda a: claim("VCPU", a), st.integers(1, 9)), max_size=6)


@given(inventories(), DISK_CLAIMS, st.integers(0, 300))
def test_a_fitted_allocation_passes_the_checks_of_placement(there, claims, used):
    """The agent fits its allocations to capacity, min_unit, max_unit and step_size, as Placement demands."""
    placed = cut(shares(claims, there), there, used)
    for amount in placed.values():
        if amount:
            assert there.min_unit <= amount <= there.max_unit
            assert amount % there.step_size == 0
    assert sum(placed.values()) == 0 or used + sum(placed.values()) <= there.capacity


@given(inventories(), DISK_CLAIMS)
def test_rounding_up_to_step_size_adds_less_than_one_step(there, claims):
    total, wanted = sum(shares(claims, there).values()), demand(claims, there)
    assert wanted <= total < wanted + there.step_size


@given(st.one_of(st.tuples(st.just("DISK_GB"), DISK_CLAIMS), st.tuples(st.just("VCPU"), GUEST_CLAIMS)), RATIOS)
def test_allocating_and_reserving_leave_equal_free_capacity(found, ratio):
    """Whether the agent allocates or reserves an amount, the free capacity is the same, apart from rounding."""
    name, claims = found
    there = inventory(name, 1000, allocation_ratio=ratio, max_unit=16000)
    reserved, _ = raised(there, (), claims, settings())
    owner_leaves = (reserved.total - reserved.reserved) * Fraction(str(ratio))
    ours_leave = there.total * Fraction(str(ratio)) - sum(cut(shares(claims, there), there, 0).values())
    assert abs(owner_leaves - ours_leave) < max(1, Fraction(str(ratio)))


@given(inventories(), DISK_CLAIMS, st.randoms(use_true_random=False))
def test_allocations_do_not_depend_on_the_order_of_volumes(there, claims, shuffler: random.Random):
    """The agent allocates the same amounts, in whatever order the volumes unknown to nova are listed."""
    shuffled = list(claims)
    shuffler.shuffle(shuffled)
    assert shares(shuffled, there) == shares(claims, there)


SIZES = st.lists(st.integers(1, 40).map(lambda quarters: quarters / 4), max_size=4)


@given(SIZES, SIZES, st.integers(0, 19), st.lists(st.integers(1, 5), max_size=3), inventories())
def test_an_audit_writes_nothing_after_successful_writes(before, now, others, guests, disk):
    """Placement accepts all writes of an audit. The next audit of the same host plans no writes."""
    recorded = view(
        allocations(uuid("i1"), DISK_GB=others) if others else (), provider=root(*NOVA.inventories[:2], disk)
    )
    for sizes in (before, now):
        volumes = [volume(f"v{number}", size) for number, size in enumerate(sizes)]
        there = [domain(f"g{number}", vcpus=vcpus, memory_mib=512) for number, vcpus in enumerate(guests)]
        found = {"libvirt": host(*there), "lvm": group(100, *volumes)}
        first = decided(world(placement=recorded, **found), BESIDE).plan
        recorded = after(recorded, first.allocations)
        assert decided(world(placement=recorded, **found), BESIDE).plan.is_empty
        for name in ("DISK_GB", "VCPU", "MEMORY_MB"):
            there_now = recorded.root.inventory(name)
            mine = sum(
                a.amount for a in recorded.allocations if a.resource_class == name and a.consumer_uuid != uuid("i1")
            )
            used = mine + (others if name == "DISK_GB" else 0)
            assert mine == 0 or used <= there_now.capacity


# Takeover --------------------------------------------------------------------------------------------------------

OWNER = lvm_settings(takeover=True)
DEAD = state(service=service())
PLACED = view(ours(VOLUME, DISK_GB=3), ours(GUEST, VCPU=2, MEMORY_MB=512), provider=NOVA)


def test_a_takeover_reserves_disk_and_removes_allocations():
    """An agent that replaces nova-compute reserves DISK_GB for volumes and removes all allocations it has made."""
    plan = decided(world(placement=PLACED, nova=DEAD), OWNER).plan
    (put,) = [w for w in plan.writes if type(w).__name__ == "PutInventories"]
    assert {i.resource_class: i.reserved for i in put.inventories}["DISK_GB"] == 3
    assert held(plan, VOLUME) == held(plan, GUEST) == {}


def test_a_takeover_waits_until_nova_compute_has_ended():
    """The agent is set to take nova-compute's place. It writes nothing to Placement as long as nova-compute runs."""
    plan = decided(world(placement=PLACED, nova=ALIVE), OWNER).plan
    assert (plan.writes, plan.allocations) == ((), ())


@pytest.mark.parametrize(
    ("lost", "volume_goes", "guest_goes"), [(LVM, None, {}), (LIBVIRT, None, None), (STATE, None, None)]
)
def test_a_takeover_keeps_volume_allocations_if_lvm_is_unread(lost, volume_goes, guest_goes):
    """If the agent takes over from nova-compute and cannot read LVM, it keeps the allocations of volumes."""
    plan = decided(without(world(placement=PLACED, nova=DEAD), lost), OWNER).plan
    assert (held(plan, VOLUME), held(plan, GUEST)) == (volume_goes, guest_goes)


def test_a_takeover_writes_no_new_allocations():
    """An agent that replaces nova-compute and has made no allocations before writes no allocations."""
    assert decided(world(placement=view(provider=NOVA), nova=DEAD), OWNER).plan.allocations == ()
