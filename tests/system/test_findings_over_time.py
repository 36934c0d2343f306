"""Findings of a running daemon while Placement is killed, hangs or refuses, and over restarts of the daemon itself.

One daemon and one Placement of its own: the test kills that Placement. A gateway between the two makes the other
faults.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent.demo import cell
from tests.rigs import placement as placements
from tests.rigs.domains import node_xml
from tests.rigs.facts import uuid
from tests.rigs.gateway import Answer, Asked, Dropped, Gateway, gateway
from tests.rigs.host import PATIENCE_S, STOP_S, AgentHost, Daemon, Options, host_on
from tests.rigs.outages import Watcher, metrics_address
from tests.rigs.placement import Rest, new_uuid
from tests.rigs.wait import until

pytestmark = pytest.mark.slow

LEAKS = 5
LONG_AGO = datetime.datetime(2026, 1, 1)  # noqa: DTZ001 - the database's times are naive UTC
#: A hung Placement costs each audit this many seconds.
TIMEOUT_S = 1


@dataclass
class Stage:
    """A daemon with its host, its own Placement and the gateway between them."""

    folder: Path
    between: Gateway
    host: AgentHost
    rest: Rest
    daemon: Daemon
    metrics: str
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)
    _hang: threading.Event = field(default_factory=threading.Event)

    def findings(self) -> dict[str, dict[str, Any]]:
        """Return the findings of one more audit that the first audits saw, by id."""
        return self.known(self.daemon.audit_now())

    def known(self, report: dict[str, Any]) -> dict[str, dict[str, Any]]:
        found = {finding["id"]: finding for finding in report["audit"]["findings"]}
        return {finding_id: found[finding_id] for finding_id in self.seen or found if finding_id in found}

    def lose(self, fault: str) -> None:
        """Make Placement fail from now on."""
        self._hang.clear()
        match fault:
            case "killed":
                self.rest.server.stop()
            case "hung":
                self.between.before = self._hung
            case _:
                answer = Answer(status=int(fault), body=b'{"errors": [{"detail": "not now"}]}')
                self.between.before = lambda _asked: answer

    def bring_back(self, fault: str) -> None:
        """Let Placement answer again."""
        self._hang.set()
        self.between.clear()
        if fault == "killed":
            # The same database, on another port.
            self.rest.close()
            self.rest = Rest(placements._started(self.folder, None))
            self.between.target = self.between.target._replace(netloc=self.rest.server.url.partition("://")[2])

    def _hung(self, _asked: Asked) -> Answer | None:
        self._hang.wait(PATIENCE_S)
        raise Dropped


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A daemon that has confirmed five leaked allocations."""
    folder = tmp_path_factory.mktemp("findings-over-time")
    with contextlib.ExitStack() as stack:
        rest = Rest(placements._started(folder / "placement", None))
        between = stack.enter_context(gateway(rest.server.url))
        metrics = metrics_address()
        host = made_host(folder, between.url, {"metrics": {"uri": metrics}})
        with host.make_cell().begin() as connection:
            for number in range(LEAKS):
                cell.add_instance(connection, host.instance(f"gone-{number}", deleted=True, deleted_at=LONG_AGO))
        rest.make_provider(host.name, uuid=host.provider_uuid)
        daemon = stack.enter_context(host.daemon())
        made = Stage(folder=folder / "placement", between=between, host=host, rest=rest, daemon=daemon, metrics=metrics)
        daemon.settled()
        for number in range(LEAKS):
            rest.allocate({host.provider_uuid: {"VCPU": 1}}, uuid(f"gone-{number}"))

        def confirmed() -> bool:
            made.seen = {f["id"]: f for f in made.findings().values() if f["state"] == "confirmed"}
            return len(made.seen) == LEAKS

        until(confirmed, PATIENCE_S, "five confirmed findings")
        yield made
        made.rest.close()
        made.rest.server.stop()


def made_host(folder: Path, url: str, more: Options | None = None) -> AgentHost:
    (folder / "node.xml").write_text(node_xml(cpus=64, memory_mib=4096))
    host = host_on(folder, url, options={"DEFAULT": {"update_resources_interval": -1, "use_json": True}})
    # A finding about a volume or a folder would be another finding: only the leaks are this test's.
    host.configure(
        {"placement": {"timeout": TIMEOUT_S, "connect_retries": 0, "status_code_retries": 0}, **(more or {})}
    )
    return host


@pytest.mark.parametrize("fault", ["killed", "hung", "503", "401"])
def test_findings_are_unknown_while_placement_fails(stage, fault):
    """The daemon keeps its findings with state unknown while Placement fails, and confirms them again afterwards."""
    watcher = Watcher(stage.host, {id_: f["code"] for id_, f in stage.seen.items()}, stage.metrics)
    try:
        stage.lose(fault)
        try:
            for _ in range(2):
                assert_unknown(stage, denied=fault == "401")
        finally:
            stage.bring_back(fault)
        until(lambda: all(f["state"] == "confirmed" for f in stage.findings().values()), PATIENCE_S, "known again")
        back = stage.findings()
    finally:
        fewest = watcher.stop()
    assert fewest == (LEAKS, LEAKS), "a report or a scrape of the metrics had fewer findings"
    assert {f["id"]: f["first_seen_at"] for f in back.values()} == {
        f["id"]: f["first_seen_at"] for f in stage.seen.values()
    }
    mine = [r["message"] for r in stage.daemon.records() if r["extra"].get("finding_id") in stage.seen]
    assert sorted(mine) == ["finding appeared"] * LEAKS + ["finding confirmed"] * LEAKS


