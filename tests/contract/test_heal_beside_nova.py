"""heal in role companion against a real Placement: what it repairs beside a living nova-compute, and what it leaves.

The cell database has the rows that nova would write; tests/contract/state covers the databases themselves.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.demo import cell
from agent.guards import nova_started
from tests.rigs.commands import stocktake_here
from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.facts import FLAVOR_B, migration, service, uuid
from tests.rigs.healing import short_proof  # noqa: F401 - a fixture
from tests.rigs.host import AgentHost, Ended, host_on
from tests.rigs.placement import PROJECT, Rest

OF_B = {"VCPU": FLAVOR_B.vcpus, "MEMORY_MB": FLAVOR_B.memory_mib, "DISK_GB": FLAVOR_B.root_gib}
AN_HOUR_AGO = datetime.datetime.now(datetime.UTC).replace(tzinfo=None) - datetime.timedelta(hours=1)


@dataclasses.dataclass(frozen=True)
class Beside:
    """A host with guest i1 beside a living nova-compute, and the provider of another host."""

    agent: AgentHost
    rest: Rest
    other: str

    def run(self, *arguments: str) -> Ended:
        return stocktake_here("--config-file", self.agent.config_file, *arguments)

    def document(self, *arguments: str) -> Any:
        ended = self.run(*arguments, "-f", "json")
        assert ended.stdout, ended.stderr
        return ended.document

    def healed(self, *findings: str) -> Any:
        plan = self.document("heal", *findings)
        assert plan["actions"], plan
        return self.document("heal", *findings, "--plan", plan["digest"], "--yes")

    def finding(self, code: str) -> Any:
        (found,) = [f for f in self.document("audit")["findings"] if f["code"] == code]
        return found

    def amounts(self, name: str) -> dict[str, dict[str, int]]:
        held = self.rest.done("GET", f"/allocations/{uuid(name)}")["allocations"]
        return {provider: each["resources"] for provider, each in held.items()}

    def instance(self, name: str, **changes: Any) -> Any:
        return self.agent.instance(name, **{"flavor": FLAVOR_B, "flavor_id": 2, "updated_at": AN_HOUR_AGO} | changes)

    def cell(self, *instances: Any, migrations: Any = ()) -> None:
        engine = self.agent.make_cell(*instances)
        # Two minutes old: alive by service_down_time, and no heartbeat that proves the age of the rows.
        seen = datetime.datetime.now(datetime.UTC).replace(tzinfo=None) - datetime.timedelta(minutes=2)
        with engine.begin() as connection:
            cell.add_service(connection, self.agent.name, service(last_seen_up=seen))
            for each in migrations:
                cell.add_migration(connection, each)
        engine.dispose()


@pytest.fixture
def host(tmp_path: Path, placement: Rest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Beside]:
    """A companion whose guard nova-started is off: a minute of waiting proves nothing here (tests/unit/guards)."""
    monkeypatch.setattr(nova_started, "START_S", 0)
    guest = domain_xml("i1", domain_uuid=uuid("i1"), vcpus=FLAVOR_B.vcpus, memory_mib=FLAVOR_B.memory_mib)
    (tmp_path / "node.xml").write_text(node_xml(cpus=8, memory_mib=4096, domains=[guest]))
    options: dict[str, dict[str, object]] = {
        "agent": {"role": "companion"},
        "heal": {"min_age": 0, "max_percent": 100},
        "DEFAULT": {"update_resources_interval": -1, "service_down_time": 3600},
    }
    made = host_on(tmp_path, placement.server.url, options=options)
    made.configure()
    other = placement.make_provider()
    placement.make_provider(made.name, uuid=made.provider_uuid)
    for provider in (other, made.provider_uuid):
        placement.set_inventories(
            provider, {"VCPU": {"total": 64}, "MEMORY_MB": {"total": 65536}, "DISK_GB": {"total": 1000}}
        )
    placement.set_traits(made.provider_uuid, "OWNER_NOVA", "COMPUTE_NODE")
    yield Beside(agent=made, rest=placement, other=other)
    for name in ("i1", "gone", "away"):
        if placement.done("GET", f"/allocations/{uuid(name)}")["allocations"]:
            placement.release(uuid(name))


def test_heal_removes_leaked_allocations_beside_nova_compute(host):
    """Beside nova-compute, heal removes the allocations that a deleted and a moved instance left on this host."""
    here = host.agent.provider_uuid
    host.rest.allocate({here: OF_B}, uuid("gone"))
    host.rest.allocate({here: OF_B, host.other: OF_B}, uuid("away"))
    host.rest.allocate({here: OF_B}, uuid("i1"))
    host.cell(
        host.instance("i1"),
        host.instance("gone", deleted=True, vm_state="deleted"),
        host.instance("away", host="cmp2", node="cmp2"),
    )
    assert [result["result"] for result in host.healed()["results"]] == ["done", "done"]
    assert host.amounts("gone") == {}
    assert host.amounts("away") == {host.other: OF_B}
    assert host.amounts("i1") == {here: OF_B}


def test_heal_adds_a_missing_allocation_beside_nova_compute(host):
    """Beside nova-compute, heal creates an instance's missing allocation, and `stocktake undo` removes it again."""
    host.cell(host.instance("i1"))
    host.healed()
    assert host.amounts("i1") == {host.agent.provider_uuid: OF_B}
    (entry,) = host.document("journal")
    host.document("undo", entry["id"])
    assert host.amounts("i1") == {}


