"""Each guard rail alone prevents a wrong change: in its world all other guard rails accept, and it refuses."""

import dataclasses
import datetime
import re
from collections.abc import Callable

import pytest

from agent.guards import BUILTIN
from agent.guards.base import Guard, GuardedFinding
from agent.healing.plan import asked_for, heal_plan
from agent.model.audit import Identity
from agent.model.finding import SeenFinding
from agent.model.heal import HealAction, HealSettings, Undone
from agent.model.nova import Migration, Service
from agent.model.placement import ConsumerRecord, Written
from agent.model.settings import Role
from agent.model.snapshot import LIBVIRT, STATE
from agent.repairs import BY_CODE
from agent.repairs.base import BesideNova, Declined, Scene
from tests.rigs import facts
from tests.rigs.guard_cases import with_scene, with_settings, with_view
from tests.rigs.heal import OTHER, leaks, record, scene_of, view_of

ALL = frozenset(BY_CODE)
GUARDS = {guard.name: guard for guard in BUILTIN}


def right() -> GuardedFinding:
    """Return a case with a leak that heal may repair."""
    world, held = leaks("gone")
    return case_of(scene_of(world, *held))


def case_of(scene: Scene, **changes) -> GuardedFinding:
    (seen,) = (s for s in scene.findings if s.finding.code == "allocation-leaked")
    repair = BY_CODE["allocation-leaked"]
    held = scene.record(seen.finding.consumer_uuid)
    action = repair.propose(scene, seen, held) if held else None
    assert not isinstance(action, Declined)
    return dataclasses.replace(GuardedFinding(scene=scene, seen=seen, repair=repair, action=action), **changes)


def read(case: GuardedFinding) -> ConsumerRecord:
    """Return what the case's consumer held when it was read."""
    found = case.scene.record(case.seen.finding.consumer_uuid)
    assert found is not None
    return found


def with_state(case: GuardedFinding, **changes) -> GuardedFinding:
    snapshot = case.scene.snapshot
    nova = dataclasses.replace(snapshot.nova, value=dataclasses.replace(snapshot.nova.value, **changes))
    return with_scene(case, snapshot=dataclasses.replace(snapshot, nova=nova))


def with_seen(case: GuardedFinding, **changes) -> GuardedFinding:
    return dataclasses.replace(case, seen=dataclasses.replace(case.seen, **changes))


def with_undone(case: GuardedFinding, **undone: set[str]) -> GuardedFinding:
    return with_scene(case, undone=Undone(**{name: frozenset(found) for name, found in undone.items()}))


def with_write(case: GuardedFinding, **changes) -> GuardedFinding:
    action = dataclasses.replace(case.action, write=dataclasses.replace(case.action.write, **changes))
    return dataclasses.replace(case, action=action)


def chosen(case: GuardedFinding, *consumers: str) -> GuardedFinding:
    made = []
    for name in consumers:
        held = record(name, here={"VCPU": 1})
        made.append(dataclasses.replace(case.action, before=held, finding_id=name))
    return dataclasses.replace(case, chosen=tuple(made))


def many(count: int, case: GuardedFinding) -> GuardedFinding:
    """Return the case on a host with that many consumers."""
    held = (read(case), *(record(f"c{number}", here={"VCPU": 1}) for number in range(count - 1)))
    return with_view(case, allocations=tuple(a for each in held for a in each.allocations))


def rival_seen(case: GuardedFinding) -> GuardedFinding:
    rival = dataclasses.replace(case.seen.finding, code="rival-writer", actual="nova-compute is alive")
    seen = SeenFinding(finding=rival, confirmed=True, first_seen_at=case.seen.first_seen_at)
    return with_scene(case, findings=(*case.scene.findings, seen))


def lost(case: GuardedFinding, source: str) -> GuardedFinding:
    return with_scene(case, snapshot=facts.without(case.scene.snapshot, source))


def moved_on(case: GuardedFinding, **changes) -> GuardedFinding:
    """Return a case whose record changed after the audit read it; the change is made from the new record."""
    case = with_scene(case, records=(dataclasses.replace(read(case), **changes),))
    return case_of(case.scene)


