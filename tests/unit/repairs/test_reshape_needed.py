"""How heal repairs reshape-needed: each amount moves to the child that the host names, or nothing moves at all."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.healing.plan import asked_for, candidates, heal_plan
from agent.model.heal import HealPlan, ReshapeAction
from agent.model.host.devices import OddDevice
from agent.model.placement import Allocation, ProviderKey
from agent.model.snapshot import Snapshot
from agent.nested.mdev import KIND
from agent.provider_tree.desired import child_uuid
from agent.repairs import BY_CODE
from agent.repairs.base import Declined, Scene
from tests.rigs import facts
from tests.rigs.facts import NODE, ROOT_UUID, allocations, inventory, uuid
from tests.rigs.heal import OTHER, scene_of
from tests.rigs.nested import GPU_06, GPU_07, card, child, encrypting, mdev_type, on
from tests.rigs.reshape import USED, gpu_host, gpu_scene, record_of, view_with

CODE = "reshape-needed"
CHILD_06, CHILD_07 = (child_uuid(ROOT_UUID, ProviderKey(KIND, name)) for name in (GPU_06, GPU_07))
CONTEXT = "MEM_ENCRYPTION_CONTEXT"


def plan_of(scene: Scene) -> HealPlan:
    return heal_plan(scene, asked_for(scene.findings, frozenset({CODE}), frozenset()))


def action_of(scene: Scene) -> ReshapeAction:
    plan = plan_of(scene)
    assert [type(action) for action in plan.actions] == [ReshapeAction], plan.refusals
    (action,) = plan.actions
    assert isinstance(action, ReshapeAction)
    return action


def declined(scene: Scene) -> str:
    plan = plan_of(scene)
    assert plan.actions == ()
    (refusal,) = plan.refusals
    assert refusal.guard == "repair"
    return refusal.why


def written(action: ReshapeAction) -> dict[str, dict[tuple[str, str], int]]:
    return {
        change.write.consumer_uuid: {(a.provider_uuid, a.resource_class): a.amount for a in change.write.allocations}
        for change in action.changes
    }


def offered(action: ReshapeAction) -> dict[str, tuple[dict[str, int] | None, dict[str, int] | None]]:
    def totals(inventories):
        return None if inventories is None else {i.resource_class: i.total for i in inventories}

    return {p.name: (totals(p.before), totals(p.after)) for p in action.reshaping.providers}


def test_s106_a_reshape_moves_vgpus_to_their_cards():
    """A reshape by heal moves each VGPU allocation from the host's provider to the provider of the card in use."""
    action = action_of(gpu_scene())
    assert written(action) == {
        uuid("i1"): {(ROOT_UUID, "VCPU"): 1, (CHILD_06, "VGPU"): 1, (CHILD_07, "VGPU"): 1},
        uuid("i2"): {(ROOT_UUID, "VCPU"): 1, (CHILD_06, "VGPU"): 1},
    }
    assert offered(action) == {
        NODE: ({"VCPU": 64, "VGPU": 24}, {"VCPU": 64}),
        f"{NODE}_{GPU_06}": (None, {"VGPU": 10}),
        f"{NODE}_{GPU_07}": (None, {"VGPU": 9}),
    }
    assert {c.write.consumer_type for c in action.changes} == {None}, "sent below 1.38, which keeps the type"
    assert action.reshaping.providers[0].uuid == ROOT_UUID, "parents first"
    assert f"{NODE}_{GPU_06} (2)" in action.why


def test_heal_reads_an_mdevs_uuid_from_its_name_or_uuid_field():
    """For a reshape, heal reads a mediated device's uuid from the device's name or from the field `uuid`."""
    plain = gpu_scene()
    host = plain.snapshot.host.value
    longer = tuple(dataclasses.replace(m, name=f"{m.name}_{m.parent[4:]}") for m in host.devices.mdevs)
    told = tuple(
        dataclasses.replace(m, name="mdev_0", uuid=m.name.removeprefix("mdev_").replace("_", "-").upper())
        for m in host.devices.mdevs
    )
    for made in (longer, told):
        devices = dataclasses.replace(host.devices, mdevs=made)
        again = gpu_scene(libvirt=dataclasses.replace(host, devices=devices))
        assert action_of(again) == action_of(plain)


