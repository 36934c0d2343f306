"""heal, journal and undo against a real Placement: what heal removes, keeps and refuses, and what a crash leaves."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import importlib.metadata
import json
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.audit.parts import AuditTask
from agent.demo import cell
from agent.healing.heal import Healed, Prepared, run_heal
from agent.healing.undo import undo
from agent.host_files.journal import Result
from agent.model.placement import PlacementView
from agent.placement.allocations import AllocationClient
from agent.placement.reader import TreeReader
from agent.ports import ViewRequest
from agent.repairs import BY_CODE
from tests.rigs import facts
from tests.rigs.commands import stocktake_here
from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.facts import FLAVOR_B, uuid
from tests.rigs.faults import Answer, LoseAnswer, Meanwhile, ScriptedAdapter, always, carried_out_late, on_write
from tests.rigs.healing import heal_killed, planned, short_proof, with_parts  # noqa: F401 - a fixture
from tests.rigs.host import AgentHost, Ended, host_on
from tests.rigs.placement import PROJECT, USER, Rest, client_of
from tests.rigs.wait import until

HELD = {"VCPU": 2, "MEMORY_MB": 256}


@dataclasses.dataclass(frozen=True)
class Told:
    """The exit code of one command and its document."""

    code: int
    document: Any


@dataclasses.dataclass(frozen=True)
class Host:
    """A host with instance i1 (flavor B) running, in a Placement of several hosts."""

    agent: AgentHost
    rest: Rest
    other: str

    @property
    def root(self) -> str:
        return self.agent.provider_uuid

    def run(self, *arguments: str) -> Ended:
        return stocktake_here("--config-file", self.agent.config_file, *arguments)

    def told(self, *arguments: str) -> Told:
        ended = self.run(*arguments, "-f", "json")
        assert ended.stdout, ended.stderr
        return Told(ended.code, ended.document)

    def healed(self, *more: str) -> Told:
        plan = self.told("heal", *more)
        assert plan.document["actions"], plan.document
        return self.told("heal", *more, "--plan", plan.document["digest"], "--yes")

    def allocations(self, consumer: str) -> Any:
        """Return GET's answer at microversion 1.38 without the generations."""
        found = self.rest.done("GET", f"/allocations/{consumer}", version="1.38")
        found.pop("consumer_generation", None)
        for held in found["allocations"].values():
            held.pop("generation")
        return found

    def generation(self, consumer: str) -> int | None:
        return self.rest.done("GET", f"/allocations/{consumer}", version="1.38").get("consumer_generation")

    def allocate(self, name: str, here: Any = None, there: Any = None, kind: str | None = None) -> str:
        """Set the allocation of the consumer of that name, with ``kind`` as its consumer type; return its uuid."""
        holdings = {p: h for p, h in ((self.root, here), (self.other, there)) if h}
        if kind is None:
            return self.rest.allocate(holdings, uuid(name))
        body = {
            "allocations": {p: {"resources": h} for p, h in holdings.items()},
            "project_id": PROJECT,
            "user_id": USER,
            "consumer_generation": None,
            "consumer_type": kind,
        }
        self.rest.done("PUT", f"/allocations/{uuid(name)}", body, version="1.38")
        return uuid(name)

    @contextlib.contextmanager
    def cell(self, *instances: Any, migrations: Any = ()) -> Iterator[Any]:
        engine = self.agent.make_cell(*instances)
        with engine.begin() as connection:
            for each in migrations:
                cell.add_migration(connection, each)
        try:
            yield engine
        finally:
            engine.dispose()

    def gone(self, name: str) -> Any:
        return self.agent.instance(name, deleted=True, vm_state="deleted", flavor=FLAVOR_B, flavor_id=2)

    def moved(self, name: str, **changes: Any) -> Any:
        return self.agent.instance(
            name, **{"host": "cmp2", "node": "cmp2", "flavor": FLAVOR_B, "flavor_id": 2} | changes
        )

    def resting(self, **changes: Any) -> Any:
        return self.agent.instance("i1", **{"flavor": FLAVOR_B, "flavor_id": 2} | changes)


@pytest.fixture
def host(tmp_path: Path, placement: Rest) -> Host:
    return host_in(tmp_path, placement)


def host_in(tmp_path: Path, placement: Rest) -> Host:
    """Return the host, configured in that folder, with providers of its own in Placement."""
    guest = domain_xml("i1", domain_uuid=uuid("i1"), vcpus=FLAVOR_B.vcpus, memory_mib=FLAVOR_B.memory_mib)
    (tmp_path / "node.xml").write_text(node_xml(cpus=8, memory_mib=4096, domains=[guest]))
    # A test counts audits and requests each of them: no interval triggers an audit.
    no_interval: dict[str, object] = {"update_resources_interval": -1}
    made = host_on(tmp_path, placement.server.url, options={"heal": {"min_age": 0}, "DEFAULT": no_interval})
    made.configure()
    other = placement.make_provider()
    offered = {"VCPU": {"total": 64}, "MEMORY_MB": {"total": 65536}, "DISK_GB": {"total": 1000}}
    placement.make_provider(made.name, uuid=made.provider_uuid)
    for provider in (other, made.provider_uuid):
        placement.set_inventories(provider, offered)
    for name in ("i1", "gone", "gone2", "away"):
        placement.release(uuid(name)) if placement.done("GET", f"/allocations/{uuid(name)}")["allocations"] else None
    return Host(agent=made, rest=placement, other=other)


