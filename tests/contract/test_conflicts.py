"""Generation conflicts in a whole audit: the agent reads and decides again, and never sends a stale write twice.

The foreign writer's requests are real. The test only arranges their moment, the worst one: just before the agent's PUT
reaches the server (tests/rigs/faults.py, ``Meanwhile``).
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from agent.audit.run import run_audit
from agent.cmd.wiring import Wired, wire
from agent.config.build import settings_from
from agent.config.load import load
from agent.config.loaded import Loaded
from agent.model.audit import PERIODIC, AuditMemory, AuditRequest
from agent.model.report import AuditReport, Outcome
from agent.model.settings import Role
from agent.placement.http.access import client_from_conf
from agent.placement.reader import TreeReader
from agent.placement.writer import TreeWriter
from tests.rigs import placement as placements
from tests.rigs.faults import Answer, Meanwhile, Refuse, ScriptedAdapter
from tests.rigs.host import AgentHost, empty_host
from tests.rigs.placement import Rest


@pytest.fixture
def host(tmp_path: Path, placement: Rest) -> AgentHost:
    return empty_host(tmp_path, placement)


def failing_put(request):
    """Answer the agent's PUT of the inventory with 503."""
    is_put = request.method == "PUT" and str(request.url).endswith("/inventories")
    return Answer(503, b"busy") if is_put else None


class WaitingClock:
    """A clock whose seconds advance only by waits; it records the waits, which take no time.

    The time of day is the process's own.
    """

    def __init__(self, real) -> None:
        self.now = real.now
        self.waits: list[float] = []

    def boot(self) -> str:
        return "one"

    def monotonic(self) -> float:
        return 1000.0 + sum(self.waits)

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)


class ForeignWriter:
    """Another client that adds 1 to its own class before each of the agent's first ``times`` PUTs of the inventory."""

    def __init__(self, placement: Rest, root: str, times: int) -> None:
        self.placement, self.root, self.times, self.value = placement, root, times, 0

    def script(self, request):
        if request.method == "PUT" and str(request.url).endswith("/inventories") and self.value < self.times:
            return Meanwhile(self.write)
        return None

    def write(self) -> None:
        self.value += 1
        self.placement.done("PUT", "/resource_classes/CUSTOM_FOREIGN")
        rest = self.placement.inventories(self.root) | {"CUSTOM_FOREIGN": {"total": self.value}}
        self.placement.set_inventories(self.root, rest)


def audited(host: AgentHost, writer: ForeignWriter) -> tuple[AuditReport, WaitingClock]:
    loaded: Loaded = load([str(host.config_file)])
    wired: Wired
    with wire(loaded) as wired:
        client = client_from_conf(loaded.conf, transport=ScriptedAdapter(writer.script))
        clock = WaitingClock(wired.parts.clock)
        parts = dataclasses.replace(
            wired.parts, reader=TreeReader(client), reporter=TreeWriter(client), clock=clock, random=lambda: 0.5
        )
        request = AuditRequest(reasons=("test",))
        return run_audit(request, settings_from(loaded), parts, AuditMemory(), lambda: False).report, clock


def test_s140_a_retry_keeps_a_class_of_another_client(placement, host):
    """Another client adds a resource class just before the agent's write. The agent reads again and keeps the class."""
    report, clock = audited(host, ForeignWriter(placement, host.provider_uuid, times=1))
    assert (report.attempts, report.conflicts, report.outcome) == (2, 1, Outcome.CLEAN)
    assert report.conflict_kinds == (("provider-generation", 1),)
    assert len(clock.waits) == 1
    there = placement.inventories(host.provider_uuid)
    assert {name: there[name]["total"] for name in ("VCPU", "MEMORY_MB", "CUSTOM_FOREIGN")} == {
        "VCPU": 8,
        "MEMORY_MB": 4096,
        "CUSTOM_FOREIGN": 1,
    }


def test_s141_an_audit_gives_up_after_four_conflicts(placement, host):
    """Another client changes the provider before each of the agent's four writes; the audit's outcome is partial."""
    writer = ForeignWriter(placement, host.provider_uuid, times=100)
    report, clock = audited(host, writer)
    assert (report.attempts, report.conflicts, report.outcome) == (4, 4, Outcome.PARTIAL)
    assert report.conflict_kinds == (("provider-generation", 4),)
    assert writer.value == 4
    assert len(clock.waits) == 3
    # Each wait is half (the test's random draw) of a cap that grows with each round (agent/timing/backoff.py).
    assert clock.waits == [pytest.approx(0.5 * cap) for cap in (0.05, 0.2, 0.8)]
    assert report.error is not None
    assert "generation" in report.error
    # Placement has none of the agent's classes, and the foreign class is not lost.
    assert placement.inventories(host.provider_uuid).keys() == {"CUSTOM_FOREIGN"}
    assert [row.wanted.total for row in report.inventory if row.wanted and row.wanted.resource_class == "VCPU"] == [8]


