"""The change that each repair proposes, and similar cases that it declines (guard rails: tests/unit/guards)."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.options.heal import heal_settings
from agent.errors import ConfigError
from agent.healing.plan import asked_for, candidates, heal_plan
from agent.model.claim import Cause
from agent.model.finding import Finding, SeenFinding, Severity
from agent.model.heal import HealAction, HealPlan
from agent.model.own_consumers import OWN_TYPE, own_consumer_uuid
from agent.model.placement import Provider
from agent.model.snapshot import LVM, Snapshot
from agent.repairs import BUILTIN, BY_CODE, DAEMON_CODES
from agent.repairs.base import Declined, Scene
from tests.rigs import facts
from tests.rigs.configs import ALONE, load_ours
from tests.rigs.heal import OTHER, SEEN_AT, leaks, record, scene_of, view_of


def plan_of(scene: Scene) -> HealPlan:
    return heal_plan(scene, asked_for(scene.findings, frozenset(BY_CODE), frozenset()))


def written(action: HealAction) -> list[tuple[str, str, int]]:
    return [(a.provider_uuid, a.resource_class, a.amount) for a in action.write.allocations]


def proposed(scene: Scene, code: str, held: Any) -> HealAction | Declined:
    """Return what that repair proposes for a finding of its code, whether or not the audit has such a finding."""
    finding = Finding(
        code=code, severity=Severity.ERROR, remedy="", expected="", actual="", consumer_uuid=held.consumer_uuid
    )
    seen = SeenFinding(finding=finding, confirmed=True, first_seen_at=SEEN_AT)
    return BY_CODE[code].propose(scene, seen, held)


def declined(scene: Scene, code: str, held: Any) -> str:
    found = proposed(scene, code, held)
    assert isinstance(found, Declined), found
    return found.why


def world(*held: Any, instances: Any = (), **parts: Any) -> Snapshot:
    migrations = parts.pop("migrations", ())
    state = facts.state(*instances, migrations=migrations)
    return facts.snapshot(placement=view_of(*(r for r in held if r.allocations)), nova=state, **parts)


def test_the_daemon_may_do_all_repairs_except_one(tmp_path):
    """The daemon can be configured for every repair except that of the finding `allocation-differs`."""
    codes = sorted({repair.code for repair in BUILTIN} - {"allocation-differs"})
    assert heal_settings(load_ours(tmp_path, f"{ALONE}[heal]\ncodes = {', '.join(codes)}\n")).codes == tuple(codes)
    with pytest.raises(ConfigError, match=f"valid codes: {', '.join(codes)}$"):
        heal_settings(load_ours(tmp_path, f"{ALONE}[heal]\ncodes = volume-foreign\n"))


def test_heal_codes_rejects_a_repair_for_operators_only(tmp_path):
    """The option [heal] codes must not contain `allocation-differs`, because only an operator may start its repair."""
    with pytest.raises(
        ConfigError, match="the daemon does not repair allocation-differs: run `stocktake heal`; valid "
    ):
        heal_settings(load_ours(tmp_path, f"{ALONE}[heal]\ncodes = allocation-leaked, allocation-differs\n"))


def test_the_daemon_can_do_all_default_repairs(tmp_path):
    """The default of the option [heal] codes contains only repairs that the daemon may do."""
    assert set(heal_settings(load_ours(tmp_path, ALONE)).codes) <= DAEMON_CODES


@pytest.mark.parametrize(("interval", "seconds"), [("0", 180.0), ("20", 60.0), ("-1", 0.0)])
def test_heal_waits_for_three_update_intervals_of_nova_compute(tmp_path, interval, seconds):
    """Before a repair, heal waits three times as long as nova's option update_resources_interval says."""
    loaded = load_ours(tmp_path, f"[DEFAULT]\nupdate_resources_interval = {interval}\n{ALONE}")
    assert heal_settings(loaded).nova_audits_s == seconds


def test_heal_sends_the_consumer_generation_that_it_read():
    """To remove a leaked allocation, heal sends the consumer generation that it read from Placement."""
    snapshot, held = leaks("gone")
    (action,) = plan_of(scene_of(snapshot, *held)).actions
    assert (action.before, action.write.allocations) == (held[0], ())
    assert (action.write.consumer_generation, action.write.project_id, action.write.user_id) == (1, "p", "u")
    assert action.write.consumer_type is None


def test_heal_keeps_a_leaked_allocation_of_another_host():
    """If a deleted instance has allocations on two hosts, heal removes only the amounts on this host."""
    held = record("gone", here={"VCPU": 1, "MEMORY_MB": 128}, there={"VCPU": 1})
    gone = facts.instance("gone", deleted=True, vm_state="deleted")
    (action,) = plan_of(scene_of(world(held, instances=[gone]), held)).actions
    assert written(action) == [(OTHER, "VCPU", 1)]