@contextlib.contextmanager
def in_process(host: Host, adapter: ScriptedAdapter | None = None) -> Iterator[tuple[AuditTask, Prepared]]:
    """Yield an task and a plan for every repairable finding; heal's own requests go through ``adapter``."""
    with planned(host.agent.config_file, frozenset(BY_CODE)) as (task, plan):
        asking = task
        if adapter is not None:
            client = client_of(host.agent.folder, host.rest.server.url, adapter)
            asking = with_parts(task, allocations=AllocationClient(client))
        yield asking, plan


def carried_out(host: Host, script: Any) -> tuple[tuple[Healed, ...], ScriptedAdapter]:
    adapter = ScriptedAdapter(script)
    with in_process(host, adapter) as (task, plan):
        return run_heal(task, plan), adapter


def entries(host: Host) -> list[tuple[str, str]]:
    found = host.told("journal").document
    return [(entry["result"], entry["words"]) for entry in found]


def test_heal_removes_allocations_only_from_this_host(host):
    """An instance moved from this host to another; heal removes only its allocations on this host."""
    consumer = host.allocate("away", here=HELD, there=HELD, kind="INSTANCE")
    with host.cell(host.moved("away")):
        assert host.healed().code == 4  # Placement has no allocation of i1: that finding was not asked for
    assert host.allocations(consumer) == {
        "allocations": {host.other: {"resources": HELD}},
        "project_id": PROJECT,
        "user_id": USER,
        "consumer_type": "INSTANCE",
    }


def test_the_heal_command_waits_between_its_audits(host):
    """With no daemon running, `stocktake heal` waits for [agent] confirm_spacing between its own audits."""
    host.allocate("gone", here=HELD)
    host.agent.configure({"agent": {"confirm_spacing": 2}})
    with host.cell(host.gone("gone")):
        began = time.monotonic()
        ended = host.run("heal", "-f", "json")
        took_s = time.monotonic() - began
    assert [refusal["guard"] for refusal in ended.document["refusals"]] == []
    assert [action["code"] for action in ended.document["actions"]] == ["allocation-leaked"]
    assert "next audit in 2 s" in ended.stderr
    assert took_s >= 2


def test_heal_removes_allocations_with_put(host):
    """Heal removes a leaked allocation by one PUT request to Placement and sends no DELETE."""
    host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")), host.rest.watched() as seen:
        host.healed()
    writes = [line for line in seen if not line.startswith("GET")]
    assert writes == [f"PUT /allocations/{uuid('gone')} 204"]


@pytest.mark.parametrize("kind", [None, "INSTANCE", "MIGRATION"])
@pytest.mark.parametrize("there", [None, HELD], ids=["nothing elsewhere", "a part elsewhere"])
def test_undo_restores_the_exact_allocation_once(host, kind, there):
    """`stocktake undo` restores the allocation that heal removed, and refuses to undo the same journal entry twice."""
    consumer = host.allocate("gone", here=HELD, there=there, kind=kind)
    before = host.allocations(consumer)
    with host.cell(host.gone("gone")):
        host.healed()
        assert host.allocations(consumer) != before
        (entry,) = host.told("journal").document
        undone = host.told("undo", entry["id"])
        assert (undone.code, undone.document["result"]) == (0, "done")
        assert host.allocations(consumer) == before
        again = host.told("undo", entry["id"])
        assert (again.code, again.document["words"]) == (
            5,
            f"the entry was undone already, by entry {undone.document['entry_id']}",
        )
    rows = host.told("journal").document
    assert [(r["result"], r["undoes"], r["undone_by"]) for r in rows] == [
        ("done", None, [undone.document["entry_id"]]),
        ("done", entry["id"], []),
    ]


def test_undo_is_refused_if_the_allocation_changed_after_heal(host):
    consumer = host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")):
        host.healed()
        (entry,) = host.told("journal").document
        host.allocate("gone", there={"VCPU": 1})
        found = host.told("undo", entry["id"])
    assert (found.code, found.document["result"]) == (5, "refused")
    assert "was changed since" in found.document["words"]
    assert host.allocations(consumer)["allocations"] == {host.other: {"resources": {"VCPU": 1}}}


def test_undo_is_refused_if_the_instance_has_moved(host):
    """The instance moved to another host after heal, so `stocktake undo` refuses and shows the old and the new host."""
    host.allocate("away", here=HELD, there=HELD)
    with host.cell(host.moved("away")) as engine:
        host.healed()
        (entry,) = host.told("journal").document
        with engine.begin() as connection:
            connection.exec_driver_sql("UPDATE instances SET host = 'cmp3' WHERE uuid = ?", (uuid("away"),))
        found = host.told("undo", entry["id"])
    assert (found.code, found.document["words"]) == (
        5,
        "the instance is on cmp3 now; it was on cmp2 when the journal entry was written",
    )


