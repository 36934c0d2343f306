"""The uuids of the agent's own consumers: the same at every start, and one per root and cause."""

from __future__ import annotations

import uuid

from agent.model.claim import UNMANAGED_CAUSES, Cause
from agent.model.own_consumers import OWN_CAUSES, OWN_TYPE, own_consumer_uuid, own_consumers

ROOT = "dca34a7e-8e68-48e6-9397-1c3c017d34af"


def test_the_uuids_of_the_agents_consumers_never_change():
    """A new version of the agent uses the same uuids for the agent's own consumers in Placement."""
    assert own_consumer_uuid(ROOT, Cause.FOREIGN_VOLUME) == "f0389848-a8b9-5bf2-bff9-39e763e61618"
    assert own_consumer_uuid(ROOT, Cause.FOREIGN_GUEST) == "5b75a9a7-67b5-59fb-a8d7-c7849ea4de91"


def test_each_kind_of_unmanaged_user_has_a_consumer():
    """The agent has one consumer in Placement for each kind of unmanaged user, such as guests unknown to nova."""
    assert set(OWN_CAUSES) == UNMANAGED_CAUSES
    assert set(own_consumers(ROOT).values()) == UNMANAGED_CAUSES
    assert len(own_consumers(ROOT)) == len(UNMANAGED_CAUSES)


def test_the_agents_consumers_differ_between_hosts():
    """The uuids of the agent's own consumers in Placement are different on each host."""
    assert not own_consumers(ROOT).keys() & own_consumers(str(uuid.uuid4())).keys()


def test_the_agent_has_no_consumers_without_a_root_provider():
    """If the host has no root provider, the agent has no consumers of its own in Placement."""
    assert own_consumers(None) == {}


def test_placement_accepts_the_type_of_the_agents_consumers():
    """The type STOCKTAKE_UNMANAGED has only characters that Placement allows in a consumer type."""
    assert OWN_TYPE == "STOCKTAKE_UNMANAGED"
    assert set(OWN_TYPE) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
