"""A day without Placement, compressed: a real daemon audits each second while its Placement is killed.

The suite runs a short day. STOCKTAKE_OUTAGE_AUDITS=300 sets the number of audits without Placement.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent.demo import cell
from tests.rigs import placement as placements
from tests.rigs.domains import node_xml
from tests.rigs.facts import uuid
from tests.rigs.gateway import Gateway, gateway
from tests.rigs.host import PATIENCE_S, STOP_S, AgentHost, host_on
from tests.rigs.outages import Watcher, by_id, metrics_address
from tests.rigs.placement import Rest
from tests.rigs.wait import until

pytestmark = pytest.mark.slow

AUDITS = int(os.environ.get("STOCKTAKE_OUTAGE_AUDITS", "3"))
RESTARTS = (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM)
LEAKS = 5
LONG_AGO = datetime.datetime(2026, 1, 1)  # noqa: DTZ001 - the database's times are naive UTC
# What an outage may add to the log of a day.
MOST_LINES, MOST_WARNINGS, MOST_BYTES = 25, 20, 40 * 1024
LIBRARIES = ("keystoneauth", "urllib3", "requests", "oslo", "stevedore")
LAST = (("status", "-f", "json"), ("audit", "--last", "-f", "json"), ("findings", "--last", "-f", "json"))
OWN_AUDIT = ("findings", "-f", "json")
# An outage of 300 audits asks the commands after each 30th audit.
ASKED_EVERY = 30


@dataclass
class Day:
    """The host with its daemons, its own Placement, and the findings that were confirmed before the outage."""

    folder: Path
    host: AgentHost
    between: Gateway
    rest: Rest
    metrics: str
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)

    def bring_back(self) -> None:
        """Start Placement again with the same database, on another port."""
        self.rest.close()
        self.rest = Rest(placements._started(self.folder / "placement", None))
        self.between.target = self.between.target._replace(netloc=self.rest.server.url.partition("://")[2])


@pytest.fixture
def day(tmp_path: Path) -> Iterator[Day]:
    """A host with five leaked allocations, and with an instance that has no guest."""
    (tmp_path / "node.xml").write_text(node_xml(cpus=64, memory_mib=4096))
    with contextlib.ExitStack() as stack:
        rest = Rest(placements._started(tmp_path / "placement", None))
        between, metrics = stack.enter_context(gateway(rest.server.url)), metrics_address()
        host = host_on(tmp_path, between.url, options={"DEFAULT": {"update_resources_interval": 1}})
        host.configure({"metrics": {"uri": metrics}})
        with host.make_cell(host.instance("absent")).begin() as connection:
            for number in range(LEAKS):
                cell.add_instance(connection, host.instance(f"gone-{number}", deleted=True, deleted_at=LONG_AGO))
        rest.make_provider(host.name, uuid=host.provider_uuid)
        rest.set_inventories(host.provider_uuid, {"VCPU": {"total": 64}})
        for number in range(LEAKS):
            rest.allocate({host.provider_uuid: {"VCPU": 1}}, uuid(f"gone-{number}"))
        made = Day(folder=tmp_path, host=host, between=between, rest=rest, metrics=metrics)
        yield made
        made.rest.close()
        made.rest.server.stop()


def test_an_outage_of_placement_hides_no_finding(day, record_property):
    """Placement is down during several audits and restarts; the report and commands still list each finding."""
    with contextlib.ExitStack() as running:
        daemon = running.enter_context(day.host.daemon())
        until(lambda: all_confirmed(day), PATIENCE_S, "confirmed findings")
        watcher = Watcher(day.host, {id_: f["code"] for id_, f in day.seen.items()}, day.metrics)
        try:
            day.rest.server.stop()
            before = daemon.text()
            for number in range(AUDITS):
                assert_reported(day, daemon.audit_after(day.host.report()))
                if number % ASKED_EVERY == 0:
                    assert_listed(day, *LAST, OWN_AUDIT)
            added = daemon.text()[len(before) :].splitlines()
            for end in RESTARTS:
                daemon.send(end)
                daemon.ended(STOP_S)
                daemon = running.enter_context(day.host.daemon())
                report = daemon.first_audit()
                assert_reported(day, report)
                assert report["audit"]["first"] is True
                assert_listed(day, LAST[0])
            day.bring_back()
            until(lambda: all_confirmed(day), PATIENCE_S, "all findings are known again")
        finally:
            fewest = watcher.stop()
    assert fewest == (len(day.seen), len(day.seen)), "a report or a scrape of the metrics had fewer findings"
    assert watcher.outcomes <= {"partial", "findings"}
    figures = volume(added)
    record_property("volume", figures)
    print(
        f"{AUDITS} audits without Placement: {figures['lines']} lines, {figures['warnings']} of them WARNING or ERROR,"
    )
    print(f"{figures['bytes']} bytes")
    assert figures["lines"] <= MOST_LINES
    assert figures["warnings"] <= MOST_WARNINGS
    assert figures["bytes"] <= MOST_BYTES
    assert [line for line in added if re.search(rf" ({'|'.join(LIBRARIES)})[.\w]* \[", line)] == []


def all_confirmed(day: Day) -> bool:
    """Return whether the last audit read everything and each finding is confirmed; note the findings once."""
    report = day.host.report()
    found = {id_: f for id_, f in by_id(report).items() if f["code"] != "source-unavailable"} if report else {}
    is_done = len(found) > LEAKS and report["audit"]["outcome"] == "findings"
    if not is_done or any(finding["state"] != "confirmed" for finding in found.values()):
        return False
    day.seen = day.seen or found
    assert since(found) == since(day.seen)
    return True


def since(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {id_: finding["first_seen_at"] for id_, finding in found.items()}


def assert_reported(day: Day, report: dict[str, Any]) -> None:
    """Check that the report has all findings, with the times that they had before the outage."""
    found = by_id(report)
    assert {id_: found[id_]["first_seen_at"] for id_ in day.seen} == since(day.seen)
    assert {found[id_]["confirmed"] for id_ in day.seen} == {True}
    assert report["audit"]["outcome"] == "partial"


def assert_listed(day: Day, *commands: tuple[str, ...]) -> None:
    """Check that each command lists all findings, and that its exit code says that a source is unread."""
    for command in commands:
        ended = day.host.stocktake(*command)
        listed = ended.document["findings"] if command[0] in ("status", "audit") else ended.document
        assert day.seen.keys() <= {row["id"] for row in listed}, command
        assert ended.code == 2, command


def volume(added: list[str]) -> dict[str, int]:
    return {
        "lines": len(added),
        "warnings": sum(bool(re.search(r" (WARNING|ERROR|CRITICAL) ", line)) for line in added),
        "bytes": sum(len(line.encode()) + 1 for line in added),
    }