def test_undo_quotes_the_error_of_placement(host):
    """The restored allocation would exceed the host's capacity; `stocktake undo` is refused with Placement's error."""
    host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")):
        host.healed()
        (entry,) = host.told("journal").document
        host.rest.set_inventories(host.root, {"VCPU": {"total": 1}, "MEMORY_MB": {"total": 65536}})
        found = host.told("undo", entry["id"])
    assert (found.code, found.document["result"]) == (5, "refused")
    assert "Unable to create allocation for 'VCPU'" in found.document["words"]
    assert "Placement refused all" not in found.document["words"]
    assert host.allocations(uuid("gone")) == {"allocations": {}}


def test_heal_does_not_retry_an_allocation_over_capacity(host):
    """Placement refuses an allocation that exceeds the host's capacity, and heal does not send the request again."""
    with host.cell(host.resting(project_id=PROJECT, user_id=USER)):
        host.rest.set_inventories(
            host.root, {"VCPU": {"total": 1}, "MEMORY_MB": {"total": 4096}, "DISK_GB": {"total": 9}}
        )
        (healed,), adapter = carried_out(host, lambda _request: None)
    assert (healed.action.code, healed.outcome.result) == ("allocation-missing", Result.REFUSED)
    assert [method for method, _ in adapter.sent if method != "GET"] == ["PUT"]
    assert "Unable to create allocation for 'VCPU'" in healed.outcome.words


def test_undo_of_an_unknown_journal_entry_exits_with_127(host):
    with host.cell():
        assert (host.run("undo", "abc").code, host.run("undo", "abc").stderr) == (
            127,
            "stocktake: the journal has no entry abc\n",
        )


def test_heal_refuses_an_outdated_plan(host):
    """An allocation changed after heal's plan, so `stocktake heal --plan` exits with 5 and changes nothing."""
    consumer = host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")):
        digest = host.told("heal").document["digest"]
        host.rest.allocate({host.root: {"VCPU": 1}}, consumer)
        found = host.told("heal", "--plan", digest, "--yes")
    assert (found.code, found.document["stale"], found.document["results"]) == (5, True, [])
    assert host.allocations(consumer)["allocations"] == {host.root: {"resources": {"VCPU": 1}}}
    assert entries(host) == []


AWAY = {
    "placement": {"placement": {"endpoint_override": "http://127.0.0.1:1"}},
    "state": {"state": {"connection": "sqlite:////nowhere/cell.sqlite"}},
    "libvirt": {"libvirt": {"connection_uri": "test:///nowhere/node.xml"}},
}


@pytest.mark.parametrize("source", AWAY)
def test_a_plan_can_run_after_a_source_was_unreadable(host, source):
    """If Placement, nova's database or libvirt is unreadable, heal exits with 2; the same plan can run later."""
    consumer = host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")):
        plan = host.told("heal")
        assert plan.document["unread"] == []
        doing = ("heal", "--plan", plan.document["digest"], "--yes")
        host.agent.configure(AWAY[source])
        ended, found = host.run(*doing), host.told(*doing)
        host.agent.configure()
        again = host.told(*doing)
    assert (ended.code, found.code) == (2, 2)
    assert [each["source"] for each in found.document["unread"]] == [source]
    assert (found.document["undecided"], found.document["stale"], found.document["results"]) == (True, False, [])
    assert f"it is not known whether the plan has changed, because {source} could not be read" in ended.stdout
    assert ended.stdout.endswith("run the same command again later\n")
    assert "nothing to change" not in ended.stdout
    assert [each["result"] for each in again.document["results"]][:1] == ["done"], "nothing was lost"
    assert host.allocations(consumer) == {"allocations": {}}


@pytest.mark.parametrize("source", AWAY)
def test_the_heal_plan_lists_unreadable_sources(host, source):
    """If Placement, nova's database or libvirt is unreadable, the plan of `stocktake heal` says so."""
    host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")):
        host.agent.configure(AWAY[source])
        ended, found = host.run("heal"), host.told("heal")
    assert (ended.code, found.code) == (2, 2)
    assert f"not read: {source}; the plan leaves out findings that need this data" in ended.stdout.splitlines()
    (unread,) = found.document["unread"]
    assert (unread["source"], bool(unread["error"])) == (source, True)
    assert (found.document["undecided"], found.document["actions"]) == (False, [])


def test_heal_of_one_finding_exits_2_without_libvirt(host):
    """If libvirt is unreadable, `stocktake heal --finding` exits with 2."""
    host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")):
        (action,) = [a for a in host.told("heal").document["actions"] if a["code"] == "allocation-leaked"]
        asked = ("heal", "--finding", action["finding_id"])
        digest = host.told(*asked).document["digest"]
        host.agent.configure(AWAY["libvirt"])
        found = host.told(*asked, "--plan", digest, "--yes")
    assert (found.code, found.document["undecided"]) == (2, True)


def test_s56_heal_does_not_overwrite_a_simultaneous_change(host):
    """Another client changes an allocation just before heal writes; heal keeps that change and does not retry."""
    consumer = host.allocate("gone", here=HELD)
    change = Meanwhile(lambda: host.rest.allocate({host.root: {"VCPU": 1}}, consumer))
    with host.cell(host.gone("gone")):
        (healed,), adapter = carried_out(host, on_write(1, change))
        assert healed.outcome.result is Result.REFUSED
        assert "nothing was changed, because the consumer changed meanwhile" in healed.outcome.words
        assert [method for method, _ in adapter.sent if method != "GET"] == ["PUT"], "what was stale is not sent again"
        assert host.allocations(consumer)["allocations"] == {host.root: {"resources": {"VCPU": 1}}}
        host.healed()  # the next run decides on a new read
    assert host.allocations(consumer) == {"allocations": {}}
    assert [result for result, _ in entries(host)] == ["refused", "done"]


