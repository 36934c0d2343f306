"""docs/reference/json.md names every key of real JSON documents, and no other key.

The first cell of a row has keys (`a`), or keys of nested objects (`a`: `b`, `c` means a.b and a.c).
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.cmd.changes.adopt_run import AdoptRun, adopt_document, identity_keys, store_keys
from agent.cmd.changes.heal_output import heal_document
from agent.cmd.changes.heal_run import HealRun, Ordered
from agent.cmd.changes.undo_run import Undone, undo_document
from agent.cmd.command_line.failures import error_document, failure_of
from agent.cmd.commands.base import ListCommand
from agent.cmd.naming.explain_code import code_page, page_of
from agent.cmd.naming.explain_what import answer
from agent.cmd.registry import COMMANDS
from agent.demo.document import demo_document
from agent.demo.outcome import DemoRun, HostRun
from agent.demo.stories import Repair, Seen, stories
from agent.errors import ConfigError
from agent.healing.adopt import Adopted
from agent.healing.attempt import WriteAttempt
from agent.healing.daemon_heal import _note
from agent.healing.heal import Healed, Prepared, _change
from agent.healing.identity_journal import FILE_KIND, NAME_KIND, RECORD_KIND, STORE_KIND, change_of
from agent.healing.plan import asked_for, heal_plan
from agent.healing.reshape_journal import KIND as RESHAPE_KIND
from agent.healing.reshape_journal import after_document, before_json
from agent.healing.undo import HANDLERS
from agent.host_files.actor import this_actor
from agent.host_files.journal import Change, Entry, FileJournal, Result
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
from tests.rigs.commands import stocktake_here
from tests.rigs.configs import ALONE
from tests.rigs.facts import uuid
from tests.rigs.heal import leaks, scene_of
from tests.rigs.records import created, stored
from tests.rigs.reports import CHILD, FINDING, LEAKED, PROVIDER, REPORT
from tests.rigs.reshape import gpu_scene
from tests.rigs.source_tree import ROOT
from tests.rigs.stores import OF_ROOT, mark

# Places whose values another table documents, perhaps one of several. Further keys are in the place's own table.
CONSUMER, KINDS, STORE = "What a consumer holds", "Before and after", "A store"
OTHER_TABLES = {
    ("heal", "actions.before"): (CONSUMER, KINDS),
    ("heal", "actions.after"): (CONSUMER, KINDS),
    ("journal", "before"): (KINDS,),
    ("journal", "after"): (KINDS,),
    (KINDS, "consumer"): (CONSUMER,),
    (KINDS, "consumers.consumer"): (CONSUMER,),
    ("adopt --store", "store"): (STORE,),
    ("adopt --store", "store_before"): (STORE,),
    (KINDS, "store"): (STORE,),
    ("explain", "sources"): ("A source",),
    ("explain", "findings"): ("A finding",),
    ("explain", "inventory"): ("inventory",),
    ("explain", "consumers"): ("ledger",),
    ("explain", "rows"): ("ledger",),
    ("explain", "books.recorded"): ("A book",),
    ("explain", "books.promised"): ("A book",),
    ("explain", "books.held"): ("A book",),
    ("audit", "sources"): ("A source",),
    ("audit", "findings"): ("A finding",),
    ("audit", "plan.writes"): ("A write",),
    ("status", ""): ("audit",),
    ("status", "resource_view"): ("The resource view",),
    ("demo", "audit"): ("audit",),
    ("demo", "ledger"): ("ledger",),
    ("demo", "inventory"): ("inventory",),
    ("demo", f"hosts.{REPORT.host}"): ("demo",),
}
# Objects whose keys are names: of books, of facts of a finding, of conflicts, of hosts.
BY_NAME = {
    ("explain", "books"),
    ("explain", "unread_books"),
    ("explain", "rows.unread_books"),
    ("A finding", "facts"),
    ("audit", "placement.conflict_kinds"),
    ("demo", "hosts"),
}
# Versioned objects of nova: nova defines their keys.
OF_NOVA = {("The resource view", "numa_topology"), ("The resource view", "pci_stats")}
# Commands without a table on this page: `why` has a table elsewhere, `watch` has one in docs/messages.md, and the
# other two print no JSON.
NO_TABLE = {"report", "watch", "why", "help", "complete"}
OUTCOME = WriteAttempt(result=Result.DONE, words="changed as planned", entry_id="aaaaaaaaaaaa")


STORE_STEP = StoreStep(path="store.json", before=mark(300), after=mark(251, OF_ROOT))


def _tables() -> dict[str, set[str]]:
    """Return the key paths of each table, by the table's heading."""
    pieces = re.split(r"^## (.*)$", (ROOT / "docs/reference/json.md").read_text(), flags=re.MULTILINE)
    return {
        heading.strip("`"): {path for cell in re.findall(r"^\| (`.*?) \| ", text, re.MULTILINE) for path in _cell(cell)}
        for heading, text in zip(pieces[1::2], pieces[2::2], strict=True)
    }


def _cell(cell: str) -> Iterator[str]:
    left, colon, right = cell.partition("`: `")
    for name in re.findall(r"[\w.]+", right if colon else left):
        yield from (f"{place}.{name}" for place in re.findall(r"[\w.]+", left)) if colon else (name,)


TABLES = _tables()