def assert_unknown(stage: Stage, *, denied: bool) -> None:
    report = stage.daemon.audit_now()
    found = stage.known(report)
    assert report["audit"]["outcome"] == "partial"
    assert found.keys() == stage.seen.keys()
    for finding_id, finding in found.items():
        before = stage.seen[finding_id]
        assert (finding["state"], finding["unknown_because"]) == ("unknown", ["placement"])
        assert (finding["confirmed"], finding["sightings"]) == (True, 0)
        same = ("severity", "actual", "expected", "evidence", "first_seen_at", "remedies", "headline")
        assert {name: finding[name] for name in same} == {name: before[name] for name in same}
        assert finding["last_seen_at"] >= before["last_seen_at"]
    assert report["audit"]["findings_unknown"] == LEAKS
    (lost,) = [f for f in report["audit"]["findings"] if f["code"] == "source-unavailable"]
    assert (lost["subject"], lost["severity"]) == ("placement", "error" if denied else "warning")
    assert report["audit"]["placement"]["tried"] > 0
    for command in (("status", "-f", "json"), ("findings", "-f", "json")):
        ended = stage.host.stocktake(*command)
        listed = ended.document["findings"] if command[0] == "status" else ended.document
        assert stage.seen.keys() <= {row["id"] for row in listed}, command
        assert ended.code == 2


# Restarts: what a new process knows before it has checked anything.

CONSUMERS = 25
READ_AT_ONCE = 20


@pytest.fixture
def spread(tmp_path: Path, placement: Rest) -> AgentHost:
    """A host with 25 consumers of no instance, which have allocations here and on another provider."""
    host = made_host(tmp_path, placement.server.url)
    host.make_cell().dispose()
    other = placement.make_provider()
    placement.set_inventories(other, {"VCPU": {"total": 100}})
    placement.make_provider(host.name, uuid=host.provider_uuid)
    placement.set_inventories(host.provider_uuid, {"VCPU": {"total": 64, "allocation_ratio": 4.0}})
    for _ in range(CONSUMERS):
        placement.allocate({host.provider_uuid: {"VCPU": 1}, other: {"VCPU": 1}}, new_uuid())
    return host


def states(report: dict[str, Any], of: str = "consumer-on-several-providers") -> list[str]:
    return sorted(f["state"] for f in report["audit"]["findings"] if f["code"] == of)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_restarted_daemon_does_not_log_old_findings_as_new(spread, end):
    with spread.daemon() as daemon:
        daemon.settled()
        until(lambda: states(daemon.audit_now()) == ["confirmed"] * CONSUMERS, PATIENCE_S, "25 confirmed findings")
        before = known(spread.report())
        daemon.send(end)
        daemon.ended(STOP_S)
    with spread.daemon() as daemon:
        first = daemon.first_audit()
        assert first["audit"]["outcome"] == "findings"
        assert first["audit"]["first"] is True
        assert states(first) == ["confirmed"] * READ_AT_ONCE + ["unknown"] * (CONSUMERS - READ_AT_ONCE)
        assert known(first).keys() == before.keys()
        second = daemon.audit_now()
        assert states(second) == ["confirmed"] * CONSUMERS
        assert known(second) == before
        assert reported(daemon) == []
    sightings = {f["sightings"] for f in second["audit"]["findings"] if f["id"] in before}
    assert sightings <= {1, 2}


def known(report: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    """Return when each finding was first seen, and whether it is confirmed, by id."""
    return {f["id"]: (f["first_seen_at"], f["confirmed"]) for f in report["audit"]["findings"]}


def reported(daemon: Daemon) -> list[str]:
    events = {"finding appeared", "finding changed", "finding confirmed", "finding gone"}
    return [record["message"] for record in daemon.records() if record["message"] in events]


def test_a_restarted_daemon_keeps_findings_without_placement(spread):
    """The daemon restarts while Placement is down; the report still lists the old findings, with state unknown."""
    with spread.daemon() as daemon:
        daemon.settled()
        until(lambda: states(daemon.audit_now()) == ["confirmed"] * CONSUMERS, PATIENCE_S, "25 confirmed findings")
        before = known(spread.report())
    # The daemon was killed. Now Placement does not listen.
    spread.configure({"placement": {"endpoint_override": "http://127.0.0.1:9"}})
    with spread.daemon() as daemon:
        report = daemon.first_audit()
        assert report["audit"]["outcome"] == "partial"
        assert states(report) == ["unknown"] * CONSUMERS
        assert known(report).items() >= before.items()
        assert reported(daemon) == ["finding appeared"], "only the loss of Placement is new"
        file = json.loads((spread.folder / "state" / "findings.json").read_text())
        assert {row["id"] for row in file["sightings"]} >= before.keys()
