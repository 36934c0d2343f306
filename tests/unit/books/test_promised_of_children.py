"""Amounts that flavors request of child providers, compared with the amounts that Placement records there."""

from __future__ import annotations

import dataclasses

import pytest

from agent.books.compare import CHILD
from agent.model.report import Verdict
from tests.rigs.facts import (
    FLAVOR_A,
    INCOMING,
    allocations,
    decided,
    domain,
    instance,
    inventory,
    migration,
    settings,
    snapshot,
    state,
    uuid,
)
from tests.rigs.nested import AT_06, CARDS, GPU_06, GPU_07, child, mdev_type, on, standing

ENABLED = settings(mdev_types=(mdev_type("nvidia-11", AT_06), mdev_type("nvidia-12", resource_class="CUSTOM_BIG")))
CHILDREN = (child(GPU_06, inventory("VGPU", 16)), child(GPU_07, inventory("CUSTOM_BIG", 10)))
USUAL = allocations(uuid("i1"), VCPU=1, MEMORY_MB=128, DISK_GB=1)
IN_06, IN_07 = (found.uuid for found in CHILDREN)


def asking(**specs):
    pairs = tuple(sorted((key.replace("__", ":"), value) for key, value in specs.items()))
    return instance(flavor=dataclasses.replace(FLAVOR_A, extra_specs=pairs))


def rows(who, *held, chosen=ENABLED, root_has=(), **changes):
    world = snapshot(
        libvirt=dataclasses.replace(CARDS, domains=(domain(),)),
        nova=state(who, **changes),
        placement=standing(*CHILDREN, held=(*USUAL, *held), inventories=tuple(root_has)),
    )
    usual = {"VCPU", "MEMORY_MB", "DISK_GB"}
    ours = (r for r in decided(world, chosen).rows if r.key == uuid("i1"))
    return {r.resource_class: r for r in ours if r.resource_class not in usual}


@pytest.mark.parametrize(
    ("held", "recorded", "verdict"),
    [
        ((on(IN_06, "i1", "VGPU", 1), on(IN_07, "i1", "VGPU", 1)), 2, Verdict.AGREED),
        ((on(IN_06, "i1", "VGPU", 2),), 2, Verdict.AGREED),
        ((on(IN_06, "i1", "VGPU", 1),), 1, Verdict.ALLOCATION_DIFFERS),
        ((), None, Verdict.ALLOCATION_DIFFERS),
    ],
    ids=["one on each card", "both on one", "one is missing", "both are"],
)
def test_vgpus_of_several_request_groups_are_added_up(held, recorded, verdict):
    """A flavor requests one VGPU in each of two groups; the agent expects an allocation of two VGPUs."""
    found = rows(asking(resources1__VGPU="1", resources2__VGPU="1"), *held)["VGPU"]
    assert (found.promised, found.recorded, found.verdict) == (2, recorded, verdict)


def test_the_agent_compares_the_custom_class_of_a_vgpu_type():
    """The configuration gives a vGPU type the resource class CUSTOM_BIG.

    A flavor requests 1 CUSTOM_BIG. The agent compares this amount with the instance's allocation in Placement.
    """
    found = rows(asking(resources__CUSTOM_BIG="1"), on(IN_07, "i1", "CUSTOM_BIG", 1))
    assert {name: (row.promised, row.verdict) for name, row in found.items()} == {"CUSTOM_BIG": (1, Verdict.AGREED)}


def test_memory_encryption_needs_one_encryption_context():
    """For a flavor with hw:mem_encryption = true the agent expects one MEM_ENCRYPTION_CONTEXT in Placement."""
    sev = child("amd_sev", inventory("MEM_ENCRYPTION_CONTEXT", 16))
    world = snapshot(
        nova=state(asking(hw__mem_encryption="true")),
        placement=standing(sev, held=(*USUAL, on(sev.uuid, "i1", "MEM_ENCRYPTION_CONTEXT", 1))),
    )
    (found,) = (r for r in decided(world).rows if r.resource_class == "MEM_ENCRYPTION_CONTEXT")
    assert (found.promised, found.recorded) == (1, 1)


def test_an_unrequested_vgpu_allocation_is_marked_unknown():
    """The flavor requests no VGPU; the agent marks the allocation as unknown and does not call it wrong."""
    found = rows(instance(), on(IN_06, "i1", "VGPU", 1))["VGPU"]
    assert (found.promised, found.verdict) == (None, Verdict.UNKNOWN)


def test_a_class_the_host_does_not_offer_gets_no_ledger_row():
    """A flavor requests a resource class that this host does not offer; the ledger has no row for this class."""
    assert rows(asking(resources__CUSTOM_GOLD="1")) == {}
    assert rows(asking(resources__VGPU="1"), chosen=settings()) == {}


def test_s106_a_vgpu_allocation_may_be_on_the_root_provider():
    """If the root provider has VGPU inventory, the agent accepts an instance's VGPU allocation there."""
    found = rows(asking(resources__VGPU="1"), *allocations(uuid("i1"), VGPU=1), root_has=[inventory("VGPU", 8)])["VGPU"]
    assert (found.promised, found.recorded, found.verdict) == (1, 1, Verdict.AGREED)


def test_the_vgpus_of_another_consumer_are_ignored():
    """The agent compares an instance only with its own VGPU allocation, not with another consumer's."""
    held = (*allocations(uuid("gone"), VGPU=1), on(IN_06, "i1", "VGPU", 1))
    found = rows(asking(resources__VGPU="1"), *held, root_has=[inventory("VGPU", 8)])
    assert (found["VGPU"].promised, found["VGPU"].verdict) == (1, Verdict.AGREED)


def test_the_vgpu_of_an_incoming_live_migration_is_expected():
    """An instance migrates live to this host; the agent expects its VGPU allocation on this host."""
    there = dataclasses.replace(
        asking(resources__VGPU="1"), host="cmp2", node="cmp2.example.org", task_state="migrating"
    )
    coming = migration(kind="live-migration", **INCOMING)
    found = rows(there, on(IN_06, "i1", "VGPU", 1), migrations=(coming,))["VGPU"]
    assert (found.promised, found.recorded, found.verdict) == (1, 1, Verdict.SETTLING)


def test_a_requested_vgpu_may_be_on_any_child_provider():
    claims = decided(snapshot(nova=state(asking(resources__VGPU="1"))), ENABLED).books.promised.claims
    assert {claim.resource_class for claim in claims if claim.provider_key == CHILD} == {"VGPU"}
