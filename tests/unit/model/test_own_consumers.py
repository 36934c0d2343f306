"""The uuids of the agent's own consumers: the same at every start, and one per root and cause."""

from __future__ import annotations

import uuid

from agent.model.claim import UNMANAGED_CAUSES, Cause
from agent.model.own_consumers import OWN_CAUSES, OWN_TYPE, own_consumer_uuid, own_consumers

ROOT = "dca34a7e-8e68-48e6-9397-1c3c017d34af"


def test_the_uuids_of_the_consumers_that_the_agent_creates_are_fixed_values():
    """The agent must find the consumers of older versions. Expected values: RFC 9562 5.5 with sha1sum, by hand."""
    assert own_consumer_uuid(ROOT, Cause.FOREIGN_VOLUME) == "f0389848-a8b9-5bf2-bff9-39e763e61618"
    assert own_consumer_uuid(ROOT, Cause.FOREIGN_GUEST) == "5b75a9a7-67b5-59fb-a8d7-c7849ea4de91"


def test_each_kind_of_use_that_nova_does_not_know_has_its_own_consumer():
    assert set(OWN_CAUSES) == UNMANAGED_CAUSES
    assert set(own_consumers(ROOT).values()) == UNMANAGED_CAUSES
    assert len(own_consumers(ROOT)) == len(UNMANAGED_CAUSES)


def test_the_consumers_that_the_agent_creates_have_different_uuids_on_each_host():
    assert not own_consumers(ROOT).keys() & own_consumers(str(uuid.uuid4())).keys()


def test_the_agent_has_no_consumers_of_its_own_without_a_root_provider():
    """The uuids of these consumers are computed from the uuid of the root provider."""
    assert own_consumers(None) == {}


def test_the_type_of_the_consumers_that_the_agent_creates_is_valid_in_placement():
    """The type matches Placement's own pattern of a consumer type."""
    assert OWN_TYPE == "STOCKTAKE_UNMANAGED"
    assert set(OWN_TYPE) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
