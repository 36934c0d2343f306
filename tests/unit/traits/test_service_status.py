"""COMPUTE_STATUS_DISABLED follows the service row: scenario 73."""

from __future__ import annotations

import pytest

from agent.model.nova import StateKind
from agent.model.plan import PutTraits
from agent.model.snapshot import STATE
from agent.traits import service_status
from agent.traits.base import Wish
from tests.rigs.facts import decided, root, service, settings, snapshot, state, usual_traits, view

DISABLED = frozenset({"COMPUTE_STATUS_DISABLED"})
OURS = usual_traits()

WISHES = {
    "s73 disabled": (snapshot(nova=state(service=service(disabled=True))), Wish(wanted=DISABLED)),
    "s73 enabled": (snapshot(nova=state(service=service())), Wish(unwanted=DISABLED)),
    "s73 no row": (snapshot(nova=state()), Wish()),
    "not read": (snapshot(nova=state(service=service(disabled=True)), lost=[STATE]), Wish()),
    "no cloud": (snapshot(nova=state(kind=StateKind.NONE)), Wish()),
    "forced down is not disabled": (snapshot(nova=state(service=service(forced_down=True))), Wish(unwanted=DISABLED)),
}


@pytest.mark.parametrize(("world", "expected"), WISHES.values(), ids=WISHES.keys())
def test_the_status_disabled_trait_follows_the_service(world, expected):
    """The agent sets COMPUTE_STATUS_DISABLED if nova's compute service is disabled, and removes it if not."""
    assert service_status.wish(world, settings()) == expected


PUTS = {
    "s73 disabled: added": (True, OURS, [tuple(sorted(OURS | DISABLED))]),
    "disabled, there already": (True, OURS | DISABLED, []),
    # As in scenario 108: the agent's decision prevails over an operator's change.
    "s73 s108 enabled: removed, whoever set it": (False, OURS | DISABLED, [tuple(sorted(OURS))]),
    "s109 enabled: the operator's own stays": (
        False,
        OURS | DISABLED | {"CUSTOM_X"},
        [tuple(sorted(OURS | {"CUSTOM_X"}))],
    ),
}


@pytest.mark.parametrize(("disabled", "before", "expected"), PUTS.values(), ids=PUTS.keys())
def test_disabling_the_compute_service_changes_one_trait(disabled, before, expected):
    """If nova's compute service is disabled or enabled, the agent changes only the trait COMPUTE_STATUS_DISABLED."""
    world = snapshot(nova=state(service=service(disabled=disabled)), placement=view(provider=root(traits=before)))
    assert [w.traits for w in decided(world).plan.writes if isinstance(w, PutTraits)] == expected


@pytest.mark.parametrize("before", [OURS, OURS | DISABLED], ids=["absent", "present"])
def test_the_status_disabled_trait_stays_if_nova_is_unread(before):
    """The agent leaves COMPUTE_STATUS_DISABLED unchanged if it could not read nova's database."""
    world = snapshot(placement=view(provider=root(traits=before)), lost=[STATE])
    assert [w for w in decided(world).plan.writes if isinstance(w, PutTraits)] == []
