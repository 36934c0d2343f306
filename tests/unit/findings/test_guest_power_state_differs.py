"""guest-power-state-differs: fires for exactly the pairs of states that nova's power sync treats as a difference."""

from __future__ import annotations

import pytest

from agent.model.finding import Severity
from agent.model.host.facts import DomainState
from agent.model.nova import StateKind
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from tests.rigs.facts import (
    ROOT_UUID,
    domain,
    findings,
    host,
    instance,
    migration,
    settled_world,
    snapshot,
    state,
    uuid,
    without,
)

CODE = "guest-power-state-differs"
I1 = uuid("i1")
S = DomainState
# libvirt's states, by the power states that nova maps them to.
RUNNING, DOWN = {S.RUNNING, S.BLOCKED}, {S.SHUTDOWN, S.SHUTOFF}
TOLD = {
    "active": DOWN | {S.CRASHED, S.PMSUSPENDED, S.PAUSED, S.NO_STATE},
    "stopped": RUNNING | {S.PAUSED, S.PMSUSPENDED},
    "paused": DOWN | {S.CRASHED},
    "soft-delete": RUNNING | {S.PAUSED, S.PMSUSPENDED, S.CRASHED},
    "building": set(),
    "rescued": set(),
    "resized": set(),
    "suspended": set(),
    "error": set(),
}


def world(vm_state, power, **changes):
    return snapshot(
        **settled_world(nova=state(instance(vm_state=vm_state, **changes)), libvirt=host(domain(state=power)))
    )


@pytest.mark.parametrize("power", DomainState)
@pytest.mark.parametrize("vm_state", TOLD)
def test_only_power_states_that_nova_would_correct_are_reported(vm_state, power):
    """The agent reports exactly the pairs of vm_state and libvirt state on which nova's power sync would act."""
    assert bool(findings(world(vm_state, power), CODE)) == (power in TOLD[vm_state])


def test_the_finding_shows_the_vm_state_and_the_domain_state():
    """If an instance is active for nova and shut down in libvirt, the finding shows the two states."""
    (found,) = findings(world("active", S.SHUTOFF, power_state=1), CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, I1, None)
    assert found.expected == f"a power state that fits vm_state active of instance {I1} (i1)"
    assert found.actual == "domain i1 is shut down"
    assert found.facts == (
        ("vm_state", "active"),
        ("domain_state", "shutoff"),
        ("recorded_power_state", "running"),
    )
    assert found.severity is Severity.WARNING
    assert not found.rests_on_recorded


OFF = host(domain(state=S.SHUTOFF))
WORLD = world("active", S.SHUTOFF)
QUIET = {
    "a task is set": world("active", S.SHUTOFF, task_state="powering-on"),
    "on its way to another host": snapshot(
        **settled_world(
            nova=state(instance(task_state="migrating"), migrations=(migration(kind="live-migration"),)), libvirt=OFF
        )
    ),
    "a move that is not over, though no task says so": snapshot(
        **settled_world(nova=state(instance(), migrations=(migration(status="finished"),)), libvirt=OFF)
    ),
    "a guest that the cloud does not know": snapshot(nova=state(), libvirt=OFF),
    "it lives elsewhere": snapshot(nova=state(instance(host="cmp2", node="x")), libvirt=OFF),
    "without a cloud": snapshot(nova=state(kind=StateKind.NONE), libvirt=OFF),
    "state not read": without(WORLD, STATE),
    "libvirt not read": without(WORLD, LIBVIRT),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_no_wrong_power_state_is_reported_during_a_task(world):
    """The agent reports no wrong power state during a task or a move of an instance, or if nova was not read."""
    assert findings(world, CODE) == ()


def test_a_wrong_power_state_is_reported_without_placement():
    """A guest that is off while its instance is active is reported even if Placement could not be read."""
    assert len(findings(without(WORLD, PLACEMENT), CODE)) == 1