def test_a_periodic_audit_waits_before_its_write_after_conflicts(placement, host):
    """After write conflicts with another client, the next periodic audit waits before it writes to Placement."""
    loaded, request = load([str(host.config_file)]), AuditRequest(reasons=(PERIODIC,))
    writer = ForeignWriter(placement, host.provider_uuid, times=2)
    with wire(loaded) as wired:
        client, clock = (
            client_from_conf(loaded.conf, transport=ScriptedAdapter(writer.script)),
            WaitingClock(wired.parts.clock),
        )
        parts = dataclasses.replace(
            wired.parts, reader=TreeReader(client), reporter=TreeWriter(client), clock=clock, random=lambda: 0.5
        )
        memory = run_audit(request, settings_from(loaded), parts, AuditMemory(), lambda: False).memory
        assert len(clock.waits) == 2
        assert memory.hold_s == pytest.approx(sum(clock.waits)), "as late as the round that went well"
        quiet = run_audit(request, settings_from(loaded), parts, memory, lambda: False)
        assert len(clock.waits) == 2, "nothing to write, nothing to wait for"
        placement.set_inventories(host.provider_uuid, {"VCPU": {"total": 99}})
        an_event = AuditRequest(reasons=("libvirt",))
        run_audit(an_event, settings_from(loaded), parts, quiet.memory, lambda: False)
        assert len(clock.waits) == 2, "an event's audit comes at no fixed time"
        assert placement.inventories(host.provider_uuid)["VCPU"]["total"] == 8
        placement.set_inventories(host.provider_uuid, {"VCPU": {"total": 99}})
        mended = run_audit(request, settings_from(loaded), parts, quiet.memory, lambda: False)
    assert clock.waits[2:] == [memory.hold_s]
    assert (mended.report.outcome, mended.report.conflicts) == (Outcome.CLEAN, 0)
    assert placement.inventories(host.provider_uuid)["VCPU"]["total"] == 8


def test_a_failed_correction_is_not_blamed_on_another_client(placement, host):
    """Placement answers the agent's correction of an inventory with 503, and the agent reports no other client."""
    loaded = load([str(host.config_file)])
    chosen, request = settings_from(loaded), AuditRequest(reasons=("test",))
    with wire(loaded) as wired:
        memory = run_audit(request, chosen, wired.parts, AuditMemory(), lambda: False).memory
        placement.set_inventories(host.provider_uuid, {"VCPU": {"total": 99}})
        client = client_from_conf(loaded.conf, transport=ScriptedAdapter(failing_put))
        broken = dataclasses.replace(wired.parts, reporter=TreeWriter(client))
        for _ in range(3):
            result = run_audit(request, chosen, broken, memory, lambda: False)
            memory = result.memory
            assert result.report.outcome is Outcome.PARTIAL
        mended = run_audit(request, chosen, wired.parts, memory, lambda: False)
    assert mended.report.outcome is Outcome.CLEAN
    assert placement.inventories(host.provider_uuid)["VCPU"]["total"] == 8


def test_s153_audits_are_partial_while_placement_is_down(placement, host):
    """Placement refuses all connections, so each audit of the agent has the outcome partial."""
    loaded, request = load([str(host.config_file)]), AuditRequest(reasons=("test",))
    refused = ScriptedAdapter(lambda _request: Refuse())
    with wire(loaded) as wired:
        client = client_from_conf(loaded.conf, transport=refused)
        parts = dataclasses.replace(wired.parts, reader=TreeReader(client), reporter=TreeWriter(client))
        memory = AuditMemory()
        for _ in range(3):
            result = run_audit(request, settings_from(loaded), parts, memory, lambda: False)
            memory = result.memory
            assert result.report.outcome is Outcome.PARTIAL
            assert [s.name for s in result.report.sources if not s.ok] == ["placement"]
        refused.script = lambda _request: None
        assert run_audit(request, settings_from(loaded), parts, memory, lambda: False).report.outcome is Outcome.CLEAN
    assert placement.inventories(host.provider_uuid)["VCPU"]["total"] == 8


def test_an_observer_does_not_report_writes_of_other_clients(placement, host):
    """Another client changes the inventory three times. An agent in role observer only reads and reports nothing."""
    loaded = load([str(host.config_file)])
    owner, request = settings_from(loaded), AuditRequest(reasons=("test",))
    observer = dataclasses.replace(owner, role=Role.OBSERVER)
    with wire(loaded) as wired:
        memory = run_audit(request, owner, wired.parts, AuditMemory(), lambda: False).memory
        for total in (90, 91, 92):
            placement.set_inventories(host.provider_uuid, {"VCPU": {"total": total}})
            result = run_audit(request, observer, wired.parts, memory, lambda: False)
            memory = result.memory
            assert [s.finding.code for s in result.report.findings] == []
        assert run_audit(request, owner, wired.parts, memory, lambda: False).report.outcome is Outcome.CLEAN
    assert placement.inventories(host.provider_uuid)["VCPU"]["total"] == 8


def test_the_temporary_uuid_of_an_observer_is_never_written(placement, host):
    """An agent in role observer uses a temporary provider uuid, which it never writes to Placement."""
    host.provider_uuid = ""
    (host.folder / "compute_id").unlink()
    host.configure(
        {"state": {"source": "none", "connection": None}, "DEFAULT": {"host": f"new-{placements.new_uuid()}"}}
    )
    loaded = load([str(host.config_file)])
    owner, request = settings_from(loaded), AuditRequest(reasons=("test",))
    with wire(loaded) as wired:
        dry = run_audit(
            request, dataclasses.replace(owner, role=Role.OBSERVER), wired.parts, AuditMemory(), lambda: False
        )
        assert not (host.folder / "state" / "compute_id").exists()
        wet = run_audit(request, owner, wired.parts, dry.memory, lambda: False)
    written = (host.folder / "state" / "compute_id").read_text().strip()
    assert wet.report.provider_uuid == written != dry.report.provider_uuid
    assert placement.inventories(written)["VCPU"]["total"] == 8
    assert placement.request("GET", f"/resource_providers/{dry.report.provider_uuid}").status_code == 404
