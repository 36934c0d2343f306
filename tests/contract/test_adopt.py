"""adopt against a real Placement: a provider comes back to its host with its allocations, and undo puts it back."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.audit.parts import AuditTask
from agent.cmd import wiring
from agent.config.build import load_checked, settings_from
from agent.demo import cell
from agent.healing.adopt import read_facts, run_adopt
from agent.healing.adopt_plan import adoption
from agent.host_files.journal import Result
from agent.model.adoption import AdoptPlan
from agent.model.audit import AuditRequest, Depth
from agent.model.nova import ComputeNode, Service
from agent.placement.names import ProviderNames
from tests.rigs.commands import stocktake_here
from tests.rigs.domains import node_xml
from tests.rigs.faults import Answer, LoseAnswer, Meanwhile, Script, ScriptedAdapter, on_write
from tests.rigs.healing import with_parts
from tests.rigs.host import AgentHost, host_on
from tests.rigs.placement import Rest, client_of, new_uuid

HELD = {"VCPU": 2, "MEMORY_MB": 256}


@dataclasses.dataclass(frozen=True)
class Host:
    """A host without Nova (source none): only Placement knows the host's identity."""

    agent: AgentHost
    rest: Rest

    def told(self, *arguments: str) -> tuple[int, Any]:
        ended = stocktake_here("--config-file", self.agent.config_file, *arguments, "-f", "json")
        assert ended.stdout, ended.stderr
        return ended.code, ended.document

    def adopted(self) -> tuple[int, Any]:
        code, plan = self.told("adopt")
        assert (code, len(plan["steps"]) > 0) == (3, True), plan
        return self.told("adopt", "--plan", plan["digest"], "--yes")

    def undone(self) -> list[int]:
        """Undo every journal entry, the last one first; return the exit codes."""
        entries = [e for e in self.told("journal")[1] if not e.get("undoes")]
        return [self.told("undo", entry["id"])[0] for entry in reversed(entries)]

    def name(self, uuid: str) -> str:
        return str(self.rest.done("GET", f"/resource_providers/{uuid}")["name"])

    def held(self, uuid: str) -> Any:
        return self.rest.done("GET", f"/resource_providers/{uuid}/allocations")["allocations"]

    @property
    def own_file(self) -> Path:
        return self.agent.folder / "state" / "compute_id"


@pytest.fixture
def host(tmp_path: Path, placement: Rest) -> Host:
    (tmp_path / "node.xml").write_text(node_xml(cpus=8, memory_mib=4096))
    made = host_on(tmp_path, placement.server.url)
    made.options = {"state": {"source": "none", "connection": None}}
    made.configure()
    return Host(made, placement)


def provider(host: Host, name: str, uuid: str, *children: str) -> str:
    """Make one of the agent's providers with these children and one consumer's allocation; return the consumer."""
    host.rest.make_provider(name, uuid=uuid)
    host.rest.set_inventories(uuid, {"VCPU": {"total": 8}, "MEMORY_MB": {"total": 4096}})
    host.rest.set_traits(uuid, "COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE")
    for child in children:
        host.rest.set_traits(host.rest.make_provider(child, parent=uuid), "CUSTOM_OWNER_STOCKTAKE")
    return host.rest.allocate({uuid: HELD})


def names_below(host: Host, root: str) -> set[str]:
    tree = host.rest.done("GET", f"/resource_providers?in_tree={root}")["resource_providers"]
    return {p["name"] for p in tree if p["uuid"] != root}


def test_adopt_renames_a_provider_and_undo_renames_it_back(host):
    """`stocktake adopt` renames a provider to the host's current name, and undo renames the provider back."""
    root, node = host.agent.provider_uuid, host.agent.name
    old = f"old-{node}"
    consumer = provider(host, old, root, f"{old}_amd_sev", f"{old}:NIC")
    before = host.held(root)

    code, done = host.adopted()
    assert (code, [r["result"] for r in done["results"]]) == (4, ["done", "done"])
    assert (host.name(root), names_below(host, root)) == (node, {f"{node}_amd_sev", f"{old}:NIC"})
    assert host.held(root) == before
    assert before[consumer]["resources"] == HELD
    assert host.told("adopt")[0] == 0

    assert host.undone() == [0, 0]
    assert (host.name(root), names_below(host, root)) == (old, {f"{old}_amd_sev", f"{old}:NIC"})
    assert host.held(root) == before


def test_adopt_restores_the_provider_uuid_of_a_reinstalled_host(host):
    """A reinstalled host has a new uuid. `stocktake adopt` writes the old provider's uuid into the file compute_id."""
    root, node = host.agent.provider_uuid, host.agent.name
    provider(host, node, root)
    (host.agent.folder / "compute_id").unlink()
    host.own_file.write_text(f"{new_uuid()}\n")
    text = host.own_file.read_text()
    before = host.held(root)
    assert host.agent.agent("--once").code == 3
    assert host.rest.inventories(root)["VCPU"]["max_unit"] > 8

    code, done = host.adopted()
    assert (code, host.own_file.read_text().strip()) == (4, root)
    assert done["results"][0]["entry_id"]
    assert host.agent.agent("--once").code in (0, 3)
    assert host.rest.inventories(root)["VCPU"]["max_unit"] == 8
    assert host.held(root) == before

    assert host.undone() == [0]
    assert host.own_file.read_text() == text


