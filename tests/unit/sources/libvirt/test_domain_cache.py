"""Which domains are read again: by event, by state, in turn, and all of them when events may have been lost."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from agent.model.host.facts import Domain, DomainState, OddDomain
from agent.sources.libvirt.domain_cache import TURNS, DomainCache

UUIDS = [str(uuid.UUID(int=n * 7919)) for n in range(1, 201)]
RUNNING = dict.fromkeys(UUIDS, DomainState.RUNNING)


def domain(domain_uuid, state=DomainState.RUNNING):
    return Domain(uuid=domain_uuid, name="a", state=state, vcpus=1, memory_mib=1)


def read(cache, states=RUNNING):
    """Read once, as the host source does; return the uuids that were read."""
    wanted = cache.to_read(states)
    cache.keep(states, [domain(one, states[one]) for one in wanted])
    return wanted


def warm_cache():
    cache = DomainCache()
    cache.trust()
    read(cache)
    return cache


def in_turns(cache, count=TURNS):
    return [read(cache) for _ in range(count)]


def test_all_domains_are_read_without_reliable_events():
    """As long as libvirt's events are not reliable, the agent reads every domain in each audit."""
    cache = DomainCache()
    assert [len(read(cache)) for _ in range(3)] == [200, 200, 200]


def test_reliable_events_let_the_agent_read_domains_in_turns():
    """If libvirt's events are reliable, the agent reads some domains in each audit, and all within ten audits."""
    turns = in_turns(warm_cache())
    assert set().union(*turns) == set(UUIDS)
    assert sum(map(len, turns)) == len(UUIDS)
    assert max(map(len, turns)) < 60


def test_an_event_causes_one_extra_read_of_its_domain():
    """After a libvirt event about a domain, the agent reads the domain once more, in the next audit."""
    cache = warm_cache()
    [*turns] = in_turns(cache)
    not_its_turn = next(iter(turns[5]))
    cache.changed(not_its_turn)
    assert not_its_turn in read(cache)
    assert not_its_turn not in read(cache)


def test_a_domain_with_a_new_state_is_read_again():
    """If a domain's state changes, for example to shut off, the agent reads the domain again in the next audit."""
    cache = warm_cache()
    stopped = {one: DomainState.SHUTOFF for one in UUIDS[:3]}
    assert set(UUIDS[:3]) <= read(cache, RUNNING | stopped)


def test_new_domains_are_read_and_vanished_ones_forgotten():
    """The agent reads a new libvirt domain at once and removes a vanished domain from its cache."""
    cache = DomainCache()
    cache.trust()
    read(cache, {UUIDS[0]: DomainState.RUNNING, UUIDS[1]: DomainState.RUNNING})
    assert UUIDS[2] in read(cache, {UUIDS[0]: DomainState.RUNNING, UUIDS[2]: DomainState.RUNNING})
    assert {one.uuid for one in cache.all()} == {UUIDS[0], UUIDS[2]}


def test_all_domains_are_read_once_after_possible_event_loss():
    """If libvirt events may be lost, the next audit reads all domains.

    Later audits read a few domains each, in turn.
    """
    for act in (DomainCache.trust, DomainCache.forget):
        cache = warm_cache()
        act(cache)
        assert read(cache) == set(UUIDS)
        assert len(read(cache)) < 60


def test_all_domains_are_read_if_events_become_unreliable():
    """If libvirt's events become unreliable, the agent reads all domains in each audit."""
    cache = warm_cache()
    cache.distrust()
    assert [len(read(cache)) for _ in range(2)] == [200, 200]


def test_a_domain_with_unreadable_xml_is_cached_too():
    """If the agent cannot read the XML of a libvirt domain, it still keeps the domain in its cache."""
    cache = DomainCache()
    odd = OddDomain(uuid=UUIDS[0], name="x", reason="no <vcpu>")
    states = {UUIDS[1]: DomainState.RUNNING, UUIDS[0]: DomainState.RUNNING}
    cache.keep(states, [domain(UUIDS[1]), odd])
    assert cache.all() == (odd, domain(UUIDS[1]))


@given(st.lists(st.sampled_from(UUIDS)), st.integers(0, TURNS - 1))
def test_each_domain_with_an_event_is_read_in_the_next_audit(named, turns_before):
    """The next audit reads every domain about which libvirt has sent an event."""
    cache = warm_cache()
    in_turns(cache, turns_before)
    for one in named:
        cache.changed(one)
    assert set(named) <= read(cache)
