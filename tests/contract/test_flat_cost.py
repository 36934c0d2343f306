"""The requests of a quiet host, from Placement's access log: at most 1.25 an audit, however many guests it has.

The tests run whole audits; libvirt, the cell's database and Placement agree on the guests. Further tests check what
the savings must not miss: a restored database, a consumer on two hosts, usage that no list of allocations shows.
"""

from __future__ import annotations

import contextlib
import signal
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.audit.run import run_audit
from agent.cmd.wiring import Wired, wire
from agent.config.build import settings_from
from agent.config.load import load
from agent.model.audit import AuditMemory, AuditRequest, Depth
from agent.model.report import AuditReport
from agent.render.explain import totals
from agent.timing.full_read_schedule import EVERYTHING_AFTER, turn
from tests.rigs import facts
from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.facts import FLAVOR_A
from tests.rigs.host import AgentHost, Options, host_on
from tests.rigs.placement import PROJECT, USER, Rest, new_uuid, running
from tests.rigs.wait import until

EVERY = 10
HELD = {"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1}
BATCH = 100
# No interval triggers an audit: a test requests each audit and counts its requests.
OPTIONS: dict[str, dict[str, object]] = {
    "DEFAULT": {"cpu_allocation_ratio": 16.0, "disk_allocation_ratio": 1000.0, "update_resources_interval": -1}
}
PARTS = ("inventories", "traits", "aggregates", "allocations")


@pytest.fixture(scope="module")
def placement(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rest]:
    """A server whose database is a file that the test can change."""
    with running(tmp_path_factory.mktemp("placement")) as rest:
        yield rest


def with_turns_of(reference: str) -> str:
    """Return another provider uuid whose scheduled reads fall on the same audits as those of ``reference``."""
    cycle = range(1, EVERY * EVERYTHING_AFTER + 1)
    wanted = [turn(reference, audit, EVERY) for audit in cycle]
    return next(u for u in iter(new_uuid, "") if [turn(u, audit, EVERY) for audit in cycle] == wanted)


@dataclass(slots=True)
class Quiet:
    """A host whose guests agree in all three books, and an agent that runs one audit at a time."""

    placement: Rest
    host: AgentHost
    wired: Wired
    consumers: tuple[str, ...]
    memory: AuditMemory = field(default_factory=AuditMemory)

    def audit(self, depth: Depth = Depth.ECONOMICAL) -> AuditReport:
        request = AuditRequest(reasons=("test",), depth=depth)
        settings = settings_from(load([str(self.host.config_file)]))
        done = run_audit(request, settings, self.wired.parts, self.memory, lambda: False)
        self.memory = done.memory
        return done.report

    def restart(self) -> None:
        """Forget all state, as a new process would."""
        self.memory = AuditMemory()
        self.wired.parts.reader.forget()

    def audits(self, count: int) -> list[list[str]]:
        """Run ``count`` audits, check that each is clean, and return the requests of each audit."""
        asked = []
        for _ in range(count):
            with self.placement.watched() as seen:
                report = self.audit()
            assert report.error is None, report.error
            assert [s.finding.code for s in report.findings] == []
            asked.append(seen)
        return asked


@contextlib.contextmanager
def quiet_host(
    folder: Path, placement: Rest, guests: int, uuid: str | None = None, changes: Options | None = None
) -> Iterator[Quiet]:
    """Yield a host with that many guests, whose allocations are made in batches, as for the acceptance's fleet."""
    folder.mkdir()
    host = host_on(folder, placement.server.url, options=OPTIONS)
    host.provider_uuid = uuid or host.provider_uuid
    names = [f"{host.name}-{number}" for number in range(guests)]
    domains = [domain_xml(n, domain_uuid=facts.uuid(n), vcpus=1, memory_mib=128) for n in names]
    (folder / "node.xml").write_text(node_xml(cpus=64, memory_mib=262144, domains=domains))
    host.configure(changes)
    host.make_cell(*(host.instance(name, flavor=FLAVOR_A) for name in names)).dispose()
    with wire(load([str(host.config_file)])) as wired:
        made = Quiet(placement, host, wired, tuple(facts.uuid(name) for name in names))
        made.audit()
        allocate(made)
        made.audit()  # the missing allocations that the first audit found are gone
        made.restart()
        yield made


def allocate(made: Quiet) -> None:
    """Allocate for all consumers with POST /allocations, in batches."""
    for start in range(0, len(made.consumers), BATCH):
        body = {
            consumer: {
                "allocations": {made.host.provider_uuid: {"resources": HELD}},
                "project_id": PROJECT,
                "user_id": USER,
                "consumer_generation": None,
            }
            for consumer in made.consumers[start : start + BATCH]
        }
        made.placement.done("POST", "/allocations", body, version="1.28")


def kinds(asked: list[list[str]]) -> list[list[str]]:
    """Return the requests without the providers and consumers they name."""
    return [[_kind(line) for line in seen] for seen in asked]


def _kind(line: str) -> str:
    method, path, status = line.split()
    if path.startswith("/allocations/"):
        return f"{method} consumer {status}"
    return f"{method} {path.partition('?')[0].rpartition('/')[2] or '/'} {status}"


def test_a_host_with_1000_guests_causes_no_more_requests(tmp_path, placement):
    """On an unchanged host, the agent's audits send the same requests to Placement for 10, 100 and 1000 guests."""
    uuid = new_uuid()
    asked = {}
    for guests in (10, 100, 1000):
        with quiet_host(tmp_path / str(guests), placement, guests, with_turns_of(uuid)) as made:
            start = made.audits(2)
            assert max(map(len, start)) <= 1 + 1 + len(PARTS) + 1
            asked[guests] = kinds(made.audits(2 * EVERY))
    assert asked[10] == asked[100] == asked[1000]
    assert all(seen[0] == "GET resource_providers 200" for seen in asked[1000] if seen[0] != "GET / 200")
    # A quiet audit is one request; an audit whose turn is to read allocations adds the list and one consumer's record.
    assert sorted({len(seen) for seen in asked[1000]}) in ([1, 3], [1, 3, 7])


def test_s144_s149_s150_an_unchanged_host_causes_few_requests(tmp_path, placement):
    """On a host with 100 guests and no changes, an audit sends on average at most 1.25 requests to Placement."""
    with quiet_host(tmp_path / "host", placement, 100) as made:
        made.audits(2)
        asked = made.audits(EVERYTHING_AFTER * EVERY)
    every = [line for seen in kinds(asked) for line in seen]
    count = {kind: every.count(kind) for kind in sorted(set(every))}
    print(f"\n{len(asked)} quiet audits, 100 consumers: {len(every) / len(asked):.3f} requests an audit, {count}")
    assert count == {
        "GET / 200": 1,
        "GET resource_providers 200": 100,
        "GET inventories 200": 1,
        "GET traits 200": 1,
        "GET aggregates 200": 1,
        "GET allocations 200": 10,
        "GET usages 200": 1,
        "GET consumer 200": 9,
    }
    assert len(every) / len(asked) <= 1.25
    records = [line for seen in asked for line in seen if " /allocations/" in line]
    assert len(set(records)) == len(records)


def test_s149_an_audit_reads_a_changed_provider_in_full(tmp_path, placement):
    """Another client changed the provider in Placement, so the next audit reads everything about the provider."""
    with quiet_host(tmp_path / "host", placement, 2) as made:
        made.audits(3)
        root = made.host.provider_uuid
        aggregate = new_uuid()
        placement.set_aggregates(root, aggregate)
        with placement.watched() as seen:
            report = made.audit()
    assert [f"GET /resource_providers/{root}/{part} 200" in seen for part in PARTS] == [True] * 4
    assert report.outcome.value == "clean"


def test_an_audit_corrects_an_inventory_restored_from_a_backup(tmp_path, placement):
    """An operator restores Placement's database from a backup with an old inventory.

    A later audit corrects the inventory.
    """
    changes = {"placement": {"full_read_every": 1}}
    with quiet_host(tmp_path / "host", placement, 2, changes=changes) as made:
        made.audits(2)
        root = made.host.provider_uuid
        generation = placement.generation(root)
        put_back(placement, root, "VCPU", 63)
        assert placement.generation(root) == generation
        assert placement.inventories(root)["VCPU"]["total"] == 63
        audits = 0
        while placement.inventories(root)["VCPU"]["total"] == 63:
            made.audit()
            audits += 1
            assert audits <= EVERYTHING_AFTER
        assert placement.inventories(root)["VCPU"]["total"] == 64


def put_back(placement: Rest, root: str, resource_class: str, total: int) -> None:
    """Change the inventory's row and leave the provider's generation, as a restore of the database does."""
    with contextlib.closing(sqlite3.connect(placement.server.folder / "placement.sqlite")) as database, database:
        found = database.execute("SELECT id FROM resource_classes WHERE name = ?", (resource_class,)).fetchone()
        changed = database.execute(
            "UPDATE inventories SET total = ? WHERE resource_class_id = ? AND resource_provider_id ="
            " (SELECT id FROM resource_providers WHERE uuid = ?)",
            (total, found[0], root),
        )
        assert changed.rowcount == 1


def test_a_full_audit_finds_a_consumer_on_two_hosts(tmp_path, placement):
    """Placement has one consumer's allocations on two hosts.

    The first full audit after a restart reports the consumer.
    """
    changes = {"placement": {"full_read_every": 1}}
    with quiet_host(tmp_path / "host", placement, 5, changes=changes) as made:
        placement.release(max(made.consumers))
        # The consumer is written once, as all others are: the agent reads consumers that were written more often first.
        spread = spread_out(placement, made)
        assert zombies(made.audit()) == set()
        audits = 1
        while zombies(made.audit()) != {spread}:
            audits += 1
            assert audits <= 2 + len(made.consumers)
        made.restart()
        assert zombies(made.audit(Depth.FULL)) == {spread}


def test_the_next_audit_rereads_only_the_changed_consumer(tmp_path, placement):
    """One consumer's allocation changed in Placement. The agent reads the allocations of this consumer and no other."""
    # With a short cycle the third audit may be the host's turn to read one record more.
    changes = {"placement": {"full_read_every": 1000}}
    with quiet_host(tmp_path / "host", placement, 30, changes=changes) as made:
        made.audits(2)
        spread = spread_out(placement, made)
        with placement.watched() as seen:
            report = made.audit()
    assert zombies(report) == {spread}
    assert [line for line in seen if " /allocations/" in line] == [f"GET /allocations/{spread} 200"]


def spread_out(placement: Rest, made: Quiet) -> str:
    """Let the last consumer have the same allocation on another provider as well; return its uuid."""
    elsewhere, consumer = placement.make_provider(), max(made.consumers)
    placement.set_inventories(elsewhere, {name: {"total": 1000} for name in HELD})
    return placement.allocate({made.host.provider_uuid: HELD, elsewhere: HELD}, consumer)


def test_a_second_audit_confirms_usage_of_an_unlisted_consumer(tmp_path, placement):
    """One audit reports usage of a consumer that Placement does not list, and the next audit confirms it."""
    with quiet_host(tmp_path / "host", placement, 3, changes={"placement": {"full_read_every": 1}}) as made:
        made.audits(2)
        root = made.host.provider_uuid
        lost = take_record(placement, made.consumers[0])
        usages = placement.done("GET", f"/resource_providers/{root}/usages")["usages"]
        listed = placement.done("GET", f"/resource_providers/{root}/allocations")["allocations"]
        assert (usages["VCPU"], sorted(listed)) == (3, sorted(made.consumers[1:]))
        first = next(found for _ in range(EVERYTHING_AFTER) if (found := unlisted(made.audit())))
        assert first == {"VCPU": (False, 1), "MEMORY_MB": (False, 128), "DISK_GB": (False, 1)}
        report = made.audit()
        assert unlisted(report) == {"VCPU": (True, 1), "MEMORY_MB": (True, 128), "DISK_GB": (True, 1)}
        used = {row.recorded.resource_class: row.used for row in report.inventory if row.recorded}
        assert {name: used[name] for name in HELD} == usages
        give_record(placement, lost)
        assert unlisted(made.audit()) == {}


def test_one_audit_in_ten_reads_the_usage_of_child_providers(tmp_path, placement):
    """With full_read_every = 1, one audit in ten reads the usage of child providers, and not only of the root."""
    with quiet_host(tmp_path / "host", placement, 2, changes={"placement": {"full_read_every": 1}}) as made:
        root = made.host.provider_uuid
        children = [placement.make_provider(parent=root) for _ in range(3)]
        for child in children:
            placement.set_inventories(child, {"SRIOV_NET_VF": {"total": 4}})
        take_record(placement, made.consumers[0])
        asked = []
        for _ in range(3 * EVERYTHING_AFTER):
            with placement.watched() as seen:
                report = made.audit()
            if unlisted(report):
                asked.append(sorted(line.split()[1].split("/")[2] for line in seen if "/usages" in line))
        rounds = [one for one in asked if one != [root]]
        assert rounds, "a turn that reads everything"
        assert all(one == sorted([root, *children]) for one in rounds)
        # One audit in ten reads everything; the first audit may be a further one.
        assert len(asked) - len(rounds) >= 2 * (EVERYTHING_AFTER - 1)
        with placement.watched() as seen:
            made.audit(Depth.FULL)
        assert sum("/usages" in line for line in seen) == 4, "by hand"


def test_every_full_audit_reports_usage_without_a_consumer(tmp_path, placement):
    """If Placement counts usage whose consumer is missing, every full audit reports the usage."""
    with quiet_host(tmp_path / "host", placement, 2) as made:
        made.audits(2)
        take_record(placement, made.consumers[0])
        assert unlisted(made.audit()) == {}, "not this host's turn"
        assert set(unlisted(made.audit(Depth.FULL))) == set(HELD)
        book = next(b for b in totals(made.audit(Depth.FULL), "VCPU", lambda _name: True) if b.name == "recorded")
    assert (book.amount, {part.reason: part.amount for part in book.parts}["usage-unlisted"]) == (2, 1)


def test_the_over_capacity_finding_shows_usage_without_consumer(tmp_path, placement):
    """The finding `over-capacity` shows how much usage in Placement belongs to no listed consumer."""
    with quiet_host(tmp_path / "host", placement, 2, changes={"DEFAULT": {"reserved_host_cpus": 0}}) as made:
        made.audits(2)
        lost = take_record(placement, made.consumers[0])
        enlarge(placement, lost, "VCPU", 64 * 16)
        report = made.audit(Depth.FULL)
    over = next(s.finding for s in report.findings if s.finding.code == "over-capacity")
    assert dict(over.facts)["free"] == -1
    assert "1024 VCPU of this usage belongs to no consumer that Placement lists (finding usage-unlisted)" in over.actual


Record = tuple[object, ...]


def take_record(placement: Rest, consumer: str) -> Record:
    """Delete the consumer's row; return the row."""
    with changed(placement) as database:
        row: Record = database.execute("SELECT * FROM consumers WHERE uuid = ?", (consumer,)).fetchone()
        database.execute("DELETE FROM consumers WHERE uuid = ?", (consumer,))
    return row


def give_record(placement: Rest, row: Record) -> None:
    with changed(placement) as database:
        database.execute(f"INSERT INTO consumers VALUES ({','.join('?' * len(row))})", row)


def enlarge(placement: Rest, row: Record, resource_class: str, amount: int) -> None:
    """Set the amount of one allocation of a consumer whose row is deleted."""
    consumer = next(value for value in row if isinstance(value, str) and len(value) == 36)
    with changed(placement) as database:
        one = "resource_class_id = (SELECT id FROM resource_classes WHERE name = ?)"
        database.execute(
            f"UPDATE allocations SET used = ? WHERE consumer_id = ? AND {one}", (amount, consumer, resource_class)
        )


@contextlib.contextmanager
def changed(placement: Rest) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(placement.server.folder / "placement.sqlite")) as database, database:
        yield database