def test_a_change_after_the_plan_stops_heal_early(host):
    """Another client changes an allocation after heal made its plan; heal refuses and writes no journal entry."""
    consumer = host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")), in_process(host) as (task, plan):
        host.rest.allocate({host.root: {"VCPU": 1}}, consumer)
        (healed,) = run_heal(task, plan)
        assert (healed.outcome.result, healed.outcome.entry_id) == (Result.REFUSED, None)
        assert f"consumer {consumer} changed since it was read (generation 2 now," in healed.outcome.words
    assert entries(host) == []


def written_at(host: Host, consumer: str, moment: datetime.datetime) -> None:
    """Let Placement have written the consumer at that moment."""
    with contextlib.closing(sqlite3.connect(host.rest.server.folder / "placement.sqlite", timeout=30)) as database:
        change = "UPDATE allocations SET created_at = ? WHERE consumer_id = ?"
        assert database.execute(change, (f"{moment:%Y-%m-%d %H:%M:%S.%f}", consumer)).rowcount == len(HELD)
        database.commit()


def an_hour_ago() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)


def test_heal_keeps_a_recreated_allocation_that_looks_unchanged(host):
    """After heal's plan, another client recreates an allocation that looks unchanged. Heal keeps the allocation."""
    consumer, now = host.allocate("gone", here=HELD), datetime.datetime.now(datetime.UTC)
    written_at(host, consumer, now)
    was = (host.generation(consumer), host.allocations(consumer))
    with host.cell(host.gone("gone")), in_process(host) as (task, plan):
        host.rest.release(consumer)
        host.rest.allocate({host.root: HELD}, consumer)
        written_at(host, consumer, now)
        assert (host.generation(consumer), host.allocations(consumer)) == was, "nothing of its own tells"
        (healed,) = run_heal(task, plan)
    assert (healed.outcome.result, healed.outcome.entry_id) == (Result.REFUSED, None)
    assert "a provider or an allocation of this host changed after the agent planned" in healed.outcome.words
    assert host.allocations(consumer)["allocations"] == {host.root: {"resources": HELD}}


def test_heal_repairs_an_old_leak_on_a_busy_host(host):
    """New allocations keep changing the provider's generation; heal still removes an hour-old leaked allocation."""
    consumer = host.allocate("gone", here=HELD)
    written_at(host, consumer, an_hour_ago())
    with host.cell(host.gone("gone")), in_process(host) as (task, plan):
        host.allocate("arriving", here=HELD)
        (healed,) = run_heal(task, plan)
    assert healed.outcome.result is Result.DONE
    assert host.allocations(consumer) == {"allocations": {}}


def test_heal_keeps_an_allocation_that_replaced_an_old_leak(host):
    """After heal's plan, another client replaces an hour-old leaked allocation; heal keeps the new allocation."""
    consumer = host.allocate("gone", here=HELD)
    written_at(host, consumer, an_hour_ago())
    was = (host.generation(consumer), host.allocations(consumer))
    with host.cell(host.gone("gone")), in_process(host) as (task, plan):
        host.rest.release(consumer)
        host.rest.allocate({host.root: HELD}, consumer)
        assert (host.generation(consumer), host.allocations(consumer)) == was
        (healed,) = run_heal(task, plan)
    assert (healed.outcome.result, healed.outcome.entry_id) == (Result.REFUSED, None)
    assert "another client deleted and recreated the consumer" in healed.outcome.words
    assert host.allocations(consumer)["allocations"] == {host.root: {"resources": HELD}}


@dataclasses.dataclass(frozen=True)
class ActingReader:
    """A reader of Placement during whose reads another client acts."""

    reader: TreeReader
    act: Callable[[], None]

    def view(self, wanted: ViewRequest) -> PlacementView:
        self.act()
        return self.reader.view(wanted)


def test_heal_keeps_an_allocation_recreated_in_its_last_check(host):
    """While heal makes its last check before a write, another client recreates the allocation; heal keeps it."""
    consumer = host.allocate("gone", here=HELD)
    written_at(host, consumer, an_hour_ago())

    def recreate() -> None:
        host.rest.release(consumer)
        host.rest.allocate({host.root: HELD}, consumer)

    with host.cell(host.gone("gone")), in_process(host) as (task, plan):
        (healed,) = run_heal(with_parts(task, reader=ActingReader(task.parts.reader, recreate)), plan)
    assert "another client deleted and recreated the consumer" in healed.outcome.words
    assert host.allocations(consumer)["allocations"] == {host.root: {"resources": HELD}}


def test_a_new_child_provider_after_the_plan_stops_heal(host):
    """`stocktake heal` has planned to remove an allocation.

    Then the host gets a new child provider in Placement. Heal stops and leaves the allocation as it is.
    """
    consumer = host.allocate("gone", here=HELD)
    written_at(host, consumer, an_hour_ago())
    with host.cell(host.gone("gone")), in_process(host) as (task, plan):
        host.rest.make_provider(parent=host.root)
        (healed,) = run_heal(task, plan)
    assert "a provider or an allocation of this host changed after the agent planned" in healed.outcome.words
    assert host.allocations(consumer)["allocations"] == {host.root: {"resources": HELD}}


