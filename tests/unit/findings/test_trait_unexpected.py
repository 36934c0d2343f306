"""trait-unexpected: a standard trait that stays, or comes back, though the host does not have the capability."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.audit import WrittenProvider
from agent.model.finding import Severity
from agent.model.settings import Role
from agent.model.snapshot import PLACEMENT
from agent.provider_tree.rival import remembered
from tests.rigs.facts import (
    ROOT_UUID,
    decided,
    root,
    settings,
    snapshot,
    usual_traits,
    view,
    wanted_root,
    without,
)

CODE = "trait-unexpected"


def world(*traits):
    return snapshot(placement=view(provider=root(traits=usual_traits() | set(traits))))


def unwanted():
    return wanted_root(decided(world())).traits_unwanted


def found_in(one, role=Role.OWNER, written=None):
    return [f for f in decided(one, settings(role=role), written).findings if f.code == CODE]


def some_unwanted():
    return sorted(name for name in unwanted() if not name.startswith("CUSTOM_") and name != "OWNER_NOVA")[0]


def cleared(*traits):
    return WrittenProvider(provider_uuid=ROOT_UUID, inventories=(), cleared=frozenset(traits))


def test_a_removed_trait_that_returns_is_reported():
    """If Placement shows a trait again after the agent removed this trait, the agent reports a warning."""
    trait = some_unwanted()
    (found,) = found_in(world(trait), written=cleared(trait))
    assert (found.provider_uuid, found.subject) == (ROOT_UUID, trait)
    assert found.expected == f"no trait {trait}, because the trait does not apply to this host"
    assert found.actual == "the trait is on the provider again after the agent removed it"
    assert found.severity is Severity.WARNING


def test_the_agent_remembers_which_unwanted_traits_it_removed():
    wanted = wanted_root(decided(world()))
    assert remembered(None, wanted).cleared == wanted.traits_unwanted


@pytest.mark.parametrize("role", [Role.OBSERVER, Role.COMPANION])
def test_an_unwanted_trait_that_may_not_be_removed_is_reported(role):
    """If the agent's role may not remove an unwanted trait from the provider, the agent reports the trait."""
    (found,) = found_in(world(some_unwanted()), role)
    assert found.actual == "the trait is on the provider"


def test_a_trait_that_the_agent_removes_is_not_reported():
    """If the host loses a capability, the agent removes its trait from Placement and does not report the trait."""
    trait = some_unwanted()
    assert found_in(world(trait)) == []
    assert found_in(world(trait), written=cleared("HW_CPU_X86_SVM" if trait != "HW_CPU_X86_SVM" else "X")) == []


@pytest.mark.parametrize("trait", ["CUSTOM_GOLD", "OWNER_NOVA", "HW_NIC_SRIOV"])
def test_traits_that_the_agent_does_not_manage_are_not_reported(trait):
    """The agent does not report a trait that it does not manage, such as CUSTOM_GOLD."""
    for role in Role:
        assert found_in(world(trait), role, cleared(trait)) == []


def test_a_provider_without_unexpected_traits_is_not_reported():
    """The agent reports nothing about a provider without unexpected traits."""
    trait = some_unwanted()
    assert found_in(without(world(trait), PLACEMENT), Role.OBSERVER) == []
    assert found_in(dataclasses.replace(world()), Role.OBSERVER) == []
