"""provider-name-conflict: scenario 139; the agent writes to neither provider."""

from __future__ import annotations

from agent.model.finding import Severity
from agent.model.plan import HeldBack
from tests.rigs.facts import NODE, ROOT_UUID, decided, findings, root, snapshot, uuid, view

CODE = "provider-name-conflict"
HOLDER = root(uuid=uuid("other"))
WORLD = snapshot(placement=view(providers=(), name_holder=HOLDER))


def test_s139_a_provider_name_conflict_is_reported():
    """If another provider has the node's name, the finding shows that provider's UUID and the expected UUID."""
    (found,) = findings(WORLD, CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (uuid("other"), None, None)
    assert found.expected == f"provider {NODE} has the uuid of this host, {ROOT_UUID}"
    assert found.actual == f"provider {NODE} has another uuid: {uuid('other')}"
    assert found.severity is Severity.ERROR
    assert "compute_id" in found.remedy


def test_s139_a_provider_name_conflict_stops_every_write():
    """The agent writes nothing to Placement if another provider already has this node's name."""
    plan = decided(WORLD).plan
    assert plan.writes == ()
    why = f"provider {uuid('other')} already has the name {NODE}, and Placement allows each name only once"
    assert plan.held_back == (HeldBack(provider_uuid=ROOT_UUID, what="everything", why=why),)


def test_an_unused_provider_name_causes_no_conflict():
    """If no provider in Placement uses this node's name, the agent reports no conflict and writes to Placement."""
    free = snapshot(placement=view(providers=()))
    assert findings(free, CODE) == ()
    assert decided(free).plan.writes != ()