def test_a_reshape_keeps_allocations_on_other_hosts():
    """A reshape keeps the VGPU allocation that an instance has on another host."""
    far = on(OTHER, "i1", "VGPU", 4)
    records = (record_of("i1", 2, far), record_of("i2", 1))
    action = action_of(gpu_scene(records=records))
    assert written(action)[uuid("i1")][OTHER, "VGPU"] == 4
    assert [c.write.consumer_generation for c in action.changes] == [1, 1]
    assert [(c.write.project_id, c.write.user_id) for c in action.changes] == [("p", "u")] * 2


def test_a_reshape_uses_existing_child_providers():
    """A reshape moves VGPU to a card's existing provider and keeps this provider's other inventories."""
    mine = child(GPU_06, inventory("CUSTOM_X", 3))
    half = child(GPU_07, inventory("VGPU", 2))
    records = (record_of("i1", 1, on(half.uuid, "i1", "VGPU", 1)), record_of("i2", 1))
    root = facts.root(inventory("VCPU", 64), inventory("VGPU", 24))
    action = action_of(gpu_scene(records=records, placement=view_with(records, providers=(root, mine, half))))
    assert written(action)[uuid("i1")] == {(ROOT_UUID, "VCPU"): 1, (mine.uuid, "VGPU"): 1, (half.uuid, "VGPU"): 1}
    assert offered(action)[mine.name] == ({"CUSTOM_X": 3}, {"CUSTOM_X": 3, "VGPU": 10})
    assert offered(action)[half.name] == ({"VGPU": 2}, {"VGPU": 9})


def test_s156_a_reshape_deletes_an_unused_gpu_provider():
    """A reshape deletes the provider of a GPU that offers no VGPU, if it has no allocations and no child providers."""
    gone = child("pci_0000_08_00_0", inventory("VGPU", 4))
    below = dataclasses.replace(child("x"), parent_uuid=gone.uuid)
    root = facts.root(inventory("VCPU", 64), inventory("VGPU", 24))
    records = (record_of("i1", 2), record_of("i2", 1))
    host = gpu_host(USED)
    cards = (*host.devices.mdev_parents, card("pci_0000_08_00_0", nvidia_11=0))
    empty = dataclasses.replace(host, devices=dataclasses.replace(host.devices, mdev_parents=cards))

    def going(*more, held=()):
        view = view_with(records, providers=(root, gone, *more))
        view = dataclasses.replace(view, allocations=(*view.allocations, *held))
        return offered(action_of(gpu_scene(records=records, placement=view, libvirt=empty))).get(gone.name)

    assert going() == ({"VGPU": 4}, None)
    assert going(held=(on(gone.uuid, "i9", "VGPU", 1),)) is None
    assert going(below) is None


@pytest.mark.parametrize(
    ("parents", "said"),
    [((), "nothing"), ((GPU_06, GPU_06), f"2 on {NODE}_{GPU_06}")],
    ids=["no device", "two devices"],
)
def test_a_reshape_needs_equal_vgpu_use_and_allocation(parents, said):
    """If a guest uses more or fewer vGPUs than its allocation says, heal declines the reshape."""
    records = (record_of("i1", 2), record_of("i2", 1))
    why = declined(gpu_scene(USED | {"i2": parents}, records=records))
    assert why == f"consumer {uuid('i2')} has 1 VGPU on the root provider, but libvirt shows that its guest uses {said}"


def test_a_reshape_needs_a_guest_for_each_consumer():
    """If a consumer with a VGPU allocation has no guest on this host, heal declines the reshape."""
    records = (record_of("i1", 2), record_of("i2", 1), record_of("gone", 1))
    assert f"this host has no guest {uuid('gone')}" in declined(gpu_scene(records=records))


