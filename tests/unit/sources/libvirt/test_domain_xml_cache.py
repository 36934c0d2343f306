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


def test_unchanged_domain_xml_is_not_parsed_again():
    """The agent keeps each parsed libvirt domain and returns it again if the domain's XML is the same."""
    texts = DomainTexts()
    first = texts.parse(uuid("a"), text("a"), RUNNING)
    assert texts.parse(uuid("a"), text("a"), RUNNING) is first


def test_an_unlisted_domain_is_dropped_from_the_cache():
    """A domain that libvirt no longer lists leaves the agent's cache of parsed XML. The other domains stay in it."""
    texts = DomainTexts()
    first, other = (texts.parse(uuid(name), text(name), RUNNING) for name in "ab")
    texts.keep({uuid("b")})
    again = texts.parse(uuid("a"), text("a"), RUNNING)
    assert (again, again is first) == (first, False)
    assert texts.parse(uuid("b"), text("b"), RUNNING) is other


@pytest.mark.parametrize("odd", ["", "<domain>", "<domain/>", "\ud800", "<!DOCTYPE x><domain/>"])
def test_invalid_domain_xml_does_not_change_the_cache(odd):
    """Invalid domain XML raises SourceInconsistent and leaves the domain in the cache unchanged."""
    texts = DomainTexts()
    before = texts.parse(uuid("a"), text("a"), RUNNING)
    for _ in range(2):
        with pytest.raises(SourceInconsistent):
            texts.parse(uuid("a"), odd, RUNNING)
    assert texts.parse(uuid("a"), text("a"), RUNNING) == before


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3), st.sampled_from([RUNNING, SHUTOFF])), max_size=20))
def test_a_cached_domain_equals_a_newly_parsed_domain(reads):
    """For any sequence of domain XML and states, the cache returns exactly what the parser would return."""
    texts = DomainTexts()
    for name, vcpus, state in reads:
        found = texts.parse(uuid(name), text(name, vcpus), state)
        assert found == parse_domain(text(name, vcpus), state)
