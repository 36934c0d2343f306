"""VCPU: facts in, claims and inventory out. Numbers in ids are scenarios."""

from __future__ import annotations

import dataclasses

import pytest

from agent.books.occupancy import occupied
from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.host.facts import Cpu
from agent.model.placement import ROOT, Inventory
from agent.model.settings import RatioPolicy
from agent.model.snapshot import LIBVIRT
from agent.resources.vcpu import Vcpu
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


def vcpu(total, **changes):
    plain = Inventory(resource_class="VCPU", total=total, max_unit=total, allocation_ratio=4.0)
    return ((ROOT, dataclasses.replace(plain, **changes)),)


def at(ratio):
    """Return a view of the root with that VCPU ratio."""
    return view(provider=root(inventory("VCPU", 4, allocation_ratio=ratio)))


HALF_ONLINE = tuple(Cpu(id=number, online=number < 2) for number in range(4))
UNSET = RatioPolicy(configured=None, initial=4.0)
INVENTORY = {
    "s93 the defaults": (snapshot(libvirt=host(cpus=24)), {}, vcpu(24)),
    "story 3: a ratio makes no guest larger than the host": (
        snapshot(libvirt=host(cpus=48)),
        {},
        vcpu(48, max_unit=48),
    ),
    "s2 reserved": (snapshot(), {"reserved_host_cpus": 1}, vcpu(4, reserved=1)),
    "reserved above the total is all of it": (snapshot(), {"reserved_host_cpus": 9}, vcpu(4, reserved=4)),
    "s76 online ones only": (snapshot(libvirt=dataclasses.replace(host(), cpus=HALF_ONLINE)), {}, vcpu(2)),
    "s94 nothing to offer": (snapshot(libvirt=host(cpus=0)), {}, ()),
    "s78 dedicated alone": (snapshot(), {"cpu_dedicated_set": (1, 2, 3)}, ()),
    "s97 a ratio set through the API stays": (snapshot(placement=at(16.1)), {}, vcpu(4, allocation_ratio=16.1)),
    "s97 a configured one wins": (
        snapshot(placement=at(16.1)),
        {"cpu_ratio": RatioPolicy(configured=15.9, initial=4.0)},
        vcpu(4, allocation_ratio=15.9),
    ),
    "as a FLOAT column gives it back": (
        snapshot(),
        {"cpu_ratio": RatioPolicy(configured=1.33333333, initial=4.0)},
        vcpu(4, allocation_ratio=1.33333),
    ),
    "0.0 is not configured": (
        snapshot(placement=at(16.1)),
        {"cpu_ratio": RatioPolicy(configured=0.0, initial=4.0)},
        vcpu(4, allocation_ratio=16.1),
    ),
    "s98 a new provider": (
        snapshot(placement=view(provider=None, providers=())),
        {"cpu_ratio": RatioPolicy(configured=None, initial=16.1)},
        vcpu(4, allocation_ratio=16.1),
    ),
    "the class is new on the provider": (
        snapshot(placement=view(provider=root(inventory("DISK_GB", 1, allocation_ratio=2.0)))),
        {"cpu_ratio": UNSET},
        vcpu(4),
    ),
}


@pytest.mark.parametrize(("world", "options", "expected"), INVENTORY.values(), ids=INVENTORY.keys())
def test_vcpu_is_the_number_of_shared_cpus(world, options, expected):
    """The total of VCPU in Placement is the number of the host's shared CPUs that are online."""
    assert Vcpu().inventory(world, settings(**options)) == expected


def test_the_cpus_of_unpinned_guests_count_as_vcpu():
    """A guest that libvirt does not bind to dedicated CPUs uses VCPU. A guest on dedicated CPUs uses none."""
    world = snapshot(libvirt=host(domain("i1", vcpus=3), domain("i2", vcpus=2, pinned_cpus=(2, 3))))
    assert Vcpu().held(world, settings(cpu_shared_set=(0, 1), cpu_dedicated_set=(2, 3))) == (
        Claim(
            consumer=Consumer(key=uuid("i1"), kind="domain", name="i1", uuid=uuid("i1")),
            cause=Cause.INSTANCE,
            resource_class="VCPU",
            amount=3,
            provider_key=ROOT,
            source=Origin("libvirt", "domain", uuid("i1")),
        ),
    )


def test_the_vcpu_promised_by_nova_comes_from_the_flavor():
    """The agent takes the VCPU that nova promised to an instance from the instance's flavor."""
    taken = occupied(state(instance(flavor=FLAVOR_B)), NODE, frozenset()).occupancies
    assert Vcpu().promised(taken, settings()) == (
        Claim(
            consumer=Consumer(key=uuid("i1"), kind="instance", name="i1", uuid=uuid("i1")),
            cause=Cause.INSTANCE,
            resource_class="VCPU",
            amount=2,
            provider_key=ROOT,
            source=Origin("nova", "instances", uuid("i1")),
            instance_uuid=uuid("i1"),
        ),
    )


def test_vcpu_is_not_updated_with_an_absent_cpu():
    """If cpu_shared_set contains a CPU that the host does not have, the agent does not update VCPU and says why."""
    assert Vcpu().needs(settings()) == {LIBVIRT}
    assert Vcpu().obstacle(snapshot(), settings(cpu_shared_set=(0, 9))) == (
        "[compute] cpu_shared_set names CPUs that are not on this host: 9 (this host has CPUs 0-3)"
    )
    assert Vcpu().obstacle(snapshot(lost=[LIBVIRT]), settings(cpu_shared_set=(0, 9))) is None
