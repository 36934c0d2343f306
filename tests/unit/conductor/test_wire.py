"""Objects over RPC become rows; garbage raises SourceInconsistent and nothing else."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.conductor import wire
from agent.errors import SourceInconsistent
from agent.model.nova import Flavor, InstanceCell
from agent.sources.nova.columns import COLUMNS
from agent.sources.nova.rows import CellRows, guests_from_rows, instance_from_row, migration_from_row
from tests.rigs.conductor_primitives import FLAVOR, INSTANCE, MIGRATION, NUMA, envelope, listed

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
ROWS = {
    "Service": wire.service_row,
    "ComputeNode": wire.node_row,
    "Migration": wire.migration_row,
    "BlockDeviceMapping": wire.boot_disk_row,
    "PciDevice": wire.pci_row,
    "Instance": wire.instance_row,
}
names = st.sampled_from(sorted({column for columns in COLUMNS.values() for column in columns} | {"old_flavor"}))


def test_an_instance_object_is_read():
    """The agent reads the flavor, the NUMA cells, the host and the states of an Instance from nova-conductor."""
    [row] = wire.rows(listed("InstanceList", "2.6", INSTANCE), "InstanceList", wire.instance_row)
    instance = instance_from_row(row, ())

    assert instance.problem is None
    assert instance.flavor == Flavor(
        id=1,
        name="m1.small",
        vcpus=1,
        memory_mib=2048,
        root_gib=20,
        ephemeral_gib=0,
        swap_mib=512,
        extra_specs=(("hw:cpu_policy", "dedicated"),),
    )
    assert instance.numa == (
        InstanceCell(id=0, memory_mib=2048, pcpuset=(0,), pinning=((0, 4),), cpu_policy="dedicated"),
    )
    assert (instance.host, instance.node, instance.compute_id) == ("cmp1", "cmp1.example.org", 1)
    assert (instance.deleted, instance.hidden, instance.power_state, instance.os_type) == (False, False, 1, "linux")
    assert instance.created_at.isoformat() == "2026-11-21T10:58:05"


def test_a_migration_object_is_read():
    """The agent reads the type, the status and both hosts of a Migration from nova-conductor."""
    [row] = wire.rows(listed("MigrationList", "1.5", MIGRATION), "MigrationList", wire.migration_row)
    migration = migration_from_row(row)

    assert (migration.kind, migration.status, migration.in_progress) == ("resize", "finished", True)
    assert (migration.source_host, migration.dest_host) == ("cmp1", "cmp2")


def test_flavor_and_numa_become_json_text():
    """The flavor and the NUMA topology of an Instance from nova-conductor are stored as JSON text."""
    row = wire.instance_row(INSTANCE["nova_object.data"])

    assert json.loads(row["flavor"]) == {"cur": FLAVOR, "old": None, "new": None}
    assert json.loads(row["numa_topology"]) == NUMA
    assert row["migration_context"] is None


def test_an_instance_without_a_flavor_is_kept_with_an_error():
    """The agent keeps an Instance without a flavor, with the error `the flavor is unknown`."""
    fields = {name: value for name, value in INSTANCE["nova_object.data"].items() if name != "flavor"}

    assert "the flavor is unknown" in instance_from_row(wire.instance_row(fields), ()).problem


@pytest.mark.parametrize("name", ["host", "node", "vm_state", "task_state", "deleted", "hidden"])
def test_the_error_names_the_missing_field_of_an_instance(name):
    """If nova-conductor sends an Instance without the field `host`, the error names the missing field."""
    fields = {key: value for key, value in INSTANCE["nova_object.data"].items() if key != name}
    instance = instance_from_row(wire.instance_row(fields), ())
    assert f"the Instance lacks {name}" in instance.problem
    assert instance.flavor is None
    null = {**INSTANCE["nova_object.data"], name: None}
    assert instance_from_row(wire.instance_row(null), ()).problem is None


def test_an_unreadable_instance_is_kept_with_the_error():
    """An Instance that the agent cannot decode stays in the result, without a flavor and with the error."""
    instance = instance_from_row(wire.unread_instance_row(INSTANCE["nova_object.data"], "ValueError: cut off"), ())

    assert instance.flavor is None
    assert "ValueError" in instance.problem


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "sent None instead of object MigrationList"),
        (envelope("InstanceList", "2.6", {"objects": []}), "instead of MigrationList"),
        (envelope("MigrationList", "1.5", {}), "with None instead of a list"),
        (envelope("MigrationList", "1.5", {"objects": [7]}), "sent 7 instead of object Migration"),
        (listed("MigrationList", "1.5", INSTANCE), "instead of Migration"),
    ],
)
def test_an_answer_with_a_wrong_object_is_rejected(answer, words):
    """The agent asks nova-conductor for migrations and rejects an answer with other or broken objects."""
    with pytest.raises(SourceInconsistent, match=words):
        wire.rows(answer, "MigrationList", wire.migration_row)


@given(st.sampled_from(sorted(ROWS)), values)
def test_random_rpc_answers_cause_no_crash(name, answer):
    """A random answer of nova-conductor is read or rejected with SourceInconsistent; no other exception occurs."""
    for asked in (name, f"{name}List"):
        with contextlib.suppress(SourceInconsistent):
            wire.rows(answer, asked, ROWS[name])


@given(st.sampled_from(sorted(ROWS)), st.lists(st.dictionaries(names, values, max_size=8), max_size=4))
def test_random_object_fields_cause_no_crash(name, objects):
    """Nova objects with random fields are read or rejected with SourceInconsistent; no other exception occurs."""
    answer = listed(f"{name}List", "1.0", *(envelope(name, "1.0", fields) for fields in objects))
    with contextlib.suppress(SourceInconsistent):
        rows = wire.rows(answer, f"{name}List", ROWS[name])
        assert len({frozenset(row) for row in rows}) <= 1
        # nova_rows parses these rows: it reports problems and raises nothing.
        guests_from_rows(CellRows(now=None, instances=rows, migrations=rows, boot_disks=rows, pci_devices=rows))


def test_a_too_deeply_nested_flavor_is_rejected():
    """nova-conductor sends an Instance whose flavor is nested too deeply to be written as JSON.

    The agent rejects the Instance with the error SourceInconsistent.
    """
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(SourceInconsistent, match="cannot be written as JSON"):
        wire.instance_row({**INSTANCE["nova_object.data"], "flavor": deep})
