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


def test_every_domain_is_read_in_each_audit_if_libvirt_events_may_be_lost():
    cache = DomainCache()
    assert [len(read(cache)) for _ in range(3)] == [200, 200, 200]


def test_each_domain_is_read_once_in_ten_audits_if_libvirt_events_are_reliable():
    turns = in_turns(warm_cache())
    assert set().union(*turns) == set(UUIDS)
    assert sum(map(len, turns)) == len(UUIDS)
    assert max(map(len, turns)) < 60


def test_a_libvirt_event_about_a_domain_causes_one_extra_read_of_this_domain():
    cache = warm_cache()
    [*turns] = in_turns(cache)
    not_its_turn = next(iter(turns[5]))
    cache.changed(not_its_turn)
    assert not_its_turn in read(cache)
    assert not_its_turn not in read(cache)


def test_a_domain_whose_state_has_changed_is_read_again():
    cache = warm_cache()
    stopped = {one: DomainState.SHUTOFF for one in UUIDS[:3]}
    assert set(UUIDS[:3]) <= read(cache, RUNNING | stopped)


def test_a_new_domain_is_read_and_a_vanished_domain_leaves_the_cache():
    cache = DomainCache()
    cache.trust()
    read(cache, {UUIDS[0]: DomainState.RUNNING, UUIDS[1]: DomainState.RUNNING})
    assert UUIDS[2] in read(cache, {UUIDS[0]: DomainState.RUNNING, UUIDS[2]: DomainState.RUNNING})
    assert {one.uuid for one in cache.all()} == {UUIDS[0], UUIDS[2]}


def test_each_domain_is_reread_once_after_libvirt_events_may_have_been_lost():
    for act in (DomainCache.trust, DomainCache.forget):
        cache = warm_cache()
        act(cache)
        assert read(cache) == set(UUIDS)
        assert len(read(cache)) < 60


def test_all_domains_are_read_in_each_audit_after_libvirt_events_were_lost():
    cache = warm_cache()
    cache.distrust()
    assert [len(read(cache)) for _ in range(2)] == [200, 200]


def test_a_domain_with_unparsable_xml_is_cached_like_any_other_domain():
    """The cache returns all domains sorted by uuid."""
    cache = DomainCache()
    odd = OddDomain(uuid=UUIDS[0], name="x", reason="no <vcpu>")
    states = {UUIDS[1]: DomainState.RUNNING, UUIDS[0]: DomainState.RUNNING}
    cache.keep(states, [domain(UUIDS[1]), odd])
    assert cache.all() == (odd, domain(UUIDS[1]))


@given(st.lists(st.sampled_from(UUIDS)), st.integers(0, TURNS - 1))
def test_a_domain_is_read_in_the_next_audit_after_a_libvirt_event_about_it(named, turns_before):
    cache = warm_cache()
    in_turns(cache, turns_before)
    for one in named:
        cache.changed(one)
    assert set(named) <= read(cache)
