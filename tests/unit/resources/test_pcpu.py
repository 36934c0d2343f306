"""PCPU: facts in, claims and inventory out. Numbers in ids are scenarios."""

from __future__ import annotations

import dataclasses

import pytest

from agent.books.occupancy import occupied
from agent.model.host.facts import Cpu
from agent.model.placement import ROOT, Inventory
from agent.model.settings import RatioPolicy
from agent.model.snapshot import LIBVIRT
from agent.resources.pcpu import Pcpu
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

NINE = tuple(range(1, 10))
OFFLINE = dataclasses.replace(host(), cpus=tuple(Cpu(id=number, online=number == 0) for number in range(10)))


def pcpu(total):
    return ((ROOT, Inventory(resource_class="PCPU", total=total, max_unit=total)),)


INVENTORY = {
    "s93 beside shared ones": (
        snapshot(libvirt=host(cpus=36)),
        {"cpu_shared_set": tuple(range(24)), "cpu_dedicated_set": tuple(range(24, 36))},
        pcpu(12),
    ),
    "s94 none configured": (snapshot(), {}, ()),
    "s78 all offline": (
        snapshot(libvirt=OFFLINE),
        {"cpu_dedicated_set": NINE, "cpu_power_management": True},
        pcpu(9),
    ),
    "neither the CPUs' ratio nor their reserve is its own": (
        snapshot(placement=view(provider=root(inventory("PCPU", 2, allocation_ratio=3.0)))),
        {
            "cpu_dedicated_set": (0, 1),
            "cpu_ratio": RatioPolicy(configured=16.0, initial=4.0),
            "reserved_host_cpus": 1,
        },
        pcpu(2),
    ),
}


@pytest.mark.parametrize(("world", "options", "expected"), INVENTORY.values(), ids=INVENTORY.keys())
def test_the_total_of_pcpu_is_the_number_of_dedicated_cpus(world, options, expected):
    """The total of PCPU in Placement is the number of CPUs in nova's option cpu_dedicated_set."""
    assert Pcpu().inventory(world, settings(**options)) == expected


def test_s79_pcpu_is_not_updated_with_offline_cpus():
    """If CPUs in cpu_dedicated_set are offline, the agent does not update PCPU, except with cpu_power_management."""
    chosen = settings(cpu_dedicated_set=NINE)
    assert Pcpu().obstacle(snapshot(libvirt=OFFLINE), chosen) == (
        "[compute] cpu_dedicated_set names CPUs that are not online: 1-9"
    )
    awake = dataclasses.replace(chosen, cpu_power_management=True)
    assert Pcpu().obstacle(snapshot(libvirt=OFFLINE), awake) is None
    assert Pcpu().obstacle(snapshot(lost=[LIBVIRT]), chosen) is None


def test_the_cpus_of_pinned_guests_count_as_pcpu():
    """A guest that libvirt binds to dedicated CPUs uses PCPU. A guest without such a binding uses none."""
    world = snapshot(libvirt=host(domain("i1", vcpus=3), domain("i2", vcpus=2, pinned_cpus=(2, 3))))
    (claim,) = Pcpu().held(world, settings(cpu_shared_set=(0, 1), cpu_dedicated_set=(2, 3)))
    assert (claim.consumer.key, claim.resource_class, claim.amount) == (uuid("i2"), "PCPU", 2)


def test_a_flavor_with_cpu_policy_dedicated_needs_pcpu():
    """An instance with hw:cpu_policy=dedicated in its flavor needs PCPU if cpu_dedicated_set is configured."""
    pinned = dataclasses.replace(FLAVOR_B, extra_specs=(("hw:cpu_policy", "dedicated"),))
    world = state(instance("i1", flavor=pinned), instance("i2", flavor=FLAVOR_B))
    taken = occupied(world, NODE, frozenset()).occupancies
    assert Pcpu().promised(taken, settings()) == ()
    (claim,) = Pcpu().promised(taken, settings(cpu_dedicated_set=(0, 1)))
    assert (claim.consumer.key, claim.resource_class, claim.amount) == (uuid("i1"), "PCPU", 2)


def test_pcpu_needs_only_libvirt():
    """The agent can update PCPU if libvirt can be read, even if it cannot read the storage."""
    assert Pcpu().needs(settings()) == {LIBVIRT}
