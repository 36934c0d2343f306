"""The guard rails on a reshape: each alone prevents a wrong reshape, and none refuses a reshape for its size."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

import pytest

from agent.guards import BUILTIN
from agent.guards.base import GuardedFinding
from agent.healing.plan import asked_for, heal_plan
from agent.model.audit import Identity
from agent.model.finding import SeenFinding
from agent.model.heal import HealAction, HealSettings, ReshapeAction, Undone
from agent.model.placement import Allocation
from agent.model.settings import Role
from agent.model.snapshot import LIBVIRT
from agent.repairs import BY_CODE
from agent.repairs.base import Scene
from tests.rigs import facts
from tests.rigs.guard_cases import with_scene, with_settings, with_view
from tests.rigs.heal import OTHER, record
from tests.rigs.nested import GPU_06, GPU_07, on
from tests.rigs.reshape import ONE_TYPE, gpu_scene, record_of

CODE = "reshape-needed"
GUARDS = {guard.name: guard for guard in BUILTIN}
# These guards refuse in role companion only, in which guard ``role`` refuses every reshape.
BESIDE_NOVA = {"after-nova", "allocation-steady", "nova-at-work", "nova-started"}


def case_of(scene: Scene, **changes) -> GuardedFinding:
    (seen,) = (s for s in scene.findings if s.finding.code == CODE)
    action = BY_CODE[CODE].proposed(scene, seen)
    assert isinstance(action, ReshapeAction), action
    return dataclasses.replace(GuardedFinding(scene=scene, seen=seen, repair=BY_CODE[CODE], action=action), **changes)


def right() -> GuardedFinding:
    """Return a reshape in which i1 also holds an amount on another host."""
    return case_of(gpu_scene(records=(record_of("i1", 2, on(OTHER, "i1", "VCPU", 4)), record_of("i2", 1))))


def with_seen(case: GuardedFinding, **changes) -> GuardedFinding:
    return dataclasses.replace(case, seen=dataclasses.replace(case.seen, **changes))


def with_action(case: GuardedFinding, **changes) -> GuardedFinding:
    reshaping = dataclasses.replace(case.action.reshaping, **changes)
    return dataclasses.replace(case, action=dataclasses.replace(case.action, reshaping=reshaping))


def with_writes(
    case: GuardedFinding, change: Callable[[tuple[Allocation, ...]], tuple[Allocation, ...]], **more
) -> GuardedFinding:
    """Return the case with another write for the first consumer."""
    first, *others = case.action.reshaping.changes
    write = dataclasses.replace(first.write, **{"allocations": change(first.write.allocations)} | more)
    return with_action(case, changes=(dataclasses.replace(first, write=write), *others))


def more_of(amount: int, **which: str) -> Callable[[tuple[Allocation, ...]], tuple[Allocation, ...]]:
    """Return a change that adds ``amount`` to the allocations of that class or provider."""

    def changed(held: tuple[Allocation, ...]) -> tuple[Allocation, ...]:
        hit = [all(getattr(a, name) == value for name, value in which.items()) for a in held]
        assert any(hit)
        return tuple(
            dataclasses.replace(a, amount=a.amount + amount) if h else a for a, h in zip(held, hit, strict=True)
        )

    return changed


def strange_provider(case: GuardedFinding, **changes) -> GuardedFinding:
    *others, last = case.action.reshaping.providers
    return with_action(case, providers=(*others, dataclasses.replace(last, **changes)))


def chosen_leak(case: GuardedFinding, name: str) -> GuardedFinding:
    """Return the case in a run that has already chosen a leak of that consumer."""
    leaked = record(name, here={"VCPU": 1})
    write = dataclasses.replace(case.action.changes[0].write, consumer_uuid=leaked.consumer_uuid, allocations=())
    leak = HealAction(finding_id="x", code="allocation-leaked", before=leaked, write=write, why="")
    return dataclasses.replace(case, chosen=(*case.chosen, leak))


def rival_seen(case: GuardedFinding) -> GuardedFinding:
    rival = dataclasses.replace(case.seen.finding, code="rival-writer", actual="nova-compute is alive")
    seen = SeenFinding(finding=rival, confirmed=True, first_seen_at=case.seen.first_seen_at)
    return with_scene(case, findings=(*case.scene.findings, seen))


def read_as(case: GuardedFinding, **changes) -> GuardedFinding:
    """Return a case whose record of i2 changed after the audit read it; the reshape is made from the new record."""
    one, two = case.scene.records
    return case_of(dataclasses.replace(case.scene, records=(one, dataclasses.replace(two, **changes))))


WRONG: list[tuple[str, str, Callable[[GuardedFinding], GuardedFinding]]] = [
    ("repairable", "heal has no repair for ", lambda c: dataclasses.replace(c, repair=None, action=None)),
    ("role", "role observer", lambda c: with_settings(c, role=Role.OBSERVER)),
    (
        "undone",
        "an operator undid",
        lambda c: with_scene(c, undone=Undone(findings=frozenset({c.seen.finding.id}))),
    ),
    ("confirmed", "2 audits in a row", lambda c: with_seen(c, times=1)),
    ("minimum-age", "first seen 10 s ago", lambda c: with_scene(c, now="2026-11-21T11:00:10.000Z")),
    ("recorded-fresh", "were not read in this audit", lambda c: with_view(c, allocations_fresh=False)),
    ("no-rival", "another program writes", rival_seen),
    ("identity", "is not known", lambda c: with_scene(c, identity=None)),
    (
        "identity",
        "now, but the audit used",
        lambda c: with_scene(c, persisted=Identity(uuid=facts.uuid("x"), origin="/var/lib/x")),
    ),
    ("record-unmoved", "was not read", lambda c: with_scene(c, records=c.scene.records[:1])),
    ("record-unmoved", "a provider of this host has changed since this audit", lambda c: with_scene(c, has_moved=True)),
    ("record-unmoved", "the consumer's generation is 2 now; the audit read 1", lambda c: read_as(c, generation=2)),
    (
        "record-unmoved",
        "does not start from the consumer's record",
        lambda c: with_action(
            c,
            changes=tuple(
                dataclasses.replace(each, before=dataclasses.replace(each.before, project_id="other"))
                for each in c.action.changes
            ),
        ),
    ),
    (
        "own-part",
        "on providers of another host",
        lambda c: with_writes(c, lambda held: tuple(a if a.provider_uuid != OTHER else moved(a) for a in held)),
    ),
    ("own-part", "would not have the same amounts", lambda c: with_writes(c, more_of(1, resource_class="VGPU"))),
    ("own-part", "would not have the same amounts", lambda c: with_writes(c, lambda held: held[1:])),
    ("own-part", "generation that heal had read", lambda c: with_writes(c, lambda held: held, consumer_generation=7)),
    ("own-part", "about different consumers", lambda c: with_action(c, changes=c.action.changes[:1])),
    ("own-part", "another consumer", lambda c: with_writes(c, lambda h: h, consumer_uuid=facts.uuid("innocent"))),
    ("own-part", "is not in this host's tree", lambda c: strange_provider(c, parent_uuid=OTHER)),
    ("own-part", "is not in this host's tree", lambda c: strange_provider(c, uuid=OTHER, before=())),
    ("one-change", "already changes the consumer, for finding allocation-leaked", lambda c: chosen_leak(c, "i2")),
    ("one-change", "already moves VGPU", lambda c: dataclasses.replace(c, chosen=(other_class(c),))),
]


def moved(allocation: Allocation) -> Allocation:
    """Return the same amount on a provider of a third host."""
    return dataclasses.replace(allocation, provider_uuid=facts.uuid("third"))


def other_class(case: GuardedFinding) -> ReshapeAction:
    """Return a reshape of other consumers that this run has already chosen."""
    return dataclasses.replace(case.action, reshaping=dataclasses.replace(case.action.reshaping, changes=()))


def refused_by(case: GuardedFinding) -> list[str]:
    return [guard.name for guard in BUILTIN if guard.refuses(case) is not None]


def test_every_guard_accepts_a_correct_reshape():
    """A guard is a rule that stops an unsafe repair. All guards let a correct reshape of providers go ahead."""
    assert refused_by(many(100, right())) == []


@pytest.mark.parametrize(("name", "words", "wrong"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_each_wrong_reshape_is_refused_by_exactly_one_guard(name, words, wrong):
    """A reshape moves inventories and allocations between providers. Exactly one guard stops each wrong reshape."""
    case = many(100, wrong(right()))
    assert refused_by(case) == [name]
    assert re.search(words, GUARDS[name].refuses(case))


def many(count: int, case: GuardedFinding) -> GuardedFinding:
    """Return the case with ``count`` more consumers, so that one consumer that is already chosen is not too many."""
    extra = tuple(a for number in range(count) for a in record(f"c{number}", here={"VCPU": 1}).allocations)
    view = case.scene.snapshot.placement.value
    return with_view(case, allocations=(*view.allocations, *extra))


def test_a_reshape_is_refused_if_libvirt_was_not_read():
    """The guard "sources-fresh" stops a reshape of Placement's providers if libvirt could not be read."""
    case = right()
    lost = with_scene(case, snapshot=facts.without(case.scene.snapshot, LIBVIRT))
    assert "sources-fresh" in refused_by(lost)


