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


def test_the_repair_writes_the_flavor_amounts_and_the_consumer_generation():
    action = proposed(scene({**RIGHT, "VCPU": 3, "MEMORY_MB": 64}))
    assert isinstance(action, HealAction)
    assert {a.resource_class: a.amount for a in action.write.allocations} == RIGHT
    assert action.write.consumer_generation == 1
    assert "1 VCPU instead of 3" in action.why


def test_heal_keeps_a_pcpu_allocation_if_the_image_may_request_pinned_cpus():
    """The image's hw_cpu_policy made the scheduler allocate PCPU; the flavor alone asks for VCPU."""
    held = {"PCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1}
    assert "the image property hw_cpu_policy may be the cause" in declined(scene(held, numa=PINNED))


def test_heal_changes_nothing_if_libvirt_and_the_flavor_have_different_vcpus():
    made = scene({**RIGHT, "VCPU": 3})
    domains = (facts.domain("i1", vcpus=3),)
    host = dataclasses.replace(made.snapshot.host, value=facts.host(*domains))
    wrong = dataclasses.replace(made.snapshot, host=host)
    again = scene_of(wrong, *made.records)
    assert "the guest in libvirt does not have the flavor's number of VCPU" in declined(again)


def test_heal_changes_nothing_if_nova_compute_and_agent_disagree_on_pinned_cpus():
    """This holds in role companion (beside nova-compute); in role owner heal repairs the allocation."""
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
def test_heal_leaves_an_instance_alone_if_nova_may_still_change_or_move_it(changes, words):
    """Nor does heal change an instance if another provider serves a part of its flavor."""
    assert words in declined(scene({**RIGHT, "VCPU": 3}, **changes))