def test_heal_declines_a_reshape_if_a_vgpu_is_unknown():
    """Heal would move VGPU allocations from the host's root provider to the GPUs' child providers.

    Heal moves nothing if libvirt does not list the vGPU of a guest. Heal also moves nothing if the vGPU has a wrong
    type.
    """
    host = gpu_host(USED)
    other = tuple(dataclasses.replace(m, type_id="nvidia-12") for m in host.devices.mdevs)
    odd = dataclasses.replace(host, devices=dataclasses.replace(host.devices, mdevs=other))
    assert "the device is of type nvidia-12, but" in declined(gpu_scene(libvirt=odd))
    none = dataclasses.replace(host, devices=dataclasses.replace(host.devices, mdevs=()))
    assert "libvirt does not list the device, so its parent is not known" in declined(gpu_scene(libvirt=none))


def test_a_reshape_creates_no_provider_for_a_custom_class():
    """A reshape moves VGPU from the root to a child provider for each card.

    A card with a class other than VGPU gets none.
    """
    chosen = facts.settings(
        mdev_types=(
            mdev_type("nvidia-11", "0000:06:00.0"),
            mdev_type("nvidia-11", "0000:07:00.0", resource_class="CUSTOM_BIG"),
        )
    )
    records = (record_of("i1", 1), record_of("i2", 1))
    action = action_of(gpu_scene(records=records, settings=chosen))
    assert written(action)[uuid("i1")] == {(ROOT_UUID, "VCPU"): 1, (CHILD_06, "VGPU"): 1}
    assert set(offered(action)) == {NODE, f"{NODE}_{GPU_06}"}


def test_heal_declines_a_reshape_if_a_gpu_has_too_few_vgpus():
    """Heal would move VGPU allocations from the host's root provider to the GPUs' child providers.

    One child provider offers 10 VGPU, but would get allocations of 11 VGPU. Heal moves nothing.
    """
    crowd = child(GPU_06, inventory("VGPU", 99))
    root = facts.root(inventory("VCPU", 64), inventory("VGPU", 24))
    records = (record_of("i1", 2), record_of("i2", 1))
    view = view_with(records, providers=(root, crowd))
    view = dataclasses.replace(view, allocations=(*view.allocations, on(crowd.uuid, "other", "VGPU", 9)))
    assert (
        declined(gpu_scene(records=records, placement=view))
        == f"{crowd.name} offers 10 VGPU, but 11 would be allocated"
    )


def test_a_reshape_is_declined_if_the_allocation_has_moved():
    """If a consumer's VGPU allocation has already moved to the cards' providers, heal declines the reshape."""
    scene = gpu_scene()
    there = (on(CHILD_06, "i1", "VGPU", 1), on(CHILD_07, "i1", "VGPU", 1))
    moved = dataclasses.replace(scene.records[0], generation=2, allocations=(*allocations(uuid("i1"), VCPU=1), *there))
    scene = dataclasses.replace(scene, records=(moved, scene.records[1]))
    assert "has no VGPU on the root provider any more" in declined(scene)


def test_a_reshape_is_declined_if_an_mdev_is_unreadable():
    """If the agent cannot read a mediated device (mdev) of the host, heal declines the reshape."""
    odd = gpu_host(USED, odd=(OddDevice(name="mdev_x", reason="?"),))
    assert "the agent cannot read these mediated devices" in declined(gpu_scene(libvirt=odd))


def test_a_reshape_needs_the_allocations_of_all_consumers():
    """If Placement's allocations of one consumer could not be read, heal declines the reshape."""
    scene = gpu_scene()
    asked = asked_for(scene.findings, frozenset(BY_CODE), frozenset())
    assert candidates(scene, asked, 1) == tuple(sorted((uuid("i1"), uuid("i2"))))
    half = dataclasses.replace(scene, records=scene.records[:1])
    assert [(r.guard, r.why) for r in plan_of(half).refusals] == [
        ("record-unmoved", "Placement's record of the consumer was not read completely")
    ]
    assert isinstance(BY_CODE[CODE].proposed(half, asked[0]), Declined)


