"""rival-writer: another writer owns the root, so the agent does not write it."""

from __future__ import annotations

import datetime

import pytest

from agent.model.audit import WrittenProvider
from agent.model.finding import Severity
from agent.model.settings import Role
from agent.model.snapshot import PLACEMENT, STATE
from tests.rigs.facts import (
    NOW,
    ROOT_UUID,
    decided,
    findings,
    inventory,
    root,
    service,
    settings,
    snapshot,
    state,
    view,
    without,
)

CODE = "rival-writer"
NOVAS = view(provider=root(traits=frozenset({"COMPUTE_NODE", "OWNER_NOVA"})))
BOTH = view(provider=root(traits=frozenset({"COMPUTE_NODE", "OWNER_NOVA", "CUSTOM_OWNER_STOCKTAKE"})))
ALIVE = state(service=service(last_seen_up=NOW - datetime.timedelta(seconds=59)))
DEAD = state(service=service())

TOLD = {
    "nova-compute made it": (
        NOVAS,
        DEAD,
        settings(),
        "has the trait OWNER_NOVA and not CUSTOM_OWNER_STOCKTAKE",
        "companion",
    ),
    "nova-compute is alive": (
        NOVAS,
        ALIVE,
        settings(takeover=True),
        "is alive (heartbeat within the last 60 s)",
        "stop nova-compute",
    ),
    "it came back after our takeover": (BOTH, ALIVE, settings(takeover=True), "is alive", "stop nova-compute"),
    "it is alive and has made nothing yet": (view(providers=()), ALIVE, settings(), "is alive", "companion"),
    "it is alive, and the provider is ours": (view(), ALIVE, settings(), "is alive", "companion"),
}


@pytest.mark.parametrize(("placement", "nova", "chosen", "why", "remedy"), TOLD.values(), ids=TOLD.keys())
def test_a_rival_nova_compute_is_reported_and_stops_writes(placement, nova, chosen, why, remedy):
    """If nova-compute is alive or owns the provider, the agent reports it and writes nothing to Placement."""
    world = snapshot(placement=placement, nova=nova)
    (found,) = findings(world, CODE, chosen)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, None, None)
    assert found.expected == "only this agent writes the root provider"
    assert why in found.actual
    assert remedy in found.remedy
    assert found.severity is Severity.ERROR
    assert decided(world, chosen).plan.writes == ()


JUST_SEEN = {
    "it is coming back": (BOTH, "put OWNER_NOVA back", "stop nova-compute"),
    "a takeover that was asked for just now": (NOVAS, "is not proven to be gone", "by itself once nova-compute is"),
}


@pytest.mark.parametrize(("placement", "why", "remedy"), JUST_SEEN.values(), ids=JUST_SEEN.keys())
def test_nothing_is_written_until_nova_compute_is_proven_gone(placement, why, remedy):
    """nova-compute must be silent for 57 s. After 50 s the agent reports a finding and writes nothing to Placement."""
    decision = decided(snapshot(placement=placement, nova=DEAD), settings(takeover=True), silent_for_s=50)
    (found,) = [finding for finding in decision.findings if finding.code == CODE]
    assert why in found.actual
    assert remedy in found.remedy
    assert decision.plan.writes == ()


def test_an_overwritten_inventory_is_reported():
    """If another writer changes an inventory in two audits in a row, the finding shows the old and the new values."""
    mine, theirs = inventory("MEMORY_MB", 512), inventory("MEMORY_MB", 99)
    written = WrittenProvider(provider_uuid=ROOT_UUID, inventories=(mine,), strikes=1)
    decision = decided(snapshot(placement=view(provider=root(theirs))), written=written)
    (found,) = [f for f in decision.findings if f.code == CODE]
    assert "2 audits in a row" in found.actual
    assert "MEMORY_MB total=512 reserved=0 max_unit=512 ratio=1.0 is now MEMORY_MB total=99" in found.actual
    assert decision.plan.writes == ()


QUIET = {
    "ours": (view(), DEAD, settings()),
    "a takeover that was asked for": (NOVAS, DEAD, settings(takeover=True)),
    "not there yet": (view(providers=()), DEAD, settings()),
    "made by a script: nobody's trait": (view(provider=root(traits=frozenset())), DEAD, settings()),
}


@pytest.mark.parametrize(("placement", "nova", "chosen"), QUIET.values(), ids=QUIET.keys())
def test_the_agent_writes_if_nova_compute_is_gone(placement, nova, chosen):
    """If nova-compute no longer runs, the agent writes to Placement."""
    world = snapshot(placement=placement, nova=nova)
    assert findings(world, CODE, chosen) == ()
    assert decided(world, chosen).plan.writes != ()


def test_nothing_is_written_if_nova_could_not_be_read():
    """If nova's database was not read, nova-compute may still run, so the agent writes nothing to Placement."""
    world = without(snapshot(placement=NOVAS), STATE)
    (found,) = findings(world, CODE, settings(takeover=True))
    assert "nova-compute of this host is alive: nova's database could not be read" in found.actual
    assert "source-unavailable" in found.remedy
    assert decided(world, settings(takeover=True)).plan.writes == ()


def test_an_observer_reports_no_rival_nova_compute():
    """An agent with [agent] role = observer only reads, so a running nova-compute is no rival."""
    world, observer = snapshot(placement=NOVAS, nova=ALIVE), settings(role=Role.OBSERVER)
    assert findings(world, CODE, observer) == ()
    plan = decided(world, observer).plan
    assert plan.writes == ()
    assert "is alive" in plan.held_back[0].why


def test_no_rival_writer_is_reported_without_placement():
    """If Placement could not be read, the agent reports no other writer of the root provider."""
    assert findings(without(snapshot(placement=NOVAS, nova=ALIVE), PLACEMENT), CODE) == ()