def test_the_consumer_limits_do_not_stop_a_reshape():
    """[heal] max_consumers and max_percent do not stop a reshape, because half a reshape would be worse than none."""
    used = {f"g{number}": (GPU_06, GPU_07)[number % 2 : number % 2 + 1] for number in range(9)}
    scene = gpu_scene(used, settings=dataclasses.replace(ONE_TYPE, heal=HealSettings(max_consumers=1, max_percent=0.0)))
    plan = heal_plan(scene, asked_for(scene.findings, frozenset({CODE}), frozenset()))
    assert [len(action.changes) for action in plan.actions] == [9]
    case = chosen_leak(case_of(scene), "elsewhere")
    assert [n for n in refused_by(case) if n.startswith("max")] == ["max-consumers", "max-percent"]


def test_a_run_does_not_reshape_and_repair_the_same_consumer():
    """A run of heal that reshapes a consumer's allocations repairs no leaked allocation of this consumer."""
    case = right()
    seen = dataclasses.replace(
        case.seen,
        finding=dataclasses.replace(case.seen.finding, code="allocation-leaked", consumer_uuid=facts.uuid("i1")),
    )
    leak = GuardedFinding(scene=case.scene, seen=seen, repair=BY_CODE["allocation-leaked"], chosen=(case.action,))
    assert GUARDS["one-change"].refuses(leak) == f"this run already changes the consumer, for finding {CODE}"


def test_no_guard_is_left_out_of_the_tests_of_a_reshape():
    """A new guard fails this test until a test of this file shows how the guard treats a reshape."""
    asked = {name for name, _, _ in WRONG} | {"sources-fresh", "max-consumers", "max-percent"}
    assert asked | BESIDE_NOVA == set(GUARDS)


def test_an_agent_beside_nova_compute_makes_no_reshape():
    """An agent that runs beside nova-compute (role companion) leaves a needed reshape to nova-compute."""
    scene = dataclasses.replace(right().scene, settings=facts.settings(role=Role.COMPANION))
    (refusal,) = heal_plan(scene, asked_for(scene.findings, frozenset({CODE}), frozenset())).refusals
    assert (refusal.guard, refusal.why[:40]) == ("role", "heal leaves this repair to nova-compute;")
