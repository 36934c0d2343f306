"""A text that was parsed is not parsed again, and the cache always returns what parsing would return."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SourceInconsistent
from agent.model.host.facts import DomainState
from agent.sources.libvirt.domain_xml_cache import DomainTexts
from agent.sources.libvirt.xml import parse_domain
from tests.rigs.domains import domain_xml
from tests.rigs.facts import uuid

RUNNING, SHUTOFF = DomainState.RUNNING, DomainState.SHUTOFF


def text(name: str, vcpus: int = 1) -> str:
    return domain_xml(name, domain_uuid=uuid(name), vcpus=vcpus)


def test_the_cached_domain_is_returned_if_the_xml_is_unchanged():
    texts = DomainTexts()
    first = texts.parse(uuid("a"), text("a"), RUNNING)
    assert texts.parse(uuid("a"), text("a"), RUNNING) is first


def test_a_domain_that_is_no_longer_listed_is_dropped_from_the_cache():
    texts = DomainTexts()
    first, other = (texts.parse(uuid(name), text(name), RUNNING) for name in "ab")
    texts.keep({uuid("b")})
    again = texts.parse(uuid("a"), text("a"), RUNNING)
    assert (again, again is first) == (first, False)
    assert texts.parse(uuid("b"), text("b"), RUNNING) is other


@pytest.mark.parametrize("odd", ["", "<domain>", "<domain/>", "\ud800", "<!DOCTYPE x><domain/>"])
def test_invalid_xml_raises_an_error_each_time_and_does_not_change_the_cache(odd):
    texts = DomainTexts()
    before = texts.parse(uuid("a"), text("a"), RUNNING)
    for _ in range(2):
        with pytest.raises(SourceInconsistent):
            texts.parse(uuid("a"), odd, RUNNING)
    assert texts.parse(uuid("a"), text("a"), RUNNING) == before


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3), st.sampled_from([RUNNING, SHUTOFF])), max_size=20))
def test_a_domain_from_the_cache_equals_a_domain_parsed_from_the_same_xml(reads):
    texts = DomainTexts()
    for name, vcpus, state in reads:
        found = texts.parse(uuid(name), text(name, vcpus), state)
        assert found == parse_domain(text(name, vcpus), state)