def test_several_changes_of_one_heal_run_all_succeed(host):
    """Each change by heal raises a provider's generation; the next change in the same run still succeeds."""
    host.agent.configure({"heal": {"max_percent": 100}})
    consumers = [host.allocate(name, here=HELD) for name in ("gone", "gone2")]
    with host.cell(host.resting(), host.gone("gone"), host.gone("gone2")), in_process(host) as (task, plan):
        healed = run_heal(task, plan)
    assert [one.outcome.result for one in healed] == [Result.DONE] * len(healed)
    assert {one.action.code for one in healed} >= {"allocation-leaked"}
    assert len(healed) > 1
    assert [host.allocations(consumer) for consumer in consumers].count({"allocations": {}}) == 2


def conflict() -> Answer:
    body = {"errors": [{"status": 409, "code": "placement.concurrent_update", "detail": "provider changed"}]}
    return Answer(409, json.dumps(body).encode(), (("content-type", "application/json"),))


@pytest.mark.parametrize(("conflicts", "result", "puts"), [(3, Result.DONE, 4), (4, Result.REFUSED, 4)])
def test_s160_heal_gives_up_after_four_conflicts(host, conflicts, result, puts):
    """If Placement answers each write with a generation conflict, heal gives up after the fourth write."""
    consumer = host.allocate("gone", here=HELD)
    left = iter(range(conflicts))

    def script(request: Any) -> Any:
        return conflict() if request.method == "PUT" and next(left, None) is not None else None

    with host.cell(host.gone("gone")):
        (healed,), adapter = carried_out(host, script)
    assert healed.outcome.result is result
    assert [method for method, _ in adapter.sent if method != "GET"] == ["PUT"] * puts
    assert bool(host.allocations(consumer)["allocations"]) == (result is Result.REFUSED)
    (entry,) = entries(host)
    assert entry[0] == result.value
    assert ("nothing was changed" in entry[1]) == (result is Result.REFUSED)


def test_heal_reports_done_after_a_lost_response(host):
    """Placement carries out heal's write and its response is lost; heal reads again and reports the change as done."""
    consumer = host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")):
        (healed,), _ = carried_out(host, on_write(1, LoseAnswer()))
    assert healed.outcome.result is Result.DONE
    assert "checked afterwards: the change was done" in entries(host)[0][1]
    assert host.allocations(consumer) == {"allocations": {}}


def test_undo_reverts_a_late_write(host):
    """Placement carries out heal's write only after heal has ended; `stocktake undo` still restores the allocation."""
    consumer = host.allocate("gone", here=HELD)
    queued: list[Any] = []

    def script(request: Any) -> Any:
        if request.method != "PUT":
            return None
        queued.append(request)
        return Answer(504)

    with host.cell(host.gone("gone")):
        (healed,), _ = carried_out(host, script)
        assert (healed.outcome.result, healed.outcome.unread) == (Result.UNKNOWN, True)
        assert "checked afterwards: Placement had not done the change yet" in entries(host)[0][1]
        assert host.allocations(consumer)["allocations"] == {host.root: {"resources": HELD}}
        carried_out_late(queued)
        assert host.allocations(consumer) == {"allocations": {}}
        (entry,) = host.told("journal").document
        assert host.told("undo", entry["id"]).code == 0
    assert host.allocations(consumer)["allocations"] == {host.root: {"resources": HELD}}


def test_heal_changes_nothing_if_providers_are_unreadable(host):
    """If Placement's providers of the host cannot be read again before the write, heal changes nothing."""
    consumer = host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")), in_process(host) as (task, plan):
        away = client_of(host.agent.folder, host.rest.server.url, ScriptedAdapter(always(Answer(500))))
        (healed,) = run_heal(with_parts(task, reader=TreeReader(away)), plan)
    assert (healed.outcome.result, healed.outcome.unread) == (Result.REFUSED, True)
    assert healed.outcome.words.startswith("nothing was changed: ")
    assert (host.allocations(consumer)["allocations"], entries(host)) == ({host.root: {"resources": HELD}}, [])


def test_a_result_is_unknown_if_heal_cannot_check_its_write(host):
    """The response to heal's write is lost and heal cannot read the allocation; it reports its result as unknown."""
    host.allocate("gone", here=HELD)
    sent: list[str] = []

    def script(request: Any) -> Any:
        sent.append(request.method)
        if "PUT" not in sent:
            return None
        return LoseAnswer() if request.method == "PUT" else Answer(500)

    with host.cell(host.gone("gone")):
        (healed,), _ = carried_out(host, script)
        assert healed.outcome.result is Result.UNKNOWN
        (entry,) = host.told("journal").document
        assert entry["result"] == "unknown"
        assert host.told("undo", entry["id"]).code == 0, "undo looks at Placement: it was done, so it can be put back"


