"""Providers that share with the host's tree through an aggregate, as a real Placement shows them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import PlacementUnavailable
from agent.placement import sharing
from agent.placement.reader import TreeReader
from agent.placement.sharing import AGGREGATES_AT_ONCE, window
from tests.rigs.gateway import Answer, Gateway, gateway
from tests.rigs.one_host import OneHost
from tests.rigs.placement import client_of, looking_at, new_uuid

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
    """A provider that shares storage through this aggregate."""
    return storage(rest, aggregate)


def storage(rest, *aggregates, shares=True):
    uuid = rest.make_provider()
    rest.set_inventories(uuid, {"DISK_GB": {"total": 1000}})
    rest.set_traits(uuid, *([SHARES] if shares else []))
    rest.set_aggregates(uuid, *aggregates)
    return uuid


def held_of(view):
    return {(some.provider.uuid, a.consumer_uuid, a.amount) for some in view.shared for a in some.allocations}


def test_all_allocations_of_a_sharing_provider_are_read(rest, reader, root, nfs):
    """A storage provider has allocations of this host and of other hosts. The agent reads all of these allocations."""
    ours = rest.allocate({root: {"VCPU": 1}, nfs: {"DISK_GB": 2}})
    others = rest.allocate({nfs: {"DISK_GB": 3}})
    view = reader.view(looking_at(root, shared_reads=500))
    assert view.shared_is_read
    assert held_of(view) == {(nfs, ours, 2), (nfs, others, 3)}
    assert [provider.uuid for provider in view.providers] == [root]
    assert {a.provider_uuid for a in view.allocations} == {root}
    assert view.shared_consumer_uuids == {ours, others}


def test_a_sharing_provider_is_found_by_a_childs_aggregate(rest, reader):
    """The agent reads a storage provider that is in the same aggregate as a child of the host's provider."""
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


def test_reading_a_sharing_provider_costs_two_requests(rest, reader, root, nfs):
    """With shared_reads, the agent sends one request for the sharing providers and one for the allocations on them."""
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


def test_a_tree_without_aggregates_has_no_sharing_provider(rest, reader):
    """If no provider of the host is in an aggregate, the agent does not ask Placement for sharing providers."""
    alone = rest.make_provider()
    with rest.watched() as seen:
        view = reader.view(looking_at(alone, shared_reads=500))
    assert (view.shared, view.shared_is_read) == ((), True)
    assert not any("member_of" in line for line in seen)


def test_a_sharing_provider_needs_the_trait_and_the_aggregate(rest, reader, root, aggregate):
    """The agent ignores a provider that lacks MISC_SHARES_VIA_AGGREGATE or is in no aggregate of the host."""
    for other in (storage(rest, aggregate, shares=False), storage(rest, new_uuid())):
        rest.allocate({other: {"DISK_GB": 1}})
    rest.set_traits(root, SHARES)
    assert reader.view(looking_at(root, shared_reads=500)).shared == ()


def test_limited_reads_cover_all_consumers_in_turn(rest, reader, root, nfs):
    """A shared storage provider has five consumers and shared_reads is 2; three reads of the agent cover all five."""
    consumers = {rest.allocate({nfs: {"DISK_GB": 1}}) for _ in range(5)}
    windows = [reader.view(looking_at(root, shared_reads=2)).shared_consumer_uuids for _ in range(3)]
    assert [len(some) for some in windows] == [2, 2, 2]
    assert frozenset().union(*windows) == consumers


def test_allocations_of_this_host_are_always_read(rest, reader, root, nfs):
    """Every read of a sharing provider includes the allocations of instances on the agent's own host."""
    suspect, *_rest = [rest.allocate({nfs: {"DISK_GB": 1}}) for _ in range(4)]
    ours = rest.allocate({root: {"VCPU": 1}, nfs: {"DISK_GB": 1}})
    for _ in range(3):
        view = reader.view(looking_at(root, shared_reads=1, suspects=(suspect,)))
        assert view.shared_consumer_uuids == {suspect, ours}


