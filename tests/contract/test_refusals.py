"""Writes that a real Placement rejects permanently, in whole audits: the agent sends the rest, and reports a finding.

The facts of the host's hardware (AMD SEV) are written by hand; everything else is real.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.audit.parts import Parts
from agent.audit.run import run_audit
from agent.cmd.wiring import wire
from agent.config.build import settings_from
from agent.config.load import load
from agent.model.audit import AuditMemory, AuditRequest
from agent.model.finding import SeenFinding, Severity
from agent.model.host.facts import HostFacts
from agent.model.report import AuditReport, Outcome
from agent.model.settings import Settings
from agent.ports import Deadline
from tests.rigs.host import AgentHost, host_on
from tests.rigs.nested import SEV, encrypting, machine, x86
from tests.rigs.placement import Rest, running
from tests.rigs.releases import chosen

SEV_CHILD, ES_CHILD = "amd_sev", "amd_sev_es"


@dataclass(frozen=True)
class FixedHost:
    """A host source that always returns the same facts."""

    facts: HostFacts
    name: str = "libvirt"

    def read(self, deadline: Deadline) -> HostFacts:
        assert deadline.left_s() > 0
        return self.facts

    def forget(self) -> None:
        """Do nothing: this source caches nothing."""


@dataclass
class Auditor:
    """Audits of one host, each with the memory of the audit before it."""

    host: AgentHost
    placement: Rest
    parts: Parts
    settings: Settings
    memory: AuditMemory = field(default_factory=AuditMemory)

    def audit(self) -> AuditReport:
        result = run_audit(
            AuditRequest(reasons=("test",)), self.settings, self.parts, self.memory, cancelled=lambda: False
        )
        self.memory = result.memory
        return result.report

    def child(self, name: str) -> str:
        return f"{self.host.name}_{name}"

    @property
    def tree(self) -> dict[str, str]:
        path = f"/resource_providers?in_tree={self.host.provider_uuid}"
        return {p["name"]: p["uuid"] for p in self.placement.done("GET", path)["resource_providers"]}


@contextlib.contextmanager
def auditing(folder: Path, placement: Rest) -> Iterator[Auditor]:
    (folder / "node.xml").write_text("<node/>")
    host = host_on(folder, placement.server.url)
    host.configure()
    host.make_cell().dispose()
    loaded = load([str(host.config_file)])
    facts = dataclasses.replace(encrypting(x86(machine(sev=SEV)), sev="Y", sev_es="Y"), hostname=host.name)
    with wire(loaded) as wired:
        parts = dataclasses.replace(wired.parts, host=FixedHost(facts))
        yield Auditor(host, placement, parts, settings_from(loaded))


@pytest.fixture
def auditor(tmp_path: Path, placement: Rest) -> Iterator[Auditor]:
    with auditing(tmp_path, placement) as made:
        yield made


def told(report: AuditReport) -> list[SeenFinding]:
    return [seen for seen in report.findings if seen.finding.code == "write-refused"]


def of_the_child(report: AuditReport) -> list[SeenFinding]:
    """Return the findings about the child; an older Placement also refuses traits that it does not know."""
    return [seen for seen in told(report) if seen.finding.subject.startswith("the new provider")]


def test_a_child_name_conflict_is_reported_until_resolved(placement, auditor):
    """Another provider has a planned child provider's name; the agent reports that until the name is free."""
    stranger = placement.make_provider(auditor.child(SEV_CHILD))
    first = auditor.audit()
    assert (first.outcome, first.published) == (Outcome.PARTIAL, False)
    (seen,) = of_the_child(first)
    assert not seen.confirmed
    assert seen.finding.subject == f"the new provider {auditor.child(SEV_CHILD)}"
    assert "req-" in seen.finding.remedy
    # The agent wrote everything else.
    assert set(auditor.tree) == {auditor.host.name, auditor.child(ES_CHILD)}
    assert placement.inventories(auditor.tree[auditor.child(ES_CHILD)]).keys() == {"MEM_ENCRYPTION_CONTEXT"}
    assert "CUSTOM_OWNER_STOCKTAKE" in placement.traits(auditor.host.provider_uuid)

    second = auditor.audit()
    assert second.error == first.error  # equal, so the agent logs the error once
    (again,) = of_the_child(second)
    assert again.confirmed
    assert again.finding.remedy != seen.finding.remedy  # another request id, but the evidence is equal
    assert second.writes_done == 0

    placement.delete_provider(stranger)
    third = auditor.audit()
    assert of_the_child(third) == []
    assert third.published
    assert set(auditor.tree) == {auditor.host.name, auditor.child(SEV_CHILD), auditor.child(ES_CHILD)}
    assert of_the_child(auditor.audit()) == []


def test_a_rival_writer_is_reported_despite_a_refused_write(placement, auditor):
    """Another client overwrites the host's inventory.

    The agent reports this even if Placement refuses its own write.
    """
    placement.make_provider(auditor.child(SEV_CHILD))
    auditor.audit()
    root = auditor.host.provider_uuid
    for total in (90, 91):
        placement.set_inventories(root, {"VCPU": {"total": total}})
        report = auditor.audit()
    assert report.outcome is Outcome.REFUSED
    assert "rival-writer" in [seen.finding.code for seen in report.findings]


def test_traits_unknown_to_placement_are_not_sent_again(tmp_path):
    """An older Placement does not know two traits; the agent reports them and does not send them again."""
    with running(tmp_path / "old") as old, auditing(tmp_path, old) as auditor:
        lacking = {"COMPUTE_IMAGE_TYPE_QCOW2", "HW_CPU_X86_AMD_SEV_ES"}
        with contextlib.closing(sqlite3.connect(tmp_path / "old" / "placement.sqlite")) as database:
            database.executemany("DELETE FROM traits WHERE name = ?", [(name,) for name in lacking])
            database.commit()
        assert old.request("GET", "/traits/HW_CPU_X86_AMD_SEV_ES").status_code == 404

        first = auditor.audit()
        assert (first.error, first.published) == (None, True)
        (seen,) = told(first)
        assert seen.finding.severity is Severity.WARNING
        assert all(name in seen.finding.actual for name in lacking)
        root = auditor.host.provider_uuid
        assert {"CUSTOM_OWNER_STOCKTAKE", "COMPUTE_NODE", "COMPUTE_IMAGE_TYPE_RAW"} <= old.traits(root)
        assert set(auditor.tree) == {auditor.host.name, auditor.child(SEV_CHILD), auditor.child(ES_CHILD)}

        second = auditor.audit()  # reads what the first audit wrote
        with old.watched() as sent:
            assert auditor.audit().requests == 1
        assert sent == [f"GET /resource_providers?in_tree={root} 200"]
        (again,) = told(second)
        if chosen().knows_all_traits:
            assert auditor.memory.unknown_traits == lacking
        assert (again.confirmed, second.plan.writes) == (True, ())
        assert {held.why for held in second.plan.held_back} == {"this Placement does not know these traits"}

        auditor.memory = AuditMemory()  # a restart: the agent asks again
        assert told(auditor.audit())[0].finding.actual == again.finding.actual