def test_a_result_is_unknown_if_another_write_follows_heal(host):
    """The response to heal's write is lost and another client writes too; heal reports its result as unknown."""
    consumer = host.allocate("gone", here=HELD)
    theirs = iter([lambda: host.rest.allocate({host.root: {"VCPU": 1}}, consumer)])
    lost: list[str] = []

    def script(request: Any) -> Any:
        if request.method == "PUT":
            lost.append(request.method)
            return LoseAnswer()
        return Meanwhile(next(theirs, lambda: None)) if lost else None

    with host.cell(host.gone("gone")):
        (healed,), adapter = carried_out(host, script)
    assert (healed.outcome.result, healed.outcome.unread) == (Result.UNKNOWN, True)
    neither = "has neither the earlier nor the planned allocations now"
    assert f"checked afterwards: consumer {consumer} {neither}" in healed.outcome.words
    methods = [method for method, _ in adapter.sent]
    assert methods[methods.index("PUT") :] == ["PUT", "GET"], "a second look would say the same"


def test_undo_is_refused_without_access_to_allocations(host):
    """If the agent has no access to allocations in Placement, an undo is refused and changes nothing."""
    consumer = host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")), in_process(host) as (task, plan):
        run_heal(task, plan)
        apart = with_parts(task, allocations=None)
        (entry,) = task.parts.journal.read().entries
        outcome = undo(apart, task.parts.journal, entry, {})
    assert (outcome.result, outcome.words) == (Result.REFUSED, "this run has no access to the allocations in Placement")
    assert host.allocations(consumer) == {"allocations": {}}


def test_heal_changes_nothing_if_the_journal_is_unwritable(host):
    consumer = host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")), in_process(host) as (task, plan):
        (host.agent.folder / "state" / "journal.jsonl").mkdir()
        (healed,) = run_heal(task, plan)
    assert "journal.jsonl cannot be written" in healed.outcome.words
    assert host.allocations(consumer)["allocations"] == {host.root: {"resources": HELD}}


def test_heal_changes_nothing_while_its_lock_is_taken(host):
    """If another process has the agent's lock, heal changes nothing and reports the ID of that process."""
    consumer = host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")), in_process(host) as (task, plan), task.parts.lock.hold():
        (healed,) = run_heal(task, plan)
    assert "is held by pid" in healed.outcome.words
    assert host.allocations(consumer)["allocations"] == {host.root: {"resources": HELD}}


@pytest.mark.parametrize("when", ["before", "after"])
def test_undo_after_a_killed_heal_leaves_the_old_allocation(host, when):
    """`stocktake heal` is killed just before or just after it removes an allocation from Placement.

    The operator then runs `stocktake undo`. Afterwards Placement has the allocation that it had before heal.
    """
    consumer = host.allocate("gone", here=HELD)
    before = host.allocations(consumer)
    with host.cell(host.gone("gone")):
        heal_killed(host.agent.config_file, frozenset(BY_CODE), "allocations.put", when)
        assert (host.allocations(consumer) == before) == (when == "before")
        (entry,) = host.told("journal").document
        assert (entry["result"], entry["consumer_uuid"]) == ("open", consumer)
        undone = host.told("undo", entry["id"])
    assert host.allocations(consumer) == before
    assert (undone.code, undone.document["result"]) == ((5, "refused") if when == "before" else (0, "done"))
    assert when == "after" or "there is nothing to undo" in undone.document["words"]


def test_s57_heal_frees_the_source_host_after_an_evacuation(host):
    """Heal removes an evacuated instance's allocations on the old host and keeps those on the new host."""
    consumer = host.allocate("away", here=HELD, there=HELD)
    evacuation = facts.migration(
        1, "away", kind="evacuation", status="done", source_host=host.agent.name, source_node=host.agent.name
    )
    with host.cell(host.moved("away"), migrations=[evacuation]) as engine:
        host.healed()
        with engine.begin() as connection:
            rows = connection.exec_driver_sql("SELECT status, updated_at FROM migrations").fetchall()
    assert host.allocations(consumer)["allocations"] == {host.other: {"resources": HELD}}
    assert [status for status, _ in rows] == ["done"]


def test_s58_heal_ignores_a_deleted_evacuated_instance(host):
    """Heal plans no action for an evacuated instance that nova has deleted and that has no allocation left."""
    evacuation = facts.migration(
        1, "away", kind="evacuation", status="done", source_host=host.agent.name, source_node=host.agent.name
    )
    with host.cell(host.moved("away", deleted=True, vm_state="deleted"), migrations=[evacuation]):
        found = host.told("heal")
    assert (found.code, found.document["actions"]) == (0, [])  # i1 has a guest here and no row