def test_heal_keeps_the_allocation_of_a_hidden_instance():
    """If nova only hides an instance, for example in a move to another cell, heal keeps its allocation."""
    held = record("gone", here={"VCPU": 1})
    scene = scene_of(world(held, instances=[facts.instance("gone", deleted=True, hidden=True)]), held)
    assert plan_of(scene) == HealPlan()
    assert declined(scene, "allocation-leaked", held) == "the consumer's instance is not known to be deleted"


def test_two_findings_about_an_instance_lead_to_one_repair():
    """A moved instance causes two findings on this host. Heal plans a single repair for both."""
    held = record("away", here={"VCPU": 1}, there={"VCPU": 1})
    away = facts.instance("away", host="cmp2", node="cmp2")
    scene = scene_of(world(held, instances=[away]), held)
    assert {"allocation-stale-move", "consumer-on-several-providers"} <= {s.finding.code for s in scene.findings}
    plan = plan_of(scene)
    assert ([a.code for a in plan.actions], plan.refusals) == (["allocation-stale-move"], ())
    assert written(plan.actions[0]) == [(OTHER, "VCPU", 1)]


@pytest.mark.parametrize("below", [True, False], ids=["on its child", "on its root"])
def test_heal_keeps_allocations_on_another_compute_node(below):
    """Another compute node's provider is by mistake a child of this host's provider.

    Heal changes no allocation on it.
    """
    held = record("away", there={"VCPU": 1})
    node = facts.root(uuid=facts.uuid("node") if below else OTHER, name="cmp2", parent_uuid=facts.ROOT_UUID)
    child = Provider(uuid=OTHER, name="cmp2_x", parent_uuid=node.uuid, generation=1)
    view = view_of(held)
    providers = (*view.providers, node, *([child] if below else []))
    view = dataclasses.replace(view, providers=providers, allocations=held.allocations)
    away = facts.instance("away", host="cmp2", node="cmp2")
    scene = scene_of(facts.snapshot(placement=view, nova=facts.state(away)), held)
    assert "allocation-stale-move" in {seen.finding.code for seen in scene.findings}
    assert plan_of(scene).actions == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"host": facts.HOST, "node": facts.NODE}, "lives on this host"),
        ({"host": "cmp2", "task_state": "migrating"}, "not certain"),
        ({"host": None}, "not certain"),
        ({"host": "cmp2", "deleted": True}, "not certain on which host the instance is: the instance is deleted"),
    ],
)
def test_heal_removes_nothing_if_the_instance_could_be_here(changes, words):
    """An instance has allocations on two hosts: heal removes none if the instance is or could be on this host."""
    held = record("z", here={"VCPU": 1}, there={"VCPU": 1})
    scene = scene_of(world(held, instances=[facts.instance("z", **changes)]), held)
    assert words in declined(scene, "consumer-on-several-providers", held)


def test_heal_keeps_allocations_of_a_guest_in_libvirt():
    """If libvirt still has the guest of a moved instance, heal keeps all allocations of the instance."""
    held = record("z", here={"VCPU": 1}, there={"VCPU": 1})
    away = facts.instance("z", host="cmp2", node="cmp2")
    scene = scene_of(world(held, instances=[away], libvirt=facts.host(facts.domain("z"))), held)
    assert "its guest is defined on this host" in declined(scene, "consumer-on-several-providers", held)


def test_heal_keeps_allocations_that_nova_does_not_know():
    """Heal keeps all allocations of a consumer that is no instance in nova's database."""
    held = record("z", here={"VCPU": 1}, there={"VCPU": 1})
    assert "not known" in declined(scene_of(world(held), held), "consumer-on-several-providers", held)


def missing(**changes: Any) -> Scene:
    resting = facts.instance("i1", flavor=facts.FLAVOR_B, **changes)
    guest = facts.host(facts.domain("i1"))
    return scene_of(world(instances=[resting], libvirt=guest), record("i1"))


def test_s161_heal_creates_a_missing_allocation():
    """If an instance has no allocation, heal creates one with the flavor's amounts and with nova's project and user."""
    (action,) = plan_of(missing(project_id="pp", user_id="uu")).actions
    assert written(action) == [
        (facts.ROOT_UUID, "DISK_GB", 5),
        (facts.ROOT_UUID, "MEMORY_MB", 256),
        (facts.ROOT_UUID, "VCPU", 2),
    ]
    assert (action.write.consumer_generation, action.write.project_id, action.write.user_id) == (None, "pp", "uu")