def test_s151_many_aggregates_are_queried_in_three_requests(rest, reader, aggregate):
    """The host is in 450 aggregates, too many for one URL. The agent asks for sharing providers in three requests."""
    many = [aggregate, *(new_uuid() for _ in range(449))]
    root = rest.make_provider()
    rest.set_aggregates(root, *many)
    both, last = storage(rest, *sorted(many)[:1], *sorted(many)[-1:]), storage(rest, sorted(many)[-1])
    for provider in (both, last):
        rest.allocate({provider: {"DISK_GB": 1}})
    with rest.watched() as seen:
        view = reader.view(looking_at(root, shared_reads=500))
    assert sum("member_of" in line for line in seen) == 3 == -(-450 // AGGREGATES_AT_ONCE)
    assert [some.provider.uuid for some in view.shared] == sorted([both, last])


@given(
    holders=st.sets(st.text("abcdef", min_size=1, max_size=3), max_size=12),
    suspects=st.frozensets(st.text("abcdef", min_size=1, max_size=3), max_size=3),
    most=st.integers(1, 5),
)
def test_every_consumer_gets_its_turn_in_limited_reads(holders, suspects, most):
    """Each read of a sharing provider includes only a few of its consumers. Later reads include the others."""
    after, seen = "", set()
    for _ in range(len(holders) + 1):
        some, after = window(holders, suspects, most, after)
        assert some <= holders
        assert len(some) <= most
        seen |= some
    crowded = len(holders & suspects) >= most
    assert seen == holders or crowded


@dataclass
class Crowded:
    """A host and its aggregate's storage provider, whose list of allocations names the consumers of a whole cloud."""

    gate: Gateway
    one: OneHost
    nfs: str

    @property
    def asked(self) -> int:
        """The number of requests for that list."""
        return sum(asked.path.endswith(f"/{self.nfs}/allocations") for asked in self.gate.seen)


@pytest.fixture
def crowded(rest, aggregate, nfs, tmp_path):
    root = rest.make_provider()
    rest.set_aggregates(root, aggregate)
    # 200,000 allocations, which together need more memory than the limit OWN allows.
    listed = ",".join(f'"{number:08x}-0000":{{"resources":{{"DISK_GB":1}}}}' for number in range(200_000))
    body = f'{{"resource_provider_generation":1,"allocations":{{{listed}}}}}'.encode()
    with gateway(rest.server.url) as gate:
        one = OneHost(client_of(tmp_path, gate.url), root)
        put = rest.done("PUT", f"/resource_providers/{root}", {"name": one.name}, version="1.37")
        assert put["name"] == one.name
        gate.before = lambda asked: (
            Answer(status=200, body=body) if asked.path.endswith(f"/{nfs}/allocations") else None
        )
        yield Crowded(gate, one, nfs)


def test_an_oversized_sharing_provider_does_not_block_writes(rest, crowded):
    """A storage provider has too many allocations to read.

    The audit reports that and still writes the host's inventory.
    """
    first = crowded.one.audit()
    view = first.snapshot.placement.value
    assert view is not None, str(first.snapshot.placement.error)
    assert rest.inventories(crowded.one.root)["VCPU"]["total"] == 4
    assert view.shared == ()
    assert [what for what, _why in view.unread] == [f"provider {crowded.nfs}"]
    (found,) = (seen.finding for seen in first.report.findings if seen.finding.code == "source-unavailable")
    assert "placement: provider" in found.actual
    assert "the limit for one" in found.actual
    assert "; the agent does not report the guests' allocations on this provider; the daemon" in found.actual


def test_an_oversized_sharing_provider_is_always_reported(rest, crowded):
    """Every audit reports a sharing provider that is too large to read.

    Only few audits try again to read that provider.
    """
    told = [crowded.one.audit(full_read_every=2).report for _ in range(9)]
    assert {len([s for s in r.findings if s.finding.code == "source-unavailable"]) for r in told} == {1}
    # The first audit, and the one in any 2 x 10 audits that reads everything again.
    assert 1 <= crowded.asked <= 2
    crowded.gate.clear()
    audits = [crowded.one.audit(full_read_every=2) for _ in range(20)]
    assert "source-unavailable" not in {s.finding.code for s in audits[-1].report.findings}


def test_an_oversized_sharing_provider_does_not_block_another(rest, crowded, aggregate):
    """The host has two sharing providers, and one is too large to read; the agent still reads the other."""
    other = storage(rest, aggregate)
    consumer = rest.allocate({other: {"DISK_GB": 2}})
    reader = TreeReader(crowded.one.client)
    for _ in range(3):
        view = reader.view(looking_at(crowded.one.root, shared_reads=500))
        assert held_of(view) == {(other, consumer, 2)}
    assert crowded.asked == 1
    assert len(reader.view(looking_at(crowded.one.root)).unread) == 1
    reader.view(looking_at(crowded.one.root, shared_reads=500, everything=True))
    assert crowded.asked == 2
    reader.forget()
    assert len(reader.view(looking_at(crowded.one.root)).unread) == 1, "told until it is asked again"
    reader.view(looking_at(crowded.one.root, shared_reads=500))
    assert crowded.asked == 3


def test_an_oversized_sharing_provider_is_left_unread(rest, reader, root, nfs, monkeypatch):
    """A sharing provider has too many allocations; the agent leaves it unread and reads the host's own tree."""
    for _ in range(3):
        rest.allocate({nfs: {"DISK_GB": 1}})
    monkeypatch.setattr(sharing, "MOST_SHARED", 2)
    view = reader.view(looking_at(root, shared_reads=500))
    assert (view.shared, len(view.unread), [p.uuid for p in view.providers]) == ((), 1, [root])


def test_http_500_for_a_sharing_provider_fails_the_read(crowded):
    """Placement answers 500 to each request about one sharing provider; the whole read raises an error."""
    crowded.gate.before = lambda asked: Answer(status=500, body=b"") if crowded.nfs in asked.path else None
    with pytest.raises(PlacementUnavailable):
        TreeReader(crowded.one.client).view(looking_at(crowded.one.root, shared_reads=500))