def test_undo_removes_the_compute_id_file_made_by_adopt(host):
    """`stocktake adopt` creates a missing compute_id file, and `stocktake undo` then deletes the file."""
    provider(host, host.agent.name, host.agent.provider_uuid)
    (host.agent.folder / "compute_id").unlink()
    assert host.adopted()[0] == 4
    assert host.own_file.exists()
    assert host.undone() == [0]
    assert not host.own_file.exists()


def test_undo_exits_2_if_the_compute_id_file_is_unreadable(host):
    """`stocktake undo` cannot read the file compute_id, and prints the error without a traceback."""
    provider(host, host.agent.name, host.agent.provider_uuid)
    identity = host.agent.folder / "compute_id"
    identity.unlink()
    assert host.adopted()[0] == 4
    host.own_file.unlink()
    host.own_file.symlink_to("/proc/self/mem")
    (entry,) = host.told("journal")[1]
    ended = stocktake_here("--config-file", host.agent.config_file, "undo", entry["id"])
    assert "Input/output error" in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.code == 2


def test_adopt_refuses_the_digest_of_another_plan(host):
    """`stocktake adopt --plan DIGEST` changes nothing and exits with 5 if the current plan has another digest."""
    root, old = host.agent.provider_uuid, f"old-{host.agent.name}"
    provider(host, old, root)
    code, told = host.told("adopt", "--plan", "0" * 64, "--yes")
    assert (code, told["stale"], told["results"]) == (5, True, [])
    assert host.name(root) == old
    assert host.told("journal")[1] == []


def test_undo_keeps_a_name_given_after_adopt(host):
    """Somebody renamed the provider after `stocktake adopt`, so `stocktake undo` refuses with exit code 5."""
    root = host.agent.provider_uuid
    provider(host, f"old-{host.agent.name}", root)
    assert host.adopted()[0] == 4
    host.rest.done("PUT", f"/resource_providers/{root}", {"name": f"third-{root}"})
    assert host.undone() == [5]
    assert host.name(root) == f"third-{root}"


@pytest.mark.parametrize("guard", ["file", "allocations", "owner", "role"])
def test_adopt_with_yes_changes_nothing_if_a_guard_refuses(host, guard):
    """A guard is a rule that stops a repair. `stocktake adopt --yes` exits with 5 if one of four guards refuses."""
    root, mine = host.agent.provider_uuid, new_uuid()
    provider(host, host.agent.name, root)
    (host.agent.folder / "compute_id").unlink()
    place = host.agent.folder / "compute_id" if guard == "file" else host.own_file
    place.write_text(f"{mine}\n")
    if guard == "allocations":
        provider(host, f"mine-{mine}", mine)
    if guard == "owner":
        host.rest.set_traits(root, "MISC_SHARES_VIA_AGGREGATE")
    if guard == "role":
        host.agent.configure({"agent": {"role": "observer"}})
        (host.agent.folder / "compute_id").unlink(missing_ok=True)
    code, told = host.told("adopt")
    assert (code, [r["guard"] for r in told["refusals"]], told["steps"]) == (5, [guard], [])
    assert host.told("adopt", "--plan", told["digest"], "--yes")[0] == 5
    assert place.read_text().strip() == mine


@contextlib.contextmanager
def planned(host: Host, script: Script) -> Iterator[tuple[AuditTask, AdoptPlan]]:
    """Yield an task and its plan; the script answers the task's later requests about providers' names."""
    loaded = load_checked([str(host.agent.config_file)])
    with wiring.wire(loaded) as wired:
        parts = wired.parts
        request = AuditRequest(reasons=("test",), depth=Depth.FULL)
        task = AuditTask(request=request, settings=settings_from(loaded), parts=parts, cancelled=lambda: False)
        plan = adoption(read_facts(task, parts.names, parts.own_file), task.settings)
        client = client_of(host.agent.folder, host.rest.server.url, ScriptedAdapter(script))
        yield with_parts(task, names=ProviderNames(client)), plan


def test_adopt_stops_at_a_failed_step(host):
    """Placement answers the first rename with 503, and `stocktake adopt` does not try the second rename."""
    root, node = host.agent.provider_uuid, host.agent.name
    old = f"old-{node}"
    provider(host, old, root, f"{old}_amd_sev")
    with planned(host, on_write(1, Answer(503))) as (task, plan):
        (done,) = run_adopt(task, task.parts.journal, plan)
    assert len(plan.steps) == 2
    assert (done.outcome.result, done.outcome.unread) == (Result.UNKNOWN, True)
    assert (host.name(root), names_below(host, root)) == (old, {f"{old}_amd_sev"})
    code, again = host.adopted()
    assert (code, [r["result"] for r in again["results"]]) == (4, ["done", "done"])
    assert (host.name(root), names_below(host, root)) == (node, {f"{node}_amd_sev"})