SPECS = [
    ("resources:VGPU", "1"),
    ("accel:device_profile", "x"),
    ("pci_passthrough:alias", "a:1"),
    ("resources1:X", "1"),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec[0])
def test_s161_heal_creates_no_allocation_for_a_vgpu_flavor(spec):
    """Heal creates no allocation if the flavor requests more than CPUs, memory and disk, such as a VGPU."""
    flavor = dataclasses.replace(facts.FLAVOR_B, extra_specs=(spec,))
    resting = facts.instance("i1", flavor=flavor)
    scene = scene_of(world(instances=[resting], libvirt=facts.host(facts.domain("i1"))), record("i1"))
    assert f"more than VCPU, PCPU, MEMORY_MB and DISK_GB ({spec[0]})" in declined(
        scene, "allocation-missing", record("i1")
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"project_id": None}, "project and user in nova's database"),
        ({"task_state": "powering-off"}, "not an instance on this host, or nova is changing"),
        ({"vm_state": "building"}, "not an instance on this host, or nova is changing"),
    ],
)
def test_s161_heal_skips_a_changing_or_projectless_instance(changes, words):
    """An instance has no allocation.

    Heal creates no allocation while nova is changing the instance. Heal also creates no allocation if nova's database
    has no project for the instance.
    """
    assert words in declined(missing(**changes), "allocation-missing", record("i1"))


def test_s161_heal_skips_an_instance_allocated_elsewhere():
    """If an instance has allocations on another host, heal does not create allocations for it on this host."""
    held = record("i1", there={"VCPU": 2})
    assert "the instance has 2 VCPU allocated now" in declined(missing(), "allocation-missing", held)


def test_s162_heal_corrects_the_project_and_user_of_a_consumer():
    """If a consumer's project and user differ from nova's, heal corrects the two and keeps the allocations."""
    held = record("i1", here={"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1}, there={"CUSTOM_X": 1})
    resting = facts.instance("i1", project_id="theirs", user_id="who")
    scene = scene_of(world(held, instances=[resting], libvirt=facts.host(facts.domain("i1"))), held)
    action = proposed(scene, "consumer-project-differs", held)
    assert isinstance(action, HealAction)
    assert (action.write.allocations, action.write.consumer_generation) == (held.allocations, 1)
    assert (action.write.project_id, action.write.user_id) == ("theirs", "who")


def test_s162_heal_skips_a_consumer_with_its_right_project():
    """If a consumer's project and user in Placement are the same as in nova, heal changes nothing."""
    held = record("i1", here={"VCPU": 1})
    scene = scene_of(world(held, instances=[facts.instance("i1")]), held)
    assert "by now" in declined(scene, "consumer-project-differs", held)


def test_heal_never_removes_the_agents_own_consumers():
    """`stocktake heal` refuses to remove a consumer that the agent itself created in Placement."""
    own = own_consumer_uuid(facts.ROOT_UUID, Cause.FOREIGN_VOLUME)
    held = dataclasses.replace(record("x", here={"DISK_GB": 3}), consumer_uuid=own, consumer_type=OWN_TYPE)
    held = dataclasses.replace(held, allocations=facts.allocations(own, DISK_GB=3))
    scene = scene_of(facts.without(world(held), LVM), held)
    assert "companion-leftover" in {seen.finding.code for seen in scene.findings}
    everything = asked_for(scene.findings, frozenset({"companion-leftover"}), frozenset())
    plan = heal_plan(scene, everything)
    assert (plan.actions, [refusal.guard for refusal in plan.refusals]) == ((), ["repairable"])


def test_heal_reads_no_consumer_of_a_recent_finding():
    """If a finding is too recent for a repair, heal does not read its consumer from Placement."""
    snapshot, _ = leaks("gone")
    scene = scene_of(snapshot)
    asked = asked_for(scene.findings, frozenset(BY_CODE), frozenset())
    assert candidates(scene, asked, 20) == (facts.uuid("gone"),)
    young = dataclasses.replace(scene, now=SEEN_AT)
    assert candidates(young, asked, 20) == ()


AMOUNTS = st.dictionaries(st.sampled_from(["VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_A"]), st.integers(1, 9), max_size=4)


@given(here=AMOUNTS.filter(bool), there=AMOUNTS)
def test_heal_removes_leaked_amounts_only_on_this_host(here, there):
    """Whatever amounts a deleted instance has in Placement, heal removes only those on this host."""
    held = record("gone", here=here, there=there)
    gone = facts.instance("gone", deleted=True, vm_state="deleted")
    (action,) = plan_of(scene_of(world(held, instances=[gone]), held)).actions
    assert written(action) == [(OTHER, name, amount) for name, amount in sorted(there.items())]
