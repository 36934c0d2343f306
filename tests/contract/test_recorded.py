"""Before the agent confirms a finding that rests on *recorded*, *recorded* equals what Placement has at that moment.

The test runs random sequences of the cloud's own writes against a real Placement and a real cell database, with an
audit after each write. The law is not self-evident: neither a DELETE of allocations nor a PUT that drops the host's
provider raises the provider's generation.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
from pathlib import Path

import sqlalchemy
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agent.audit.run import run_audit
from agent.cmd.wiring import wire
from agent.config.build import settings_from
from agent.config.load import load
from agent.demo import cell
from agent.model.audit import AuditMemory, AuditRequest
from agent.model.report import AuditReport
from tests.rigs.domains import node_xml
from tests.rigs.facts import FLAVOR_A
from tests.rigs.host import host_on
from tests.rigs.placement import Rest

LATER = datetime.datetime(2026, 11, 21)  # noqa: DTZ001 - the database's times are naive UTC
HELD = {"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1}
WRITES = ("build", "delete", "delete-but-leak", "evacuate", "evacuate-but-leave", "clean-up", "nothing")
FULL_READ_EVERY = 4
numbers = itertools.count()


class Cloud:
    """The cloud of one example: the writes of nova, and an agent that keeps its memory between audits."""

    def __init__(self, folder: Path, placement: Rest) -> None:
        self.placement = placement
        self.other = placement.make_provider()
        placement.set_inventories(self.other, {name: {"total": 1000} for name in HELD})
        node = folder / "node.xml"
        node.write_text(node_xml(cpus=64, memory_mib=65536))
        self.host = host_on(folder, placement.server.url)
        self.host.configure({"placement": {"full_read_every": FULL_READ_EVERY}})
        self.engine: sqlalchemy.Engine = self.host.make_cell()
        self.loaded = load([str(self.host.config_file)])
        self.wired = wire(self.loaded)
        self.memory = AuditMemory()
        self.names: dict[str, str] = {}
        self.confirmed: frozenset[str] = frozenset()

    def close(self) -> None:
        self.wired.close()
        self.engine.dispose()

    def audit(self) -> AuditReport:
        request = AuditRequest(reasons=("test",))
        done = run_audit(request, settings_from(self.loaded), self.wired.parts, self.memory, lambda: False)
        self.memory = done.memory
        return done.report

    def truth(self) -> dict[tuple[str, str], int]:
        """Return (consumer, class) to amount, read from Placement itself."""
        answer = self.placement.done("GET", f"/resource_providers/{self.host.provider_uuid}/allocations")
        return {(c, name): n for c, held in answer["allocations"].items() for name, n in held["resources"].items()}

    def write(self, what: str, who: str) -> None:
        """Make one write of the cloud about the consumer that plays ``who`` now."""
        ours = self.host.provider_uuid
        if what == "build":
            self.names[who] = f"{who}-{next(numbers)}"
            with self.engine.begin() as connection:
                cell.add_instance(connection, self.host.instance(self.names[who], flavor=FLAVOR_A))
            self.placement.allocate({ours: HELD}, self.uuid(who))
        elif who in self.names:
            getattr(self, "_" + what.replace("-", "_"))(who)

    def uuid(self, who: str) -> str:
        return self.host.instance(self.names[who]).uuid

    def _delete(self, who: str) -> None:
        self._delete_but_leak(who)
        self.placement.request("DELETE", f"/allocations/{self.uuid(who)}")

    def _delete_but_leak(self, who: str) -> None:
        with self.engine.begin() as connection:
            cell.delete_instance(connection, self.uuid(who), LATER)

    def _evacuate(self, who: str) -> None:
        """Move the instance to another host, and set its allocation to the other provider alone."""
        self._move(who)
        self.placement.allocate({self.other: HELD}, self.uuid(who))

    def _evacuate_but_leave(self, who: str) -> None:
        self._move(who)
        self.placement.allocate({self.other: HELD, self.host.provider_uuid: HELD}, self.uuid(who))

    def _clean_up(self, who: str) -> None:
        self.placement.request("DELETE", f"/allocations/{self.uuid(who)}")

    def _move(self, who: str) -> None:
        with self.engine.begin() as connection:
            cell.set_columns(connection, "instances", {"uuid": self.uuid(who)}, host="cmp2", node="cmp2")

    def _nothing(self, who: str) -> None:
        """Change nothing: the next audit sees the same cloud."""


def recorded(report: AuditReport) -> dict[tuple[str, str], int]:
    rows = (row for row in report.ledger if row.recorded)
    return {(row.consumer_key, row.resource_class): row.recorded or 0 for row in rows}


@given(st.lists(st.tuples(st.sampled_from(WRITES), st.sampled_from("abc")), min_size=1, max_size=10))
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    phases=(Phase.explicit, Phase.generate),  # no shrinking: an example takes a second
)
def test_a_confirmed_finding_shows_current_allocations(placement, tmp_path_factory, writes):
    """When the agent confirms a finding about an allocation, it shows the amounts that Placement has now."""
    with contextlib.closing(Cloud(tmp_path_factory.mktemp("cloud"), placement)) as cloud:
        cloud.audit()
        for what, who in writes:
            cloud.write(what, who)
            _check_newly_confirmed(cloud, cloud.audit())
        for _ in range(FULL_READ_EVERY):
            report = cloud.audit()
            _check_newly_confirmed(cloud, report)
        assert recorded(report) == cloud.truth()


def _check_newly_confirmed(cloud: Cloud, report: AuditReport) -> None:
    """Check that each newly confirmed finding shows, for its consumer, exactly what Placement has at this moment."""
    told = [s.finding for s in report.findings if s.confirmed and s.finding.rests_on_recorded]
    new = [f for f in told if f.id not in cloud.confirmed and f.consumer_uuid]
    cloud.confirmed = frozenset(f.id for f in told)
    truth = cloud.truth() if new else {}
    for finding in new:
        shown = {key: amount for key, amount in recorded(report).items() if key[0] == finding.consumer_uuid}
        held = {key: amount for key, amount in truth.items() if key[0] == finding.consumer_uuid}
        assert shown == held, finding.code
