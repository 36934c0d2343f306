"""Providers that share with our tree through an aggregate, as a real Placement shows them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.placement.reader import TreeReader
from agent.placement.sharing import AGGREGATES_AT_ONCE, window
from tests.rigs.placement import looking_at, new_uuid

SHARES = "MISC_SHARES_VIA_AGGREGATE"


@pytest.fixture
def reader(client):
    return TreeReader(client)


@pytest.fixture
def aggregate(rest):
    return new_uuid()


@pytest.fixture
def root(rest, aggregate):
    uuid = rest.make_provider()
    rest.set_inventories(uuid, {"VCPU": {"total": 8}})
    rest.set_aggregates(uuid, aggregate)
    return uuid


@pytest.fixture
def nfs(rest, aggregate):
    """The storage of this aggregate."""
    return storage(rest, aggregate)


def storage(rest, *aggregates, shares=True):
    uuid = rest.make_provider()
    rest.set_inventories(uuid, {"DISK_GB": {"total": 1000}})
    rest.set_traits(uuid, *([SHARES] if shares else []))
    rest.set_aggregates(uuid, *aggregates)
    return uuid


def held_of(view):
    return {(sharing.provider.uuid, a.consumer_uuid, a.amount) for sharing in view.shared for a in sharing.allocations}


def test_what_shares_with_our_root_is_read_with_its_allocations_and_is_no_part_of_the_tree(rest, reader, root, nfs):
    ours = rest.allocate({root: {"VCPU": 1}, nfs: {"DISK_GB": 2}})
    others = rest.allocate({nfs: {"DISK_GB": 3}})
    view = reader.view(looking_at(root, shared_reads=500))
    assert view.shared_is_read
    assert held_of(view) == {(nfs, ours, 2), (nfs, others, 3)}
    assert [provider.uuid for provider in view.providers] == [root]
    assert {a.provider_uuid for a in view.allocations} == {root}
    assert view.shared_consumer_uuids == {ours, others}


def test_a_child_in_the_aggregate_is_enough_as_placement_offers_it(rest, reader):
    aggregate, root = new_uuid(), rest.make_provider()
    child = rest.make_provider(parent=root)
    rest.set_inventories(root, {"VCPU": {"total": 8}})
    rest.set_aggregates(child, aggregate)
    nfs = storage(rest, aggregate)
    rest.set_traits(child, SHARES)
    offered = rest.done("GET", f"/allocation_candidates?resources=VCPU:1,DISK_GB:1&in_tree={root}", version="1.36")
    assert offered["allocation_requests"] == [], "with in_tree nothing is taken from outside"
    offered = rest.done("GET", "/allocation_candidates?resources=VCPU:1,DISK_GB:1", version="1.36")
    assert {root, nfs} in [set(one["allocations"]) for one in offered["allocation_requests"]]
    ours = rest.allocate({root: {"VCPU": 1}, nfs: {"DISK_GB": 2}})
    assert held_of(reader.view(looking_at(root, shared_reads=500))) == {(nfs, ours, 2)}


def test_it_costs_two_requests_and_none_when_nobody_asked(rest, reader, root, nfs):
    reader.view(looking_at(root))
    with rest.watched() as seen:
        view = reader.view(looking_at(root))
    assert (len(seen), view.shared, view.shared_is_read) == (1, (), False)
    with rest.watched() as seen:
        reader.view(looking_at(root, shared_reads=500))
    assert [line.split()[1].partition("?")[0] for line in seen[1:]] == [
        "/resource_providers",
        f"/resource_providers/{nfs}/allocations",
    ]


def test_a_root_in_no_aggregate_costs_nothing(rest, reader):
    alone = rest.make_provider()
    with rest.watched() as seen:
        view = reader.view(looking_at(alone, shared_reads=500))
    assert (view.shared, view.shared_is_read) == ((), True)
    assert not any("member_of" in line for line in seen)


def test_who_shares_nothing_or_elsewhere_is_left_alone(rest, reader, root, aggregate):
    for other in (storage(rest, aggregate, shares=False), storage(rest, new_uuid())):
        rest.allocate({other: {"DISK_GB": 1}})
    rest.set_traits(root, SHARES)
    assert reader.view(looking_at(root, shared_reads=500)).shared == ()


def test_of_many_consumers_a_window_is_read_that_moves_on(rest, reader, root, nfs):
    consumers = {rest.allocate({nfs: {"DISK_GB": 1}}) for _ in range(5)}
    windows = [reader.view(looking_at(root, shared_reads=2)).shared_consumer_uuids for _ in range(3)]
    assert [len(some) for some in windows] == [2, 2, 2]
    assert frozenset().union(*windows) == consumers


def test_suspects_and_what_is_on_our_own_tree_are_in_every_window(rest, reader, root, nfs):
    suspect, *_rest = [rest.allocate({nfs: {"DISK_GB": 1}}) for _ in range(4)]
    ours = rest.allocate({root: {"VCPU": 1}, nfs: {"DISK_GB": 1}})
    for _ in range(3):
        view = reader.view(looking_at(root, shared_reads=1, suspects=(suspect,)))
        assert view.shared_consumer_uuids == {suspect, ours}


def test_s151_many_aggregates_are_asked_for_in_parts_and_merged(rest, reader, aggregate):
    """450 of them: three questions, and a provider that shares through several is told once."""
    many = [aggregate, *(new_uuid() for _ in range(449))]
    root = rest.make_provider()
    rest.set_aggregates(root, *many)
    both, last = storage(rest, *sorted(many)[:1], *sorted(many)[-1:]), storage(rest, sorted(many)[-1])
    for provider in (both, last):
        rest.allocate({provider: {"DISK_GB": 1}})
    with rest.watched() as seen:
        view = reader.view(looking_at(root, shared_reads=500))
    assert sum("member_of" in line for line in seen) == 3 == -(-450 // AGGREGATES_AT_ONCE)
    assert [sharing.provider.uuid for sharing in view.shared] == sorted([both, last])


@given(
    holders=st.sets(st.text("abcdef", min_size=1, max_size=3), max_size=12),
    suspects=st.frozensets(st.text("abcdef", min_size=1, max_size=3), max_size=3),
    most=st.integers(1, 5),
)
def test_windows_reach_everybody_and_are_never_larger(holders, suspects, most):
    after, seen = "", set()
    for _ in range(len(holders) + 1):
        some, after = window(holders, suspects, most, after)
        assert some <= holders
        assert len(some) <= most
        seen |= some
    crowded = len(holders & suspects) >= most
    assert seen == holders or crowded
