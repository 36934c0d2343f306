"""allocation-differs: which amounts the repair writes, and when it declines because a CPU class is not certain."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from agent.model.heal import HealAction
from agent.model.nova import InstanceCell
from agent.model.settings import Role
from agent.repairs import BY_CODE
from agent.repairs.base import Declined, Scene
from tests.rigs import facts
from tests.rigs.heal import OTHER, record, scene_of, view_of

CODE = "allocation-differs"
RIGHT = {"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1}
PINNED = (InstanceCell(id=0, memory_mib=128, pcpuset=(0,), pinning=((0, 3),), cpu_policy="dedicated"),)


def scene(held: dict[str, int], *, role: Role = Role.OWNER, there: Any = None, **of_instance: Any) -> Scene:
    """Return a scene in which instance i1 (flavor A) has these amounts here, and ``there`` on another host."""
    kept = record("i1", here=held, **({"there": there} if there else {}))
    world = facts.snapshot(
        placement=view_of(kept),
        nova=facts.state(facts.instance("i1", **of_instance)),
        libvirt=facts.host(facts.domain("i1")),
    )
    return scene_of(world, kept, settings=facts.settings(role=role))


def proposed(made: Scene) -> HealAction | Declined:
    seen = next(s for s in made.findings if s.finding.code == CODE)
    held = made.record(seen.finding.consumer_uuid)
    assert held is not None
    found = BY_CODE[CODE].propose(made, seen, held)  # type: ignore[union-attr]
    assert isinstance(found, HealAction | Declined)
    return found


def declined(made: Scene) -> str:
    found = proposed(made)
    assert isinstance(found, Declined), found
    return found.why


def test_heal_corrects_an_allocation_to_the_flavor():
    """If an allocation differs from the flavor, `stocktake heal` writes the flavor's amounts to Placement."""
    action = proposed(scene({**RIGHT, "VCPU": 3, "MEMORY_MB": 64}))
    assert isinstance(action, HealAction)
    assert {a.resource_class: a.amount for a in action.write.allocations} == RIGHT
    assert action.write.consumer_generation == 1
    assert "1 VCPU instead of 3" in action.why


def test_heal_keeps_pcpu_that_an_image_may_have_requested():
    """`stocktake heal` keeps an allocation of PCPU that an image property may have requested."""
    held = {"PCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1}
    assert "the image property hw_cpu_policy may be the cause" in declined(scene(held, numa=PINNED))


def test_heal_declines_if_the_guest_differs_from_the_flavor():
    """If a guest in libvirt does not have the flavor's number of CPUs, `stocktake heal` changes no allocation."""
    made = scene({**RIGHT, "VCPU": 3})
    domains = (facts.domain("i1", vcpus=3),)
    host = dataclasses.replace(made.snapshot.host, value=facts.host(*domains))
    wrong = dataclasses.replace(made.snapshot, host=host)
    again = scene_of(wrong, *made.records)
    assert "the guest in libvirt does not have the flavor's number of VCPU" in declined(again)


def test_heal_declines_if_nova_compute_disagrees_on_cpus():
    """If nova-compute and the agent disagree about dedicated CPUs, `stocktake heal` changes no allocation."""
    made = scene({**RIGHT, "VCPU": 3}, role=Role.COMPANION)
    root = facts.root(*(facts.inventory(name, 100) for name in ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB")))
    view = dataclasses.replace(made.snapshot.placement.value, providers=(root,))
    world = dataclasses.replace(made.snapshot, placement=dataclasses.replace(made.snapshot.placement, value=view))
    again = scene_of(world, *made.records, settings=made.settings)
    assert "nova-compute and the agent disagree whether this host has dedicated CPUs" in declined(again)
    assert isinstance(proposed(scene_of(world, *made.records, settings=facts.settings(role=Role.OWNER))), HealAction)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"vm_state": "resized"}, "nova may be changing the instance now: vm_state resized"),
        ({"old_flavor": facts.FLAVOR_B}, "a migration or a resize"),
        (
            {"there": {"DISK_GB": 1}},
            f"the instance also has an allocation on provider {OTHER}, so this host's amount is not known",
        ),
    ],
    ids=["resized", "an old flavor", "a part elsewhere"],
)
def test_heal_skips_an_instance_that_may_be_changing(changes, words):
    """`stocktake heal` skips an instance that nova may be changing, for example by a resize."""
    assert words in declined(scene({**RIGHT, "VCPU": 3}, **changes))