def unlisted(report: AuditReport) -> dict[str | None, tuple[bool, object]]:
    """Return, for each resource class with unlisted usage, whether the finding is confirmed and the amount."""
    return {
        seen.finding.resource_class: (seen.confirmed, dict(seen.finding.facts)["unlisted"])
        for seen in report.findings
        if seen.finding.code == "usage-unlisted"
    }


def zombies(report: AuditReport) -> set[str | None]:
    return {s.finding.consumer_uuid for s in report.findings if s.finding.code == "consumer-on-several-providers"}


def test_a_nova_database_outage_causes_few_placement_reads(tmp_path, placement):
    """While nova's database is down, the agent reads the allocations of at most one consumer from Placement."""
    with quiet_host(tmp_path / "host", placement, 30) as made:
        made.audits(1)
        made.host.cell_path.rename(tmp_path / "away")
        assert made.audit().outcome.value == "partial"
        with placement.watched() as seen:
            assert made.audit().outcome.value == "partial"
    assert len([line for line in seen if " /allocations/" in line]) <= 1


def test_the_first_audit_after_sighup_reads_the_whole_provider(tmp_path, placement):
    """The agent reads inventories, traits, aggregates and allocations from Placement after it got SIGHUP."""
    with quiet_host(tmp_path / "host", placement, 3) as made:
        root = made.host.provider_uuid
        with made.host.daemon() as daemon:
            daemon.first_audit()
            daemon.audit_now()
            with placement.watched() as before:
                daemon.audit_now()
            assert f"GET /resource_providers/{root}/inventories 200" not in before
            with placement.watched() as seen:
                daemon.send(signal.SIGHUP)
                until(lambda: "configuration reloaded" in daemon.text(), 120, "the reload")
                daemon.audit_now()
            daemon.send(signal.SIGTERM)
            assert daemon.ended() == 0
    whole = [f"GET /resource_providers/{root}/{part} 200" for part in PARTS]
    assert [line for line in seen if line in whole] == whole
    assert "GET / 200" in seen
