"""Which CPUs are VCPU and which PCPU: scenarios 76 to 79, and which guests count as pinned."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.host.facts import Cpu
from agent.resources import cpus
from tests.rigs.facts import domain, host, settings

HALF_ONLINE = host(cpus=2)
HALF_ONLINE = dataclasses.replace(
    HALF_ONLINE, cpus=(*HALF_ONLINE.cpus, Cpu(id=2, online=False), Cpu(id=3, online=False))
)
FOUR = host(cpus=4)

SETS = {
    "s76 none: the online ones": (HALF_ONLINE, {}, {0, 1}, set()),
    "shared alone": (FOUR, {"cpu_shared_set": (0, 2)}, {0, 2}, set()),
    "dedicated alone offers no VCPU": (FOUR, {"cpu_dedicated_set": (1, 2, 3)}, set(), {1, 2, 3}),
    "both": (FOUR, {"cpu_shared_set": (0,), "cpu_dedicated_set": (1, 2)}, {0}, {1, 2}),
    "vcpu_pin_set goes first": (FOUR, {"vcpu_pin_set": (3,), "cpu_shared_set": (0, 1)}, {3}, set()),
}


@pytest.mark.parametrize(("facts", "options", "shared", "dedicated"), SETS.values(), ids=SETS.keys())
def test_nova_options_define_shared_and_dedicated_cpus(facts, options, shared, dedicated):
    """nova's options cpu_shared_set and cpu_dedicated_set define which CPUs are shared or dedicated."""
    chosen = settings(**options)
    assert cpus.shared_cpus(facts, chosen) == shared
    assert cpus.dedicated_cpus(chosen) == dedicated


NOT_THERE, HAS = "not on this host", "(this host has CPUs 0-3)"
OBSTACLES = {
    "s77 shared, one offline": (
        HALF_ONLINE,
        {"cpu_shared_set": (0, 1, 2)},
        "[compute] cpu_shared_set",
        "not online: 2",
    ),
    "shared, one that does not exist": (
        FOUR,
        {"cpu_shared_set": (3, 4, 5)},
        "[compute] cpu_shared_set",
        f"{NOT_THERE}: 4-5 {HAS}",
    ),
    "pin set": (HALF_ONLINE, {"vcpu_pin_set": (3,)}, "[DEFAULT] vcpu_pin_set", "not online: 3"),
    "s79 dedicated, offline": (
        HALF_ONLINE,
        {"cpu_dedicated_set": (2, 3)},
        "[compute] cpu_dedicated_set",
        "not online: 2-3",
    ),
    "power management wakes only what is there": (
        HALF_ONLINE,
        {"cpu_dedicated_set": (3, 4), "cpu_power_management": True},
        "[compute] cpu_dedicated_set",
        f"{NOT_THERE}: 4 {HAS}",
    ),
}


@pytest.mark.parametrize(("facts", "options", "option", "missing"), OBSTACLES.values(), ids=OBSTACLES.keys())
def test_an_error_shows_the_unusable_cpu_and_its_option(facts, options, option, missing):
    """If a CPU set of nova contains a CPU that is offline or absent, the error shows the option and the CPU."""
    assert cpus.obstacle(facts, settings(**options)) == f"{option} names CPUs that are {missing}"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cpu_shared_set": (0, 1)},
        {"cpu_dedicated_set": (0, 1)},
        {"cpu_dedicated_set": (2, 3), "cpu_power_management": True},
    ],
    ids=["none", "shared", "dedicated", "s78 dedicated and offline, with power management"],
)
def test_cpu_sets_of_usable_cpus_are_accepted(options):
    """CPU sets of online CPUs cause no error. With cpu_power_management, dedicated CPUs may be offline."""
    assert cpus.obstacle(HALF_ONLINE, settings(**options)) is None


@pytest.mark.parametrize(
    ("pinned", "dedicated", "expected"),
    [
        ((2, 3), (2, 3), True),
        ((2,), (2, 3), True),
        ((1, 2), (2, 3), False),
        ((), (2, 3), False),
        ((2,), None, False),
    ],
    ids=["all", "some", "one outside", "floating", "no dedicated set"],
)
def test_a_guest_is_pinned_if_all_its_cpus_are_dedicated(pinned, dedicated, expected):
    """A guest counts as pinned only if every host CPU that it is bound to is in cpu_dedicated_set."""
    assert cpus.is_pinned(domain(pinned_cpus=pinned), settings(cpu_dedicated_set=dedicated)) is expected