WRONG: list[tuple[str, str, Callable[[GuardedFinding], GuardedFinding]]] = [
    ("repairable", "heal has no repair for allocation-leaked", lambda c: dataclasses.replace(c, repair=None)),
    ("role", "role observer changes nothing", lambda c: with_settings(c, role=Role.OBSERVER)),
    ("undone", "an operator undid this repair", lambda c: with_undone(c, findings={c.seen.finding.id})),
    ("undone", "undid a repair of this consumer", lambda c: with_undone(c, consumers={c.seen.finding.consumer_uuid})),
    (
        "undone",
        "an operator undid this repair, cannot be read: journal: it is a folder",
        lambda c: with_scene(c, undone=Undone(unread_because="journal: it is a folder")),
    ),
    ("confirmed", "2 audits in a row", lambda c: with_seen(c, times=1)),
    ("minimum-age", r"first seen 299 s ago; \[heal\] min_age is 300 s", lambda c: with_scene(c, now=at(299))),
    (
        "minimum-age",
        "first seen 12 s ago",
        lambda c: with_scene(with_seen(c, stands_since=at(288)), now=at(300)),
    ),
    ("minimum-age", "first seen -60 s ago", lambda c: with_scene(c, now="2026-11-21T10:59:00.000Z")),
    ("sources-fresh", "the repair needs libvirt, which this audit could not read", lambda c: lost(c, LIBVIRT)),
    ("recorded-fresh", "were not read in this audit", lambda c: with_view(c, allocations_fresh=False)),
    ("no-rival", "another program writes this provider: nova-compute is alive", rival_seen),
    ("identity", "is not known", lambda c: with_scene(c, identity=None)),
    (
        "identity",
        "is not known",
        lambda c: with_scene(c, identity=Identity(uuid=facts.ROOT_UUID, origin="made up", invented=True)),
    ),
    (
        "identity",
        "/var/lib/x contains uuid .* now, but the audit used",
        lambda c: with_scene(c, persisted=Identity(uuid=facts.uuid("x"), origin="/var/lib/x")),
    ),
    ("identity", "is named other", lambda c: with_view(c, providers=(facts.root(name="other"),))),
    ("identity", "has the name", lambda c: with_view(c, name_holder=facts.root(uuid=OTHER))),
    ("identity", "no compute node record", lambda c: with_state(c, nodes=())),
    ("identity", "no compute node record", lambda c: with_state(c, nodes=(facts.node(deleted=True),))),
    ("identity", "another compute node: host cmp9", lambda c: with_state(c, nodes=(facts.node(host="cmp9"),))),
    (
        "identity",
        "in doubt",
        lambda c: with_state(c, nodes=(facts.node(), facts.node(2, uuid=facts.uuid("second")))),
    ),
    (
        "max-consumers",
        r"this run has changed 2 consumers, the most that \[heal\] max_consumers=2 permits; next run in 60 s",
        lambda c: chosen(many(1000, c), "c1", "c2"),
    ),
    (
        "max-percent",
        r"this run has changed 1 of 39 consumers, the most that \[heal\] max_percent=5 permits "
        r"\(at least 1 consumer per run\); next run in 60 s",
        lambda c: chosen(many(39, c), "c1"),
    ),
    (
        "max-percent",
        r"\(at least 1 consumer per run\); after this run, run `stocktake heal` again for the remaining changes",
        lambda c: chosen(with_settings(many(39, c), heal=HealSettings(interval_s=None)), "c1"),
    ),
    ("one-change", "already changes the consumer", lambda c: chosen(many(100, c), "gone")),
    ("record-unmoved", "was not read", lambda c: with_scene(c, records=())),
    ("record-unmoved", "a provider of this host has changed since this audit", lambda c: with_scene(c, has_moved=True)),
    ("record-unmoved", "the consumer's generation is 2 now; the audit read 1", lambda c: moved_on(c, generation=2)),
    (
        "record-unmoved",
        "have changed since the audit read them",
        lambda c: moved_on(c, allocations=record("gone", here={"VCPU": 3}).allocations),
    ),
    (
        "record-unmoved",
        "does not start from the consumer's record",
        lambda c: dataclasses.replace(
            c, action=dataclasses.replace(c.action, before=dataclasses.replace(read(c), project_id="other"))
        ),
    ),
]


