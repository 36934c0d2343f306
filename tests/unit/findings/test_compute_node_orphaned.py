"""compute-node-orphaned: story 4 of the README, a row of this host that no hypervisor reports."""

from __future__ import annotations

import dataclasses
import shlex
import subprocess

import pytest
import sqlalchemy

from agent.audit.decide import decide
from agent.books.confirm import evidence_digest
from agent.demo import cell
from agent.model.compared import Subject
from agent.model.finding import RemedyKind, Severity
from agent.model.nova import StateKind
from agent.model.placement import DetachedTree
from agent.model.settings import DatabaseAccess, Role, Server
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from tests.rigs.facts import (
    ROOT_UUID,
    allocations,
    findings,
    instance,
    inventory,
    node,
    settings,
    snapshot,
    state,
    uuid,
    view,
    without,
)
from tests.rigs.records import orphan, tree

CODE = "compute-node-orphaned"
OLD = node(2, uuid=uuid("old"), hypervisor_hostname="old.example.org", vcpus=48, memory_mib=262144, local_gib=1000)
WORLD = snapshot(nova=state(nodes=(node(), OLD)))


@pytest.mark.parametrize("world", [WORLD, without(WORLD, PLACEMENT)], ids=["all read", "without placement"])
def test_the_finding_shows_the_orphaned_compute_node_row(world):
    """Nova's database has a compute node of this host that libvirt does not report.

    The finding `compute-node-orphaned` shows the compute node's row, for example ID and vCPUs.
    """
    (found,) = findings(world, CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (uuid("old"), None, None)
    assert found.expected == "host cmp1 has only one compute node: cmp1.example.org"
    assert found.actual == (
        f"compute node old.example.org (uuid {uuid('old')}, id 2) has a row with 48 vCPUs, 262144 MiB, 1000 GiB, "
        "but libvirt reports no such hypervisor"
    )
    assert found.facts == (
        ("compute_node_id", 2), ("hypervisor_hostname", "old.example.org"), ("vcpus", 48), ("memory_mib", 262144),
        ("local_gib", 1000),
    )  # fmt: skip
    assert found.severity is Severity.WARNING
    assert not found.rests_on_recorded


def test_each_orphaned_compute_node_has_its_own_finding():
    other = node(3, uuid=uuid("older"), hypervisor_hostname="older.example.org")
    found = findings(snapshot(nova=state(nodes=(node(), OLD, other))), CODE)
    assert {f.provider_uuid for f in found} == {uuid("old"), uuid("older")}
    assert len({f.id for f in found}) == 2


QUIET = {
    "our own": snapshot(),
    "deleted": snapshot(nova=state(nodes=(node(), node(2, uuid=uuid("old"), hypervisor_hostname="x", deleted=True)))),
    "our identity under an older name": snapshot(nova=state(nodes=(node(hypervisor_hostname="old.example.org"),))),
    "our name under another identity is a conflict, not an orphan": snapshot(nova=state(nodes=(node(uuid=uuid("x")),))),
    "no cloud": snapshot(nova=state(kind=StateKind.NONE, nodes=())),
    "state not read": without(WORLD, STATE),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_a_compute_node_of_the_host_is_not_orphaned(world):
    """A compute node with this host's UUID or name is not reported as orphaned."""
    assert findings(world, CODE) == ()


def test_no_compute_node_is_orphaned_if_the_name_is_unknown():
    """While libvirt is not read and the host's node name is unknown, no compute node is reported as orphaned."""
    blind = without(WORLD, LIBVIRT)
    decision = decide(blind, settings(), Subject(root_uuid=ROOT_UUID, node=None), None)
    assert [f for f in decision.findings if f.code == CODE] == []


ORPHAN = orphan()
ROW = node(2, uuid=ORPHAN.uuid, hypervisor_hostname=ORPHAN.hypervisor_hostname)
NAME = ROW.hypervisor_hostname


def told(*trees, instances=(), chosen=None):
    world = snapshot(nova=state(*instances, nodes=(node(), ROW)), placement=view(orphans=trees))
    (found,) = findings(world, CODE, chosen or settings())
    return found


def commands(found):
    return [remedy.command for remedy in found.remedies]


def test_the_finding_says_that_nothing_uses_the_node():
    """If an orphaned compute node has no instances and no allocations, the finding says so."""
    found = told(DetachedTree(uuid=ROW.uuid))
    assert found.known == (
        f"the database has no instance of host cmp1 on node {NAME}",
        f"Placement has no provider {ROW.uuid}, so nothing is allocated from the node",
    )
    assert not any("provider" in (command or "") for command in commands(found))


def test_the_finding_lists_consumers_of_the_orphaned_node():
    """The finding about an orphaned compute node lists the consumers that have allocations on the node."""
    held = [dataclasses.replace(each, provider_uuid=ROW.uuid) for each in allocations(uuid("i1"), VCPU=4, DISK_GB=40)]
    found = told(tree(ORPHAN, *held, inventories=(inventory("VCPU", 8),)))
    assert found.known[1:] == (
        f"in Placement, the node's provider {ROW.uuid} still offers 8 VCPU",
        f"consumer {uuid('i1')} has 4 VCPU, 40 GiB there",
    )
    unset = f"openstack resource provider allocation unset --provider {ROW.uuid} {uuid('i1')}"
    assert unset in commands(found)


def test_the_finding_lists_at_most_three_consumers():
    """If five consumers have allocations on an orphaned compute node, the finding counts two as "2 more consumers"."""
    held = [
        dataclasses.replace(each, provider_uuid=ROW.uuid) for n in range(5) for each in allocations(f"c{n}", VCPU=1)
    ]
    assert told(tree(ORPHAN, *held)).known[-1] == "2 more consumers have allocations there"


def test_a_node_with_an_instance_has_no_delete_command():
    """If an instance is on an orphaned compute node, the finding has no command that deletes the node."""
    here = dataclasses.replace(instance(), host="cmp1", node=NAME)
    found = told(DetachedTree(uuid=ROW.uuid), instances=(here,))
    assert found.known[0] == f"the database has 1 instance of host cmp1 on node {NAME}: {here.uuid} ({here.name})"
    assert commands(found) == [None]
    assert "do not delete the row" in found.remedy


def test_the_digest_does_not_depend_on_placement():
    """The digest of a finding about an orphaned compute node ignores the node's provider in Placement."""
    one, other = told(DetachedTree(uuid=ROW.uuid)), told(tree(ORPHAN))
    assert one.known != other.known
    assert evidence_digest(one) == evidence_digest(other)


def of_database(database):
    access = dataclasses.replace(settings().access, database=database)
    found = told(DetachedTree(uuid=ROW.uuid), chosen=settings(access=access))
    (delete,) = [remedy for remedy in found.remedies if "row as deleted" in remedy.words]
    return delete


def test_the_delete_command_for_mysql_calls_the_mysql_client():
    """If nova's database is MySQL, the finding gives a `mysql` command that marks the orphaned row as deleted."""
    server = Server(host="db", port=3306)
    delete = of_database(DatabaseAccess(name="nova_cell1", server=server, user="reader"))
    assert shlex.split(delete.command) == [
        *("mysql", "-h", "db", "-P", "3306", "-u", "reader", "-p", "nova_cell1", "-e"),
        "UPDATE compute_nodes SET deleted = id, deleted_at = UTC_TIMESTAMP() WHERE id = 2 AND deleted = 0",
    ]
    assert "the database user reader needs the right to UPDATE" in delete.words


def test_the_printed_command_deletes_the_node_in_sqlite(tmp_path):
    """If nova's database is an SQLite file, the printed command deletes only the orphaned compute node."""
    file = tmp_path / 'a cell\'s "file".sqlite'
    engine = sqlalchemy.create_engine(f"sqlite:///{file}")
    cell.create_tables(engine)
    with engine.begin() as connection:
        cell.add_compute_node(connection, node())
        cell.add_compute_node(connection, ROW)
    subprocess.run(["sh", "-c", of_database(DatabaseAccess(name=str(file))).command], check=True)
    with engine.connect() as connection:
        rows = connection.execute(sqlalchemy.text("SELECT id, deleted, deleted_at FROM compute_nodes ORDER BY id"))
        (kept, gone) = rows.all()
    engine.dispose()
    assert (kept.deleted, kept.deleted_at) == (0, None)
    assert (gone.deleted, gone.deleted_at is None) == (2, False)


def test_without_database_access_the_finding_shows_sql():
    """Without access to nova's database, the finding shows SQL that deletes the orphaned compute node."""
    delete = of_database(None)
    assert delete.command is None
    assert "UPDATE compute_nodes SET deleted = id" in delete.words


def test_an_agent_beside_nova_compute_first_advises_to_wait():
    """If the agent runs beside nova-compute, its first advice on an orphaned compute node is to wait."""
    found = told(DetachedTree(uuid=ROW.uuid), chosen=settings(role=Role.COMPANION))
    assert (found.remedies[0].kind, found.remedies[0].command) == (RemedyKind.WAIT, None)
