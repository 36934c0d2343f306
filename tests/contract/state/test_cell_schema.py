"""The schema file equals the result of nova's own migrations, and the agent reads and writes nova's own format."""

import json
import subprocess

import sqlalchemy

from agent.demo import cell
from agent.model.nova import MigrationContext
from agent.sources.nova.documents import context_from_document, flavors_from_document, numa_from_document
from agent.sources.nova.tables import COLUMNS
from tests.rigs.cell_worlds import FLOATING, LARGE, PINNED, SMALL, instance, uuid
from tests.rigs.nova_env import nova_python
from tests.rigs.releases import chosen
from tools.make_cell_schema import TABLES, TARGET, main, read_schema

# Runs inside nova's environment. Prints nova's reading of the agent's documents, and nova's own for the same flavors.
NOVA_SIDE = """
import json, sys
from nova import objects
objects.register_all()
ours = json.load(sys.stdin)
flavors = {k: objects.Flavor.obj_from_primitive(v) for k, v in json.loads(ours["flavor"]).items() if v}
context = objects.MigrationContext.obj_from_primitive(json.loads(ours["context"]))
numa = objects.InstanceNUMATopology.obj_from_primitive(json.loads(ours["numa"]))
made = objects.Flavor(id=2, name="m1.large", memory_mb=8192, vcpus=8, root_gb=80, ephemeral_gb=0, flavorid="2", swap=0,
    rxtx_factor=1.0, vcpu_weight=0, disabled=False, is_public=True,
    extra_specs={"note": "gr\\u00f6\\u00dfer", "hw:cpu_policy": "dedicated"})
print(json.dumps({
    "read": {k: [f.vcpus, f.memory_mb, f.root_gb, f.ephemeral_gb, f.swap, f.extra_specs] for k, f in flavors.items()},
    "migration_id": context.migration_id,
    "pinned": [[c.id, c.memory, sorted(c.cpuset), sorted(c.pcpuset), c.pagesize, sorted(c.cpu_pinning.items()),
                c.cpu_policy, c.cpu_thread_policy] for c in numa.cells],
    "moved": [[c.memory for c in context.old_numa_topology.cells], [c.memory for c in context.new_numa_topology.cells],
              [d.address for d in context.old_pci_devices], [d.address for d in context.new_pci_devices]],
    "numa": json.dumps(numa.obj_to_primitive()),
    "full": json.dumps(context.obj_to_primitive()),
    "flavor": json.dumps({"cur": made.obj_to_primitive(), "old": None, "new": None}),
    "context": json.dumps(objects.MigrationContext(instance_uuid=made.name, migration_id=7).obj_to_primitive()),
}))
"""


# An index of the schema file that older releases lack, and the first nova that has it.
INDEXES_SINCE = {
    "migrations_by_dest_host_nodes_and_status_idx": 34,
    "migrations_by_src_host_nodes_and_status_idx": 34,
}


def test_the_schema_file_matches_the_migrations_of_nova(tmp_path, monkeypatch, record_property):
    """The schema file that the tests use equals the tables that nova's own database migrations create."""
    again = tmp_path / "cell_schema.json"
    arguments = ["make_cell_schema", "--nova-python", str(nova_python()), "--target", str(again)]
    monkeypatch.setattr("sys.argv", arguments)

    assert main() == 0
    made, expected = json.loads(again.read_text()), json.loads(TARGET.read_text())
    missing = sorted(index for index, since in INDEXES_SINCE.items() if chosen().nova_series < since)
    for table in expected["tables"].values():
        table["indexes"] = [index for index in table["indexes"] if index["name"] not in missing]
    assert made["tables"] == expected["tables"]
    assert f"nova {chosen().nova}:" in made["made_by"]
    if missing:
        record_property(
            "without", f"The cell has no indexes {' and '.join(missing)}: the agent's statements need no index."
        )
    else:
        assert again.read_text() == TARGET.read_text()


def test_tables_created_by_tests_match_the_schema_file(tmp_path):
    """The agent's tests create nova's tables, with the columns, keys and indexes of the schema file."""
    url = f"sqlite:///{tmp_path / 'cell.db'}"
    engine = sqlalchemy.create_engine(url)
    cell.create_tables(engine)
    engine.dispose()

    assert read_schema(url) == {
        name: {key: table[key] for key in ("columns", "primary_key", "unique", "indexes")}
        for name, table in json.loads(cell.SCHEMA.read_text())["tables"].items()
    }


def test_every_column_that_the_agent_reads_exists_in_nova():
    schema = json.loads(cell.SCHEMA.read_text())["tables"]

    assert sorted(COLUMNS) == sorted(TABLES)
    for table, columns in COLUMNS.items():
        assert set(columns) <= {column["name"] for column in schema[table]["columns"]}


def test_nova_and_the_agent_can_read_the_same_json_columns():
    """Nova's objects load the JSON columns that the tests write, and the agent loads the JSON that nova writes."""
    context = MigrationContext(
        migration_id=3, old_numa=FLOATING, new_numa=PINNED, old_pci=("0000:81:00.1",), new_pci=("0000:82:00.0",)
    )
    ours = instance(1, flavor=SMALL, old_flavor=SMALL, new_flavor=LARGE, context=context, numa=PINNED)
    documents = {
        "flavor": cell.flavor_document(ours),
        "context": cell.migration_context_document(ours),
        "numa": json.dumps(cell.numa_primitive(PINNED)),
    }
    done = subprocess.run(
        [str(nova_python()), "-W", "ignore", "-c", NOVA_SIDE],
        input=json.dumps(documents),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout.splitlines()[-1])

    small, large = [4, 2048, 20, 1, 512, {}], [8, 8192, 80, 0, 0, dict(LARGE.extra_specs)]
    assert theirs["read"] == {"cur": small, "old": small, "new": large}
    assert theirs["migration_id"] == 3
    assert flavors_from_document(theirs["flavor"], uuid(1)) == (LARGE, None, None)
    assert context_from_document(theirs["context"], uuid(1)) == MigrationContext(migration_id=7)
    assert theirs["pinned"] == [
        [0, 4096, [], [0, 1, 2, 3], 2048, [[0, 4], [1, 5], [2, 6], [3, 7]], "dedicated", "isolate"],
        [1, 4096, [4, 5], [6, 7], 2048, [[6, 30], [7, 31]], "mixed", None],
    ]
    assert theirs["moved"] == [[2048], [4096, 4096], ["0000:81:00.1"], ["0000:82:00.0"]]
    assert numa_from_document(theirs["numa"], uuid(1)) == PINNED
    assert context_from_document(theirs["full"], uuid(1)) == context