def beside_nova(case: GuardedFinding, **of_instance) -> GuardedFinding:
    """Return the case in role companion, an hour after nova last changed the instance; no guard refuses it."""
    state = case.scene.snapshot.nova.value
    changed = {"updated_at": facts.NOW - datetime.timedelta(hours=1)} | of_instance
    instances = tuple(dataclasses.replace(each, **changed) for each in state.instances)
    case = with_state(case, instances=instances, service=service(facts.NOW))
    return with_seen(with_settings(with_scene(case, nova_alive_s=3600), role=Role.COMPANION), times=3)


def service(seen: datetime.datetime | None) -> Service:
    return Service(id=1, version=70, disabled=False, forced_down=False, last_seen_up=seen, created_at=None)


def repaired_by(case: GuardedFinding, **changes) -> GuardedFinding:
    return dataclasses.replace(case, repair=dataclasses.replace(case.repair, **changes))


def ago(seconds: int) -> datetime.datetime:
    return facts.NOW - datetime.timedelta(seconds=seconds)


def moving(case: GuardedFinding, **changes) -> GuardedFinding:
    """Return the case with a finished migration of the consumer's instance."""
    return with_state(case, migrations=(facts.migration(1, "gone", status="completed", **changes),))


def moving_elsewhere(case: GuardedFinding, *found: Migration) -> GuardedFinding:
    """Return the case with these migrations of the consumer's instance, which heal read for the plan."""
    return with_scene(case, migrations={facts.uuid("gone"): found})


WRONG_BESIDE_NOVA: list[tuple[str, str, Callable[[GuardedFinding], GuardedFinding]]] = [
    (
        "role",
        "heal leaves this repair to nova-compute",
        lambda c: repaired_by(c, beside_nova=BesideNova.NOVA_REPAIRS),
    ),
    (
        "after-nova",
        "the evidence was first seen 599 s ago",
        lambda c: with_scene(with_settings(c, heal=HealSettings(nova_audits_s=600.0)), now=at(599)),
    ),
    ("allocation-steady", "3 audits in a row must find the same allocations", lambda c: with_seen(c, times=2)),
    ("nova-at-work", "task deleting", lambda c: beside_nova(c, deleted=False, task_state="deleting")),
    (
        "nova-at-work",
        r"changed the row of instance .* 299 s ago; heal waits until this change is 300 s old \(\[heal\] min_age\)",
        lambda c: beside_nova(c, updated_at=ago(299)),
    ),
    ("nova-at-work", "299 s ago", lambda c: beside_nova(c, deleted_at=ago(299))),
    ("nova-at-work", "changed the row of migration .* 10 s ago", lambda c: moving(c, updated_at=ago(10))),
    ("nova-at-work", "changed the row of migration .* 20 s ago", lambda c: moving(c, created_at=ago(20))),
    (
        "nova-at-work",
        "changed the row of migration .* 30 s ago",
        lambda c: moving_elsewhere(c, facts.migration(1, "gone", status="completed", updated_at=ago(30))),
    ),
    (
        "nova-at-work",
        "the migrations of instance .* could not be read",
        lambda c: with_scene(c, migrations={facts.uuid("gone"): None}),
    ),
    ("nova-at-work", "does not say when it was last changed", lambda c: moving(c, created_at=None)),
    ("nova-at-work", "does not say when", lambda c: beside_nova(c, updated_at=None)),
    ("nova-at-work", "shows no instance for the consumer", lambda c: with_state(c, instances=())),
    ("nova-at-work", "could not be read", lambda c: with_state(c, heartbeat=None)),
    ("nova-at-work", "290 s ago", lambda c: with_state(beside_nova(c, updated_at=ago(300)), newest_heartbeat=ago(10))),
    (
        "nova-started",
        "alive for 59 s; heal waits until nova-compute has been alive for 60 s",
        lambda c: with_scene(c, nova_alive_s=59),
    ),
    ("nova-started", "is not alive and may be starting", lambda c: with_scene(c, nova_alive_s=None)),
    ("nova-started", "shows no nova-compute service of this host", lambda c: with_state(c, service=None)),
]


def at(seconds: int) -> str:
    return f"2026-11-21T11:{seconds // 60:02d}:{seconds % 60:02d}.000Z"


def refused_by(case: GuardedFinding) -> list[str]:
    return [guard.name for guard in BUILTIN if guard.refuses(case) is not None]


