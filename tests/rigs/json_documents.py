"""One JSON document of each command, built by the code that prints it; with every kind of write and change."""

from __future__ import annotations

from dataclasses import replace

from agent.cmd.changes.adopt_run import AdoptRun, adopt_document, identity_keys, store_keys
from agent.cmd.changes.heal_output import heal_document
from agent.cmd.changes.heal_run import HealRun, Ordered
from agent.cmd.changes.undo_run import Undone, undo_document
from agent.cmd.naming.explain_code import code_page, page_of
from agent.cmd.naming.explain_what import answer
from agent.demo.document import demo_document
from agent.demo.outcome import DemoRun, HostRun
from agent.demo.practice_text import practice_document
from agent.demo.stories import Repair, Seen, stories
from agent.healing.adopt import Adopted
from agent.healing.attempt import WriteAttempt
from agent.healing.daemon_heal import _note
from agent.healing.heal import Healed, Prepared, _change
from agent.healing.identity_journal import FILE_KIND, NAME_KIND, RECORD_KIND, STORE_KIND, change_of
from agent.healing.plan import asked_for, heal_plan
from agent.healing.reshape_journal import KIND as RESHAPE_KIND
from agent.healing.reshape_journal import after_document, before_json
from agent.healing.undo import HANDLERS
from agent.host_files.journal import Change, Entry, Result
from agent.model.adoption import (
    AdoptFacts,
    AdoptPlan,
    AdoptRefusal,
    FileStep,
    IdentityFile,
    NameStep,
    RecordStep,
    StoreStep,
)
from agent.model.finding import GoneFinding, GoneReason
from agent.model.heal import HealAction, HealPlan, ReshapeAction
from agent.model.plan import (
    CreateComputeNode,
    DeleteComputeNode,
    DeleteProvider,
    MoveProvider,
    Plan,
    RenameProvider,
    SaveComputeNode,
)
from agent.model.report import AuditReport
from agent.render import documents
from agent.render.explain import explain_class, explain_consumer
from agent.render.explain_json import document as explain_document
from agent.render.explain_text import Detail
from agent.render.record_words import RECORD_KINDS
from agent.render.status import last_report, status_document
from agent.repairs import BY_CODE
from agent.repairs.base import Scene
from agent.resources import owned
from tests.rigs.facts import uuid
from tests.rigs.heal import leaks, scene_of
from tests.rigs.records import created, stored
from tests.rigs.reports import CHILD, FINDING, LEAKED, PROVIDER, REPORT
from tests.rigs.reshape import gpu_scene
from tests.rigs.stores import OF_ROOT, mark

OUTCOME = WriteAttempt(result=Result.DONE, words="changed as planned", entry_id="aaaaaaaaaaaa")
STORE_STEP = StoreStep(path="store.json", before=mark(300), after=mark(251, OF_ROOT))


def _plan(scene: Scene) -> HealPlan:
    return heal_plan(scene, asked_for(scene.findings, frozenset(BY_CODE), frozenset()))


def _plans() -> tuple[HealAction, ReshapeAction, HealPlan]:
    """Return a change of one consumer, one of several consumers, and a plan with both and a refusal."""
    world, held = leaks("a", "b", "c")
    of_leaks, (reshape,) = _plan(scene_of(world, *held)), _plan(gpu_scene()).actions
    single = of_leaks.actions[0]
    assert isinstance(single, HealAction)
    assert isinstance(reshape, ReshapeAction)
    return single, reshape, HealPlan(actions=(single, reshape), refusals=of_leaks.refusals)


def heal_answer() -> documents.Document:
    single, reshape, plan = _plans()
    found = Prepared(asked=(), plan=plan, audit_id="a", state=None)
    done = tuple(Healed(action=action, outcome=OUTCOME) for action in (single, reshape))
    return heal_document(
        HealRun(ordered=Ordered(ids=frozenset(), digest="d"), report=full_report(), prepared=found, healed=done)
    )


def _steps() -> tuple[FileStep, NameStep, RecordStep]:
    """Return one step of each kind; the record step has every column that adopt changes."""
    old = stored(host="old", hypervisor_hostname="old", service_id=1)
    new = stored(host="new", hypervisor_hostname="new", service_id=2)
    return (
        FileStep(path="compute_id", before=None, after=uuid("new")),
        NameStep(before="old", write=RenameProvider(provider_uuid=uuid("root"), name="new")),
        RecordStep(stored=old, write=SaveComputeNode(record=new, changed=new.changes(old))),
    )