def test_the_digest_of_a_reshape_ignores_generations():
    """The digest of a planned reshape does not depend on the generation of a resource provider."""
    scene = gpu_scene()
    view = scene.view
    busy = (dataclasses.replace(view.root, generation=99),)
    again = gpu_scene(placement=dataclasses.replace(view, providers=busy))
    assert plan_of(again).digest == plan_of(scene).digest
    more = gpu_scene({**USED, "i2": (GPU_07,)})
    assert plan_of(more).digest != plan_of(scene).digest
    empty = (dataclasses.replace(child(name), uuid=u) for name, u in ((GPU_06, CHILD_06), (GPU_07, CHILD_07)))
    made = (view.root, *empty)
    left = gpu_scene(placement=dataclasses.replace(view, providers=made))
    assert plan_of(left).digest == plan_of(scene).digest, "children that a first try left empty"


def sev_scene(*names: str, amount: int = 1, **kernel: str) -> Scene:
    held = tuple(
        dataclasses.replace(record_of(name, 1), allocations=allocations(uuid(name), **{CONTEXT: amount}))
        for name in names
    )
    root = facts.root(inventory(CONTEXT, 16, max_unit=4))
    here = tuple(a for each in held for a in each.allocations)
    world: Snapshot = facts.snapshot(
        placement=facts.view(here, providers=(root,)), libvirt=encrypting(**({"sev": "Y"} | kernel))
    )
    return scene_of(world, *held)


def test_s107_a_reshape_moves_encryption_contexts_to_sev():
    """On a host with AMD SEV and SEV-ES, a reshape moves MEM_ENCRYPTION_CONTEXT to the provider for SEV."""
    action = action_of(sev_scene("a", "b", sev_es="Y"))
    sev = child_uuid(ROOT_UUID, ProviderKey("memory-encryption", "amd_sev"))
    assert written(action) == {uuid(n): {(sev, CONTEXT): 1} for n in ("a", "b")}
    assert offered(action)[NODE] == ({CONTEXT: 16}, {})
    assert set(offered(action)) == {NODE, f"{NODE}_amd_sev", f"{NODE}_amd_sev_es"}


def test_s107_a_reshape_needs_sev_and_one_context_per_guest():
    """If the host has no AMD SEV, or a guest has two encryption contexts, heal declines the reshape."""
    assert "this host offers no AMD SEV to guests" in declined(sev_scene("a", sev="N"))
    assert "has 2 MEM_ENCRYPTION_CONTEXT on the root" in declined(sev_scene("a", amount=2))


GUESTS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]),
    st.lists(st.sampled_from([GPU_06, GPU_07]), max_size=3).map(tuple),
    min_size=1,
)


def summed(held: tuple[Allocation, ...]) -> Counter[str]:
    amounts: Counter[str] = Counter()
    for each in held:
        amounts[each.resource_class] += each.amount
    return amounts


@given(used=GUESTS, wrong=st.integers(0, 2))
def test_a_reshape_never_changes_a_consumers_total(used, wrong):
    """For any guests and devices, a reshape only moves amounts. Each consumer has the same total before and after."""
    first = min(used)
    amounts = {name: max(1, len(used[name]) + (wrong if name == first else 0)) for name in sorted(used)}
    plan = plan_of(gpu_scene(used, records=tuple(record_of(name, amount) for name, amount in amounts.items())))
    assert bool(plan.actions) == all(len(used[name]) == amount for name, amount in amounts.items())
    for action in plan.actions:
        for change in action.changes:
            assert summed(change.before.allocations) == summed(change.write.allocations)
            assert not any((a.provider_uuid, a.resource_class) == (ROOT_UUID, "VGPU") for a in change.write.allocations)
