"""MEMORY_MB: facts in, claims and inventory out. Numbers in ids are scenarios."""

from __future__ import annotations

import dataclasses

import pytest

from agent.books.occupancy import occupied
from agent.model.host.facts import DomainState
from agent.model.placement import ROOT, Inventory
from agent.model.settings import RatioPolicy
from agent.model.snapshot import LIBVIRT
from agent.resources.memory import Memory
from tests.rigs.facts import (
    FLAVOR_B,
    NODE,
    domain,
    host,
    instance,
    inventory,
    root,
    settings,
    snapshot,
    state,
    uuid,
    view,
)


def memory(total, **changes):
    plain = Inventory(resource_class="MEMORY_MB", total=total, max_unit=total)
    return ((ROOT, dataclasses.replace(plain, **changes)),)


INVENTORY = {
    "s93 with the reference's reserve": (
        snapshot(libvirt=host(memory_mib=1024)),
        {"reserved_host_memory_mib": 512},
        memory(1024, reserved=512),
    ),
    "s2 all of it reserved": (snapshot(), {"reserved_host_memory_mib": 512}, memory(512, reserved=512)),
    # Placement answers 400 to a reserve above the total.
    "s3 more reserved than there is": (
        snapshot(libvirt=host(memory_mib=1024)),
        {"reserved_host_memory_mib": 2048},
        memory(1024, reserved=1024),
    ),
    "s74 what is used of it is not asked": (
        snapshot(libvirt=host(memory_mib=15814, memory_used_mib=5574)),
        {},
        memory(15814),
    ),
    "s75 file-backed": (snapshot(), {"file_backed_memory_mib": 1048576}, memory(1048576)),
    "s94 nothing to offer": (snapshot(libvirt=host(memory_mib=0)), {}, ()),
    "s97 a ratio set through the API stays": (
        snapshot(placement=view(provider=root(inventory("MEMORY_MB", 512, allocation_ratio=1.7)))),
        {},
        memory(512, allocation_ratio=1.7),
    ),
    "s98 a new provider": (
        snapshot(placement=view(providers=())),
        {"memory_ratio": RatioPolicy(configured=None, initial=1.6)},
        memory(512, allocation_ratio=1.6),
    ),
}


@pytest.mark.parametrize(("world", "options", "expected"), INVENTORY.values(), ids=INVENTORY.keys())
def test_memory_mb_is_the_memory_of_the_host(world, options, expected):
    """The total of MEMORY_MB is the host's memory, or file_backed_memory if nova's configuration contains it."""
    assert Memory().inventory(world, settings(**options)) == expected


def test_a_guest_that_is_shut_off_still_uses_memory_mb():
    """Every guest that libvirt defines uses MEMORY_MB, whether the guest runs or is shut off."""
    world = snapshot(libvirt=host(domain("i1"), domain("i2", memory_mib=256, state=DomainState.SHUTOFF)))
    assert {(c.consumer.key, c.amount) for c in Memory().held(world, settings())} == {
        (uuid("i1"), 128),
        (uuid("i2"), 256),
    }


def test_the_memory_promised_by_nova_comes_from_the_flavor():
    """The agent takes the MEMORY_MB that nova promised to an instance from the instance's flavor."""
    taken = occupied(state(instance(flavor=FLAVOR_B)), NODE, frozenset()).occupancies
    (claim,) = Memory().promised(taken, settings())
    assert (claim.consumer.key, claim.resource_class, claim.amount) == (uuid("i1"), "MEMORY_MB", 256)


def test_memory_mb_needs_only_libvirt():
    """The agent can update MEMORY_MB if libvirt can be read, even if it cannot read the storage."""
    assert Memory().needs(settings()) == {LIBVIRT}
    assert Memory().obstacle(snapshot(), settings()) is None
    assert Memory().held(snapshot(lost=[LIBVIRT]), settings()) == ()