def test_heal_restores_flavor_amounts_and_keeps_bandwidth(host):
    """`stocktake heal --finding` resets an allocation to the flavor's amounts and keeps the bandwidth of the ports."""
    here = host.agent.provider_uuid
    child = host.rest.make_provider(parent=here)
    host.rest.set_inventories(child, {"NET_BW_EGR_KILOBIT_PER_SEC": {"total": 1000}})
    bandwidth = {"NET_BW_EGR_KILOBIT_PER_SEC": 100}
    host.rest.allocate({here: OF_B | {"VCPU": 7}, child: bandwidth}, uuid("i1"))
    host.cell(host.instance("i1"))
    assert host.document("heal")["actions"] == []
    host.healed("--finding", host.finding("allocation-differs")["id"])
    assert host.amounts("i1") == {here: OF_B, child: bandwidth}


def test_heal_refuses_if_nova_may_be_changing_the_instance(host):
    """Nova's database shows no update time for an instance; nova may still be changing it, so heal refuses."""
    host.rest.allocate({host.agent.provider_uuid: OF_B, host.other: OF_B}, uuid("away"))
    host.cell(host.instance("away", host="cmp2", node="cmp2", updated_at=None))
    refusals = host.document("heal")["refusals"]
    assert {refusal["guard"] for refusal in refusals if refusal["consumer_uuid"] == uuid("away")} == {"nova-at-work"}


def test_heal_refuses_if_a_migration_may_be_unfinished(host):
    """Nova's database shows no update time for a migration; nova may still be at work on it, so heal refuses."""
    host.rest.allocate({host.agent.provider_uuid: OF_B, host.other: OF_B}, uuid("away"))
    elsewhere = migration(7, "away", status="completed", source_host="cmp3", dest_host="cmp2", updated_at=None)
    host.cell(
        host.instance("away", host="cmp2", node="cmp2"),
        migrations=(dataclasses.replace(elsewhere, created_at=None),),
    )
    refusals = host.document("heal")["refusals"]
    (why,) = {refusal["why"] for refusal in refusals if refusal["guard"] == "nova-at-work"}
    assert elsewhere.uuid in why


def test_heal_gives_nova_compute_time_to_remove_a_leak(host):
    """Heal refuses to remove a leaked allocation until nova-compute has had three of its own audits to do so."""
    host.agent.configure({"DEFAULT": {"update_resources_interval": 60}})
    host.rest.allocate({host.agent.provider_uuid: OF_B}, uuid("gone"))
    host.cell(host.instance("gone", deleted=True, vm_state="deleted"))
    (refusal,) = host.document("heal")["refusals"]
    assert refusal["guard"] == "after-nova"
    assert "nova-compute may repair this itself within 180 s (three of its audits)" in refusal["why"]


def test_a_rewritten_allocation_must_be_confirmed_again(host):
    """If nova rewrites a leaked allocation, the agent must confirm the leak again before heal removes it."""
    here, consumer = host.agent.provider_uuid, uuid("gone")
    host.rest.allocate({here: OF_B}, consumer)
    host.cell(host.instance("gone", deleted=True, vm_state="deleted"))
    host.document("heal")
    (before,) = sightings(host)
    host.rest.allocate({here: OF_B}, consumer)
    host.agent.configure({"agent": {"confirm_spacing": 3600}})
    host.run("audit", "--publish")
    (after,) = sightings(host)
    assert (before["times"], after["times"]) == (3, 1)
    assert after["stands_since"] > before["stands_since"]


def sightings(host: Beside) -> list[Any]:
    rows: list[Any] = json.loads((host.agent.folder / "state" / "findings.json").read_text())["sightings"]
    return [row for row in rows if row["code"] == "allocation-leaked"]


@pytest.mark.parametrize("role", ["observer", "companion", "owner"])
def test_an_observer_suggests_no_heal_command(host, role):
    """In role observer, the agent repairs nothing, so its findings do not suggest `stocktake heal`."""
    host.rest.allocate({host.agent.provider_uuid: OF_B, host.other: OF_B}, uuid("away"))
    host.cell(host.instance("away", host="cmp2", node="cmp2"))
    host.agent.configure({"agent": {"role": role}})
    remedy = host.finding("consumer-on-several-providers")["remedy"]
    assert ("stocktake heal --finding" in remedy) == (role != "observer")
    assert f"allocation unset --provider {host.agent.provider_uuid} {uuid('away')}" in remedy


def test_heal_corrects_the_project_of_a_nova_allocation(host):
    """Heal sets an allocation's project to the instance's project in nova's database. Nova-compute also runs here."""
    host.rest.allocate({host.agent.provider_uuid: OF_B}, uuid("i1"))
    host.cell(host.instance("i1", project_id="another"))
    host.healed()
    assert host.rest.done("GET", f"/allocations/{uuid('i1')}")["project_id"] == "another" != PROJECT