@pytest.mark.parametrize("lost", [1, 2])
def test_a_second_adopt_completes_the_renames(host, lost):
    """Placement's answer to a rename is lost. The next run of `stocktake adopt` renames all remaining providers."""
    root, node = host.agent.provider_uuid, host.agent.name
    old = f"old-{node}"
    provider(host, old, root, f"{old}_amd_sev", f"{old}_amd_sev_es")
    with planned(host, on_write(lost, LoseAnswer())) as (task, plan):
        *_, last = run_adopt(task, task.parts.journal, plan)
    assert last.outcome.result is Result.UNKNOWN
    assert host.adopted()[0] == 4
    assert (host.name(root), names_below(host, root)) == (node, {f"{node}_amd_sev", f"{node}_amd_sev_es"})


def test_a_rename_to_the_name_of_another_provider_is_refused(host):
    """Placement refuses a rename by `stocktake adopt` if another provider has the new name."""
    root, node = host.agent.provider_uuid, host.agent.name
    provider(host, f"old-{node}", root)
    with planned(host, on_write(1, Meanwhile(lambda: host.rest.make_provider(node)))) as (task, plan):
        (done,) = run_adopt(task, task.parts.journal, plan)
    assert (done.outcome.result, done.outcome.unread) == (Result.REFUSED, False)
    assert node in done.outcome.words
    assert host.name(root) == f"old-{node}"
    assert [entry["result"] for entry in host.told("journal")[1]] == ["refused"]


def test_adopt_without_access_to_placement_renames_nothing(host):
    """`stocktake adopt` cannot write provider names in Placement. It says that it has no access, and the name stays."""
    root, old = host.agent.provider_uuid, f"old-{host.agent.name}"
    provider(host, old, root)
    with planned(host, lambda _request: None) as (task, plan):
        (done,) = run_adopt(with_parts(task, names=None), task.parts.journal, plan)
    assert (
        "this run has no access to what the step changes (a file, a provider, a record or a store)"
        in done.outcome.words
    )
    assert host.name(root) == old


@pytest.mark.parametrize(
    ("seen", "refused"),
    [(datetime.timedelta(0), ["nova-compute of host cmp-other is alive"]), (datetime.timedelta(days=1), [])],
    ids=["now", "a day ago"],
)
def test_adopt_refuses_a_node_of_a_running_nova_compute(host, seen, refused):
    """`stocktake adopt` refuses a compute node that belongs to another host whose nova-compute is alive."""
    root, node = host.agent.provider_uuid, host.agent.name
    provider(host, f"old-{node}", root)
    at = datetime.datetime.now(datetime.UTC) - seen
    service = Service(id=7, version=66, disabled=False, forced_down=False, last_seen_up=at, created_at=at)
    with host.agent.rows() as connection:
        cell.create_tables(connection)
        row = ComputeNode(id=5, uuid=root, host="cmp-other", hypervisor_hostname=f"old-{node}", deleted=False)
        cell.add_compute_node(connection, row)
        cell.add_service(connection, "cmp-other", service)
        cell.add_heartbeat(connection)
    host.agent.configure({"state": {"source": "sql", "connection": f"sqlite:///{host.agent.cell_path}"}})
    _, told = host.told("adopt")
    assert [refusal["why"] for refusal in told["refusals"]] == refused


def test_adopt_exits_2_if_the_nova_database_is_unreadable(host):
    provider(host, f"old-{host.agent.name}", host.agent.provider_uuid)
    host.agent.configure({"state": {"source": "sql", "connection": f"sqlite:///{host.agent.folder}/absent/cell.db"}})
    code, told = host.told("adopt")
    assert (code, [r["guard"] for r in told["refusals"]]) == (2, ["state"])


def test_adopt_prints_a_note_about_the_old_name_in_nova(host):
    """`stocktake adopt` notes that nova's compute node row still has the provider's old name."""
    root, old = host.agent.provider_uuid, f"old-{host.agent.name}"
    provider(host, old, root)
    with host.agent.rows() as connection:
        cell.create_tables(connection)
        row = ComputeNode(id=5, uuid=root, host=host.agent.name, hypervisor_hostname=old, deleted=False)
        cell.add_compute_node(connection, row)
        cell.add_heartbeat(connection)
    host.agent.configure({"state": {"source": "sql", "connection": f"sqlite:///{host.agent.cell_path}"}})
    code, told = host.told("adopt")
    assert code == 3
    assert any(f"row 5 has host {host.agent.name} and node {old}" in note for note in told["notes"])


def test_adopt_has_nothing_to_do_on_a_consistent_host(host):
    """The provider has the host's name and uuid. `stocktake adopt` prints "nothing to adopt" and exits with 0."""
    provider(host, host.agent.name, host.agent.provider_uuid)
    code, told = host.told("adopt")
    assert (code, told["steps"], told["refusals"]) == (0, [], [])
    assert "nothing to adopt" in stocktake_here("--config-file", host.agent.config_file, "adopt").stdout
