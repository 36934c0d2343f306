"""The agent finds each planted leak and no look-alike, against a real Placement and a real MariaDB.

Each case runs on a host of its own, and all of them run on one host. The agent must report a leak within two audits by
exactly the leak's findings, and must not report a look-alike in three. The test prints a table; precision and recall
over all cases are 1.0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy

from agent.demo import cell
from agent.model.report import AuditReport
from tests.rigs import heart
from tests.rigs import mariadb as mariadb_rig
from tests.rigs.leak_cases import DELETED, LEAKS, LOOK_ALIKES, Case
from tests.rigs.leak_cloud import EARLIER, Guest, leak_cloud
from tests.rigs.placement import Rest

Told = dict[str, set[str]]
# The default of [placement] full_read_every.
FULL_READ_EVERY = 10


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlalchemy.Engine]:
    """One cell for all hosts of the module, as in a cloud."""
    if not mariadb_rig.available():
        pytest.skip("MariaDB is not installed (mariadb-server-core)")
    with mariadb_rig.running(tmp_path_factory.mktemp("mariadb")) as server:
        made = sqlalchemy.create_engine(server.create_database("cell"))
        cell.create_tables(made)
        heart.keep(server.url("cell"))
        yield made
        heart.forget(server.url("cell"))
        made.dispose()


def codes_by_consumer(reports: list[AuditReport]) -> Told:
    """Return, for each consumer, the codes of all its findings in any of these audits."""
    told: Told = defaultdict(set)
    for report in reports:
        for seen in report.findings:
            told[seen.finding.consumer_uuid or ""].add(seen.finding.code)
    return told


def about(told: Told, consumers: set[str]) -> set[str]:
    return set().union(*(told.get(consumer, set()) for consumer in consumers))


def all_read(report: AuditReport) -> bool:
    return all(source.ok for source in report.sources) and report.error is None


@pytest.mark.parametrize("case", LEAKS, ids=lambda case: case.name)
def test_each_kind_of_leak_causes_only_its_own_findings(tmp_path: Path, placement: Rest, engine, case: Case):
    """For each known kind of leaked allocation, the agent reports exactly the findings of that kind."""
    with leak_cloud(tmp_path, placement, engine, case.guests) as cloud:
        consumers = case.plant(cloud, case.name)
        reports = [cloud.audit(), cloud.audit()]
        assert all(map(all_read, reports))
        assert about(codes_by_consumer(reports), consumers) == case.codes
        last = [seen for seen in cloud.audit().findings if seen.finding.consumer_uuid in consumers]
    assert {seen.finding.code for seen in last} == case.codes
    assert all(seen.confirmed for seen in last)


@pytest.mark.parametrize("case", LOOK_ALIKES, ids=lambda case: case.name)
def test_a_valid_allocation_that_looks_leaked_causes_no_finding(tmp_path: Path, placement: Rest, engine, case: Case):
    """A valid allocation, for example of an instance in live migration, is not reported as leaked."""
    with leak_cloud(tmp_path, placement, engine, case.guests) as cloud:
        consumers = case.plant(cloud, case.name)
        reports = [cloud.audit() for _ in range(3)]
        assert not cloud.racing.meanwhile, "what was to happen between two reads did not"
    assert all(map(all_read, reports))
    assert consumers
    assert about(codes_by_consumer(reports), consumers) == set()


def test_audits_report_all_leaks_and_nothing_else(tmp_path: Path, placement: Rest, engine):
    """A host has all kinds of leaks, and valid allocations that look leaked. Audits report only the leaks."""
    cases = (*LEAKS, *LOOK_ALIKES)
    with leak_cloud(tmp_path, placement, engine, tuple(guest for case in cases for guest in case.guests)) as cloud:
        planted = {case.name: case.plant(cloud, case.name) for case in cases}
        reports = [cloud.audit() for _ in range(3)]
    assert all(map(all_read, reports))
    within_two, in_three = codes_by_consumer(reports[:2]), codes_by_consumer(reports)
    found = {case.name: about(within_two, planted[case.name]) for case in LEAKS}
    found |= {case.name: about(in_three, planted[case.name]) for case in LOOK_ALIKES}
    table, precision, recall = score(found)
    (tmp_path / "leaks.txt").write_text(table)
    print(table)  # pytest -s shows the table
    assert found == {case.name: case.codes for case in cases}, table
    assert (precision, recall) == (1.0, 1.0)
    # No finding names a consumer that no case has planted.
    strangers = set(in_three) - set().union(*planted.values()) - {""}
    assert {consumer: in_three[consumer] for consumer in strangers} == {}


def test_the_first_audit_reports_a_guest_of_a_deleted_instance(tmp_path: Path, placement: Rest, engine):
    """Nova deleted an instance and its allocation, and libvirt still runs its guest; the first audit reports this."""
    with leak_cloud(tmp_path, placement, engine, (Guest(name="left"),)) as cloud:
        cloud.instance("left", **DELETED)
        told = codes_by_consumer([cloud.audit()])
        assert told[cloud.consumer("left")] == {"guest-running-deleted"}


def test_a_leak_on_a_sharing_provider_is_reported(tmp_path: Path, placement: Rest, engine):
    """The agent reports a leaked allocation on a sharing provider until the allocation is removed from Placement."""
    with leak_cloud(tmp_path, placement, engine, ()) as cloud:
        alive = cloud.allocate(cloud.instance("shared"), {cloud.nfs: {"DISK_GB": 1}})
        assert "allocation-leaked" not in codes_by_consumer([cloud.audit(), cloud.audit()])[alive]
        assert cloud.memory.shared_due_in < FULL_READ_EVERY
        cloud.delete("shared", EARLIER)
        audits = 0
        while "allocation-leaked" not in codes_by_consumer([cloud.audit()])[alive]:
            audits += 1
            assert audits < FULL_READ_EVERY, "a full read has come and gone"
        (leak,) = [seen for seen in cloud.audit().findings if seen.finding.code == "allocation-leaked"]
        assert (leak.confirmed, leak.finding.provider_uuid) == (True, cloud.nfs)
        placement.release(alive)
        assert codes_by_consumer([cloud.audit()])[alive] == set()
        assert 0 <= cloud.memory.shared_due_in < FULL_READ_EVERY


def score(found: dict[str, set[str]]) -> tuple[str, float, float]:
    """Return the table, precision and recall of the findings; a wrong code for a leak lowers both."""
    right = wrong = missed = 0
    lines = []
    for case in (*LEAKS, *LOOK_ALIKES):
        told = found[case.name]
        right, wrong, missed = (
            right + len(told & case.codes),
            wrong + len(told - case.codes),
            missed + len(case.codes - told),
        )
        kind = "leak" if case.codes else "look-alike"
        lines.append(f"{kind:10} {case.name:27} {', '.join(sorted(told)) or '-'}")
    precision, recall = right / (right + wrong), right / (right + missed)
    return "\n".join([*lines, f"precision {precision:.3f} recall {recall:.3f}"]), precision, recall