def adopt_answer() -> documents.Document:
    facts = AdoptFacts(
        host="new",
        node="new",
        identity=None,
        origin="",
        file=IdentityFile(path="compute_id", text=None),
        own=None,
        holder=None,
        state=None,
    )
    plan = AdoptPlan(uuid=uuid("new"), steps=_steps(), refusals=(AdoptRefusal(guard="role", why="w"),), notes=("n",))
    return adopt_document(
        AdoptRun(
            read=identity_keys(facts, plan),
            plan=plan,
            done=tuple(Adopted(step=step, outcome=OUTCOME) for step in plan.steps),
        )
    )


def adopt_store_answer() -> documents.Document:
    plan = AdoptPlan(steps=(STORE_STEP,), refusals=(AdoptRefusal(guard="store", why="w"),), notes=("n",))
    read = store_keys(REPORT, STORE_STEP.before, STORE_STEP.after)
    return adopt_document(AdoptRun(read=read, plan=plan, done=(Adopted(step=STORE_STEP, outcome=OUTCOME),)))


def undo_answer() -> documents.Document:
    return undo_document(
        Undone(entry=Entry(id="e", at="t", change=change_of(_steps()[0])), outcome=OUTCOME),
    )


def every_change() -> tuple[Change, ...]:
    """Return one change of every kind, built by the code that writes the journal."""
    single, reshape, plan = _plans()
    of_one = _change(Prepared(asked=(), plan=plan, audit_id="a", state=None), single)
    before, after = before_json(reshape.reshaping, lambda _: None), after_document(reshape.reshaping)
    of_several = Change(kind=RESHAPE_KIND, why="w", before=before, after=after)
    found = (of_one, of_several, *map(change_of, (*_steps(), STORE_STEP)))
    assert {change.kind for change in found} == {*HANDLERS} >= {FILE_KIND, NAME_KIND, RECORD_KIND, STORE_KIND}
    return found


def explain_answers() -> list[documents.Document]:
    of_classes = [explain_class(REPORT, name, owned) for name in ("VCPU", "MEMORY_MB", "DISK_GB")]
    of_books = [explain_document(each, ()) for each in (*of_classes, explain_consumer(REPORT, LEAKED, owned))]
    page = page_of("over-capacity")
    assert page is not None
    return [*of_books, answer(REPORT, FINDING.finding.id, Detail.BRIEF).document, code_page("over-capacity", page)]


def _every_write() -> Plan:
    """Return a plan with one write of each kind."""
    single, _, _ = _plans()
    move = MoveProvider(provider_uuid=CHILD, name="child", parent_uuid=PROVIDER)
    records = (
        CreateComputeNode(record=created()),
        SaveComputeNode(record=stored(), changed=("host",)),
        DeleteComputeNode(record=stored()),
    )
    plan = replace(
        REPORT.plan,
        writes=(*REPORT.plan.writes, move),
        allocations=(replace(single.write, allocations=single.before.allocations),),
        records=records,
        removals=(DeleteProvider(provider_uuid=CHILD),),
    )
    kinds = {write["kind"] for write in documents.plan_document(plan)["writes"]}
    assert kinds == {*documents.WRITE_KINDS.values(), *RECORD_KINDS.values(), "put-allocations"}
    return plan


def full_report() -> AuditReport:
    """Return the report of a daemon that wrote every kind of write and healed."""
    single, reshape, _ = _plans()
    healed = tuple(_note(Healed(action=action, outcome=OUTCOME)) for action in (single, reshape))
    gone = GoneFinding(seen=FINDING, reason=GoneReason.HOST_CHANGED, words="w")
    return replace(REPORT, plan=_every_write(), healed=healed, gone=(gone,))


def status_answer() -> documents.Document:
    read = documents.report_from_json(documents.report_to_json(full_report()))
    return status_document(last_report(read, "report.json", "2026-11-21T10:01:00.000Z", 60.0))


def demo_answer() -> documents.Document:
    holds = tuple(replace(row, wanted=row.recorded) for row in REPORT.inventory if row.recorded)
    seen = Seen(
        first=REPORT,
        second=REPORT,
        first_holds=holds,
        second_holds=holds,
        offered_for_asked=(),
        offered_for_max_unit=(),
        answer=None,
        repair=Repair(
            finding_id="", change="", undo="", entry_id=None, used_before=None, used_after=None, used_at_end=None
        ),
    )
    host = HostRun(name=REPORT.host, report=REPORT, holds=holds)
    practice = practice_document(faults=5, seed=1, folder="f", rc={"h": "rc"}, end="e", not_installed=["openstack"])
    return demo_document(DemoRun(stories=stories(seen), hosts=(host,), simulated=REPORT.simulated), {}) | practice