def test_every_guard_accepts_a_correct_repair():
    """A guard is a rule that stops a repair. No guard stops the repair of a proven leak in Placement."""
    assert refused_by(right()) == []


@pytest.mark.parametrize(("name", "words", "wrong"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_each_unsafe_repair_is_refused_by_exactly_one_guard(name, words, wrong):
    """A guard is a rule that stops a repair. Exactly one guard stops each unsafe repair in this test."""
    case = wrong(right())
    assert refused_by(case) == [name]
    assert re.search(words, GUARDS[name].refuses(case))


@pytest.mark.parametrize(
    ("name", "words", "wrong"), WRONG_BESIDE_NOVA, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_repair_that_may_disturb_nova_compute_is_refused(name, words, wrong):
    """A repair that may disturb nova-compute is refused by a guard, a rule that stops unsafe repairs."""
    case = wrong(beside_nova(right()))
    assert refused_by(case) == [name]
    assert re.search(words, GUARDS[name].refuses(case))


# The refusals of these guards end by themselves.
WAITING = {"confirmed", "minimum-age", "recorded-fresh", "sources-fresh", "record-unmoved", "one-change"}
WAITING |= {"max-consumers", "max-percent", "after-nova", "allocation-steady"}
# Of the guards nova-at-work and nova-started only the refusals with these words do.
SOMETIMES = ("task deleting", "s ago", "could not be read", "alive for 59 s")
SECONDS = {
    "first seen 299 s": 1.0,
    "first seen 12 s": 288.0,
    "first seen -60": None,
    "599 s ago": 1.0,
    "299 s ago": 1.0,
}
SECONDS |= {"10 s ago": 290.0, "20 s ago": 280.0, "30 s ago": 270.0, "290 s ago": 10.0, "alive for 59 s": 1.0}


@pytest.mark.parametrize(
    ("name", "words", "case"),
    [
        *((name, words, wrong(right())) for name, words, wrong in WRONG),
        *((name, words, wrong(beside_nova(right()))) for name, words, wrong in WRONG_BESIDE_NOVA),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_only_a_refusal_that_ends_by_itself_is_temporary(name, words, case):
    """A guard marks its refusal as temporary only if waiting helps, for example if the finding is still too new."""
    found = GUARDS[name].waits(case)
    waits = name in WAITING or (name.startswith("nova-") and any(part in words for part in SOMETIMES))
    assert (found is not None) == waits
    if found is not None:
        known = next((seconds for part, seconds in SECONDS.items() if part in words.replace(".* ", "")), None)
        assert found.seconds == known


def test_guards_for_nova_compute_stop_nothing_in_role_owner():
    """In role owner the agent replaces nova-compute, so the guards that protect nova-compute stop no repair."""
    for name, _, wrong in WRONG_BESIDE_NOVA:
        case = with_settings(wrong(beside_nova(right())), role=Role.OWNER)
        assert refused_by(case) == [], name


@pytest.mark.parametrize(
    "change",
    [
        lambda c: with_scene(c, nova_alive_s=60),
        lambda c: moving(c, updated_at=ago(300)),
        lambda c: with_settings(c, heal=HealSettings(nova_audits_s=0.0)),
        lambda c: with_settings(repaired_by(c, beside_nova=BesideNova.AGENT), heal=HealSettings(nova_audits_s=9999.0)),
    ],
    ids=["alive for a minute", "migrated 300 s ago", "audits of nova-compute are off", "nova-compute never repairs it"],
)
def test_guards_allow_a_repair_that_nova_compute_never_makes(change):
    """An agent beside nova-compute may repair a leaked allocation that nova-compute never repairs."""
    assert refused_by(change(beside_nova(right()))) == []


OWN_PART = [
    ("the other host's part goes", {"allocations": ()}),
    ("the other host's part shrinks", {"allocations": record("gone", there={"VCPU": 3}).allocations}),
    (
        "something is added on another tree",
        {"allocations": record("gone", there={"VCPU": 4, "DISK_GB": 1}).allocations},
    ),
    ("another generation", {"consumer_generation": 7}),
    ("another consumer", {"consumer_uuid": facts.uuid("innocent")}),
]


@pytest.mark.parametrize("change", [change for _, change in OWN_PART], ids=[name for name, _ in OWN_PART])
def test_a_guard_refuses_a_write_outside_this_host(change):
    """The guard "own-part" stops a repair that would change another host's allocations."""
    held = record("gone", here={"VCPU": 1}, there={"VCPU": 4})
    gone = facts.instance("gone", deleted=True, vm_state="deleted")
    case = case_of(scene_of(facts.snapshot(placement=view_of(held), nova=facts.state(gone)), held))
    assert refused_by(case) == []
    assert refused_by(with_write(case, **change)) == ["own-part"]


def test_two_guards_refuse_a_repair_without_nova_data():
    """If nova's data could not be read, the guards "sources-fresh" and "identity" refuse a repair."""
    assert set(refused_by(lost(right(), STATE))) == {"sources-fresh", "identity"}


@pytest.mark.parametrize(
    ("written", "refuses"),
    [(None, True), (Written("then", 69.0), True), (Written("then", 70.0), False)],
    ids=["Placement does not say when", "perhaps during the audit", "certainly before the audit"],
)
def test_heal_skips_a_consumer_that_may_have_changed(written, refuses):
    """The agent repairs nothing for a consumer that Placement may have changed after the audit began."""
    case = with_scene(right(), has_moved=True, read_ago_s=60.0)
    records = (dataclasses.replace(read(case), written=written),)
    assert refused_by(with_scene(case, records=records)) == ["record-unmoved"] * refuses


def test_every_guard_has_a_test_of_a_refused_repair():
    """A guard is a rule that stops a repair. This file tests a refused repair for every guard."""
    assert {name for name, _, _ in (*WRONG, *WRONG_BESIDE_NOVA)} | {"own-part"} == set(GUARDS)


def test_the_guard_minimum_age_stops_the_repair_of_a_new_finding(monkeypatch):
    """The guard "minimum-age" stops the repair of a new finding. Without this guard, heal would plan the repair."""
    world, held = leaks("gone")
    scene = scene_of(world, *held, now=at(10))
    asked = asked_for(scene.findings, ALL, frozenset())
    assert [r.guard for r in heal_plan(scene, asked).refusals] == ["minimum-age"]
    import agent.healing.plan as stage

    monkeypatch.setattr(stage, "BEFORE", tuple(g for g in stage.BEFORE if g.name != "minimum-age"))
    assert len(heal_plan(scene, asked).actions) == 1


@pytest.mark.parametrize(("count", "percent", "most"), [(1, 5.0, 1), (19, 5.0, 1), (40, 5.0, 2), (7, 0.0, 1)])
def test_heal_may_change_one_consumer_at_any_percent_limit(count, percent, most):
    """A run of heal may always change one consumer, even if [heal] max_percent permits less than one."""
    case = with_settings(many(count, right()), heal=HealSettings(max_percent=percent, max_consumers=100))
    guard: Guard = GUARDS["max-percent"]
    others = [f"o{number}" for number in range(most)]
    assert guard.refuses(chosen(case, *others[:-1])) is None
    assert guard.refuses(chosen(case, *others)) is not None


def test_heal_postpones_repairs_beyond_max_consumers():
    """Of 100 leaked allocations, heal plans to repair the 2 that [heal] max_consumers permits. The 98 others wait."""
    names = [f"g{number}" for number in range(100)]
    world, held = leaks(*names)
    scene = scene_of(world, *held)
    plan = heal_plan(scene, asked_for(scene.findings, ALL, frozenset()))
    assert len(plan.actions) == 2
    assert {(r.guard, r.why[:16], r.waits) for r in plan.refusals} == {("max-consumers", "this run has cha", True)}
    assert len(plan.refusals) == 98


def test_the_plan_digest_depends_only_on_the_actions():
    """The digest of a heal plan is the same two hours later, and differs if an action of the plan differs."""
    world, held = leaks("gone")
    scene = scene_of(world, *held)
    plan = heal_plan(scene, asked_for(scene.findings, ALL, frozenset()))
    old = tuple(dataclasses.replace(each, written=Written("then", 3600.0)) for each in scene.records)
    later = dataclasses.replace(scene, now="2026-11-21T13:00:00.000Z", records=old)
    assert heal_plan(later, asked_for(later.findings, ALL, frozenset())).digest == plan.digest
    action: HealAction = plan.actions[0]
    assert dataclasses.replace(plan, actions=(dataclasses.replace(action, why="?"),)).digest != plan.digest