def test_s161_heal_creates_a_missing_allocation_by_the_flavor(host):
    """An instance on this host has no allocation in Placement; heal creates one with the amounts of its flavor."""
    with host.cell(host.resting(project_id=PROJECT, user_id=USER)), host.rest.watched() as seen:
        assert host.healed().code == 4
    assert host.allocations(uuid("i1")) == {
        "allocations": {host.root: {"resources": {"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 5}}},
        "project_id": PROJECT,
        "user_id": USER,
        "consumer_type": "unknown",
    }
    assert [line for line in seen if line.startswith("PUT")] == [f"PUT /allocations/{uuid('i1')} 204"]
    (entry,) = host.told("journal").document
    assert entry["before"]["consumer"]["consumer_generation"] is None


@pytest.mark.parametrize("change", [{"task_state": "resize_prep"}, {"vm_state": "building", "task_state": "spawning"}])
def test_s161_heal_skips_an_instance_in_build_or_resize(host, change):
    """Heal creates no missing allocation for an instance that nova is still building or resizing."""
    with host.cell(host.resting(project_id=PROJECT, user_id=USER, **change)):
        assert host.told("heal").document["actions"] == []


def test_s162_heal_corrects_project_and_user_of_an_allocation(host):
    """Heal sets an allocation's project and user to those of the instance. `stocktake undo` restores the old ones."""
    held = {"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 5}
    consumer = host.allocate("i1", here=held, kind="INSTANCE")
    with host.cell(host.resting(project_id="their-project", user_id="their-user")):
        assert host.healed().code == 4
        assert host.allocations(consumer) == {
            "allocations": {host.root: {"resources": held}},
            "project_id": "their-project",
            "user_id": "their-user",
            "consumer_type": "INSTANCE",
        }
        (entry,) = host.told("journal").document
        assert host.told("undo", entry["id"]).code == 0
    assert host.allocations(consumer)["project_id"] == PROJECT


def test_s163_audit_exits_3_on_findings_and_heal_exits_4(host):
    """`stocktake audit` finds a leak and exits with 3.

    `stocktake heal` repairs the leak and exits with 4. Then both exit with 0.
    """
    held = {"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 5}
    host.allocate("i1", here=held)
    consumer = host.allocate("gone", here=HELD)
    with host.cell(host.resting(project_id=PROJECT, user_id=USER), host.gone("gone")):
        assert host.run("audit").code == 3
        assert host.healed().code == 4
        assert host.allocations(consumer) == {"allocations": {}}
        assert host.run("audit").code == 0
        assert host.run("heal").code == 0


def test_heal_exits_with_75_for_a_too_young_finding(host):
    """`stocktake heal --finding` exits with 75 and says when to retry if the finding is younger than [heal] min_age."""
    host.agent.configure({"heal": {"min_age": 300}})
    host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")):
        (refusal,) = host.told("heal").document["refusals"]
        assert refusal["guard"] == "minimum-age"
        found = host.told("heal", "--finding", refusal["finding_id"])
        assert (found.code, found.document["actions"]) == (75, [])
        assert 0 < found.document["try_again_s"] <= 300
        ended = host.run("heal", "--finding", refusal["finding_id"][:8])
        young = "nothing to change now: the finding is younger than [heal] min_age (300 s); try again in "
        assert (ended.code, ended.stdout.splitlines()[-1].startswith(young)) == (75, True)
        assert host.run("heal", "--finding", uuid("no such")).code == 127


def test_a_finding_keeps_its_first_seen_time_in_later_heal_runs(host):
    host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")):
        host.run("heal")
        seen = json.loads((host.agent.folder / "state" / "findings.json").read_text())["sightings"]
        first = {s["first_seen_at"] for s in seen if s["code"] == "allocation-leaked"}
        host.run("heal")
        seen = json.loads((host.agent.folder / "state" / "findings.json").read_text())["sightings"]
    assert first == {s["first_seen_at"] for s in seen if s["code"] == "allocation-leaked"} != set()


@pytest.mark.parametrize("arguments", [("--yes",), ("--plan", "0" * 64)])
def test_heal_requires_plan_and_yes_together(host, arguments):
    """`stocktake heal` exits with 127 if only one of the options `--plan` and `--yes` is given."""
    with host.cell():
        assert host.run("heal", *arguments).code == 127


def test_config_check_rejects_a_heal_code_without_repair(host):
    """`stocktake config check` exits with 78 if [heal] codes contains the code of a finding that heal cannot repair."""
    host.agent.configure({"heal": {"codes": "allocation-leaked, volume-foreign"}})
    ended = host.run("config", "check")
    assert ended.code == 78
    refused = "no repair for volume-foreign; valid codes: allocation-leaked, allocation-missing"
    assert refused in ended.stdout + ended.stderr


@pytest.mark.parametrize("enabled", [True, False])
def test_the_daemon_repairs_only_if_heal_is_enabled(host, enabled):
    """The daemon removes a leaked allocation if [heal] enabled is true, and keeps it if the option is false."""
    host.agent.configure({"heal": {"enabled": enabled}})
    gone = host.allocate("gone", here=HELD)
    away = host.allocate("away", here=HELD, there=HELD)
    with host.cell(host.gone("gone"), host.moved("away")), host.agent.daemon() as daemon:
        daemon.first_audit()
        if enabled:
            until(lambda: daemon.audit_now() and not host.allocations(gone)["allocations"], 120, "the daemon heals")
        for _ in range(5):
            daemon.audit_now()
        lines = [line for line in daemon.text().splitlines() if "finding healed" in line]
    assert bool(host.allocations(gone)["allocations"]) is not enabled
    assert set(host.allocations(away)["allocations"]) == {host.root, host.other}
    assert len(lines) == int(enabled)
    assert all("code=allocation-leaked" in line for line in lines)


def test_heal_and_undo_wake_the_daemon(host, monkeypatch):
    """After `stocktake heal` or `stocktake undo`, the daemon runs an audit at once and updates its report."""
    monkeypatch.setenv("SUDO_USER", "alice")
    gone = host.allocate("gone", here=HELD)

    def leaks(*_: object) -> set[str | None]:
        status = host.told("status").document
        return {each["consumer_uuid"] for each in status["findings"] if each["code"] == "allocation-leaked"}

    with host.cell(host.gone("gone")), host.agent.daemon() as daemon:
        daemon.first_audit()
        assert leaks() == {gone}
        (result,) = host.healed().document["results"]
        # No interval and no event triggers an audit here: only the signal of the command does.
        until(lambda: not leaks(), 60, "the report without the leak")
        assert host.run("undo", result["entry_id"]).code == 0
        until(lambda: leaks() == {gone}, 60, "the report with the leak again")
    entries = host.told("journal").document
    assert [entry["actor"]["program"] for entry in entries] == ["stocktake heal", "stocktake undo"]
    assert {entry["actor"]["sudo_user"] for entry in entries} == {"alice"}


@pytest.mark.skipif(shutil.which("sudo") is None or os.geteuid() != 0, reason="needs sudo, and root to call it")
def test_the_journal_shows_the_sudo_user_of_heal(host):
    """The journal entry of `stocktake heal` shows the user who called the command through sudo."""
    host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")):
        digest = host.told("heal").document["digest"]
        argv = host.agent.command("stocktake", "heal", "--plan", digest, "--yes")
        done = subprocess.run(["sudo", "-n", "-u", "root", *argv], capture_output=True, text=True, check=False)
        assert done.returncode == 4, done.stderr
        (entry,) = host.told("journal", "--since", "1h", "--limit", "1").document
    actor = entry["actor"]
    assert (actor["user"], actor["sudo_user"], actor["program"]) == ("root", "root", "stocktake heal")
    assert (actor["version"], actor["host"]) == (importlib.metadata.version("stocktake"), os.uname().nodename)


def test_the_daemon_does_not_heal_without_its_compute_id(host):
    """While the host's compute_id file is unreadable, the daemon repairs nothing; afterwards it repairs again."""
    host.agent.configure({"heal": {"enabled": True}})
    state = host.agent.folder / "state"
    with host.cell(host.gone("gone")), host.agent.daemon() as daemon:
        daemon.first_audit()
        (state / "compute_id").symlink_to("/proc/self/mem")
        # The leak comes after the link: the first audit of a leak asks for another audit at once, which heals.
        gone = host.allocate("gone", here=HELD)
        for _ in range(4):
            assert daemon.audit_now()["audit"]["healed"] == []
        assert host.allocations(gone)["allocations"][host.root]["resources"] == HELD
        (state / "compute_id").unlink()
        until(lambda: daemon.audit_now() and not host.allocations(gone)["allocations"], 120, "the daemon heals")


def test_an_observer_refuses_every_repair(host):
    """In role observer, the agent only reads, so `stocktake heal` refuses every repair."""
    host.agent.configure({"agent": {"role": "observer"}})
    host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")):
        found = host.told("heal")
    assert {refusal["guard"] for refusal in found.document["refusals"]} == {"role"}
    assert not (host.agent.folder / "state" / "findings.json").exists()


def test_the_daemon_does_not_repeat_an_undone_repair(host):
    """After `stocktake undo` reverts a repair, the daemon does not repeat it, but `stocktake heal` does."""
    host.agent.configure({"heal": {"enabled": True}})
    gone = host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")), host.agent.daemon() as daemon:
        daemon.first_audit()
        until(lambda: daemon.audit_now() and not host.allocations(gone)["allocations"], 120, "the daemon heals")
        (entry,) = host.told("journal").document
        assert host.told("undo", entry["id"]).code == 0
        for _ in range(3):
            assert daemon.audit_now()["audit"]["healed"] == []
        assert host.allocations(gone)["allocations"][host.root]["resources"] == HELD
        assert host.healed().code in {3, 4}  # i1 has no allocation: that finding remains
    assert host.allocations(gone)["allocations"] == {}


def test_heal_needs_only_one_proof_that_nova_compute_is_dead(host):
    """Heal repairs nothing until nova-compute is proven dead; later runs of heal need no new proof."""
    host.allocate("gone", here=HELD)
    host.rest.set_traits(host.root, "OWNER_NOVA", "CUSTOM_OWNER_STOCKTAKE", "COMPUTE_NODE")

    def guards() -> set[str]:
        return {refusal["guard"] for refusal in host.told("heal").document["refusals"]}

    with host.cell(host.gone("gone")):
        assert "no-rival" in guards()
        host.agent.configure({"DEFAULT": {"service_down_time": 1}})
        until(lambda: "no-rival" not in guards(), 60, "its silence is proven")
        for _ in range(2):
            assert "no-rival" not in guards()


def test_heal_and_explain_show_the_entry_of_a_repair(host):
    """For a repaired finding, `stocktake heal` and `stocktake explain` show the journal entry of the repair."""
    host.allocate("gone", here=HELD)
    with host.cell(host.gone("gone")):
        plan = host.told("heal").document
        id_, digest = plan["actions"][0]["finding_id"][:8], plan["digest"]
        assert host.run("heal", "--finding", id_, "--plan", digest, "--yes").code == 4
        said = f"repaired (journal entry {host.told('journal').document[0]['id']})"
        stale = host.run("heal", "--finding", id_, "--plan", digest, "--yes")
        assert (stale.code, said in stale.stderr) == (5, True)
        for words in (("heal", "--finding", id_), ("explain", id_)):
            ended = host.run(*words)
            assert (ended.code, said in ended.stderr) == (127, True), ended.stderr