def _keys(value: Any, table: str, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield (table, path) for every key of a document that the table documents."""
    if isinstance(value, list):
        for one in value:
            yield from _keys(one, table, place)
    if not isinstance(value, dict) or (table, place) in OF_NOVA:
        return
    others = OTHER_TABLES.get((table, place), ())
    other = max(others, key=lambda name: len(value.keys() & TABLES[name]), default=None)
    for key, inner in value.items():
        path = f"{place}.{key}" if place else key
        if other is not None and path not in TABLES[table]:
            yield from _keys({key: inner}, other)
            continue
        if (table, place) not in BY_NAME:
            yield table, path
        yield from _keys(inner, table, path)


# Real documents -------------------------------------------------------------------------------------------------------


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


def _heal() -> documents.Document:
    single, reshape, plan = _plans()
    found = Prepared(asked=(), plan=plan, audit_id="a", state=None)
    done = tuple(Healed(action=action, outcome=OUTCOME) for action in (single, reshape))
    return heal_document(
        HealRun(ordered=Ordered(ids=frozenset(), digest="d"), report=REPORT, prepared=found, healed=done)
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


def _adopt() -> documents.Document:
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


def _adopt_store() -> documents.Document:
    plan = AdoptPlan(steps=(STORE_STEP,), refusals=(AdoptRefusal(guard="store", why="w"),), notes=("n",))
    read = store_keys(REPORT, STORE_STEP.before, STORE_STEP.after)
    return adopt_document(AdoptRun(read=read, plan=plan, done=(Adopted(step=STORE_STEP, outcome=OUTCOME),)))


def _undo() -> documents.Document:
    return undo_document(
        Undone(entry=Entry(id="e", at="t", change=change_of(_steps()[0])), outcome=OUTCOME),
    )


def _changes() -> tuple[Change, ...]:
    """Return one change of every kind, built by the code that writes the journal."""
    single, reshape, plan = _plans()
    of_one = _change(Prepared(asked=(), plan=plan, audit_id="a", state=None), single)
    before, after = before_json(reshape.reshaping, lambda _: None), after_document(reshape.reshaping)
    of_several = Change(kind=RESHAPE_KIND, why="w", before=before, after=after)
    found = (of_one, of_several, *map(change_of, (*_steps(), STORE_STEP)))
    assert {change.kind for change in found} == {*HANDLERS} >= {FILE_KIND, NAME_KIND, RECORD_KIND, STORE_KIND}
    return found


def _journal(folder: Path) -> Any:
    at = "2026-11-21T12:00:00.000Z"
    journal = FileJournal(str(folder / "state"), lambda: at, actor=lambda: this_actor("stocktake heal"))
    for change in _changes():
        journal.end(journal.begin(change), Result.DONE)
    return _answer(folder, "journal")


def _answer(folder: Path, *command: str) -> Any:
    """Return the document that the command prints when its state is in ``folder``."""
    path = folder / "stocktake.conf"
    path.write_text(ALONE.replace("[agent]", f"[agent]\nstate_dir = {folder}/state\nrun_dir = {folder}"))
    return stocktake_here("--config-file", path, *command, "-f", "json").document


def _explain() -> list[documents.Document]:
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


def _report() -> AuditReport:
    """Return the report of a daemon that wrote every kind of write and healed."""
    single, reshape, _ = _plans()
    healed = tuple(_note(Healed(action=action, outcome=OUTCOME)) for action in (single, reshape))
    gone = GoneFinding(seen=FINDING, reason=GoneReason.HOST_CHANGED, words="w")
    return replace(REPORT, plan=_every_write(), healed=healed, gone=(gone,))


def _status() -> documents.Document:
    read = documents.report_from_json(documents.report_to_json(_report()))
    return status_document(last_report(read, "report.json", "2026-11-21T10:01:00.000Z", 60.0))


def _demo() -> documents.Document:
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
    return demo_document(DemoRun(stories=stories(seen), hosts=(host,), simulated=REPORT.simulated), {})


def _columns() -> dict[str, list[dict[str, None]]]:
    """Return the columns (the keys of the rows) of every list command, with each argument that changes them."""
    found = {}
    for entry in COMMANDS:
        made = entry.load()
        if issubclass(made, ListCommand):
            command = made(None, None)
            plain = command.get_parser(entry.name).parse_args([])
            found[entry.name] = [dict.fromkeys(command.columns(plain))]
            for name in (name for name, value in vars(plain).items() if value is False):
                more = dict.fromkeys(command.columns(argparse.Namespace(**{**vars(plain), name: True})))
                heading = f"{entry.name} --{name}"
                found.setdefault(heading if heading in TABLES else entry.name, []).append(more)
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str]]:
    """Return every key of every document, with the table that must name the key."""
    folder = tmp_path_factory.mktemp("documents")
    (folder / "state").mkdir()
    told = {
        **_columns(),
        "audit": documents.audit_document(_report()),
        "status": _status(),
        "config check": _answer(folder, "config", "check", "--live"),
        "demo": _demo(),
        "heal": _heal(),
        "adopt": _adopt(),
        "adopt --store": _adopt_store(),
        "undo": _undo(),
        "explain": _explain(),
        "An error": error_document(failure_of(ConfigError("one", "two"))),
    }
    told["journal"] += _journal(folder)
    assert {entry.name for entry in COMMANDS} - NO_TABLE == told.keys() & {entry.name for entry in COMMANDS}
    plain = json.loads(json.dumps(told))
    return {pair for table, document in plain.items() for pair in _keys(document, table)}


def test_every_printed_json_key_is_documented(found: set[tuple[str, str]]) -> None:
    assert sorted(found - {(table, path) for table, paths in TABLES.items() for path in paths}) == []


def test_every_documented_json_key_is_printed(found: set[tuple[str, str]]) -> None:
    assert sorted({(table, path) for table, paths in TABLES.items() for path in paths} - found) == []
