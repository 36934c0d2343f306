"""Rows of nova's database: what each column means, and that a broken row affects only itself."""

import copy
import datetime
import json
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SourceInconsistent
from agent.model.nova import Flavor, InstanceCell, MigrationContext, PciRow, StateKind
from agent.sources.nova.documents import (
    context_from_document,
    flavor_from_primitive,
    flavors_from_document,
    numa_from_document,
)
from agent.sources.nova.rows import CellRows, migration_from_row, state_from_rows

ONE = "11111111-1111-4111-8111-111111111111"
TWO = "22222222-2222-4222-8222-222222222222"
NOW = "2026-11-21 10:58:05"

# The flavor as a conductor of nova 34 sent it.
SMALL = {
    "nova_object.name": "Flavor",
    "nova_object.namespace": "nova",
    "nova_object.version": "1.2",
    "nova_object.data": {
        "id": 1,
        "name": "m1.small",
        "memory_mb": 2048,
        "vcpus": 1,
        "root_gb": 20,
        "ephemeral_gb": 0,
        "flavorid": "2",
        "swap": 512,
        "rxtx_factor": 1.0,
        "vcpu_weight": 0,
        "disabled": False,
        "is_public": True,
        "extra_specs": {"hw:cpu_policy": "dedicated"},
        "description": None,
    },
}
SMALL_FLAVOR = Flavor(
    id=1,
    name="m1.small",
    vcpus=1,
    memory_mib=2048,
    root_gib=20,
    ephemeral_gib=0,
    swap_mib=512,
    extra_specs=(("hw:cpu_policy", "dedicated"),),
)
CONTEXT = {
    "nova_object.name": "MigrationContext",
    "nova_object.namespace": "nova",
    "nova_object.version": "1.2",
    "nova_object.data": {"instance_uuid": ONE, "migration_id": 4, "old_numa_topology": None},
}
# One cell of a pinned instance.
CELL = {
    "nova_object.name": "InstanceNUMACell",
    "nova_object.namespace": "nova",
    "nova_object.version": "1.6",
    "nova_object.data": {
        "id": 0,
        "cpuset": [],
        "pcpuset": [0],
        "cpuset_reserved": None,
        "memory": 2048,
        "pagesize": None,
        "cpu_pinning_raw": {"0": 4},
        "cpu_policy": "dedicated",
        "cpu_thread_policy": None,
    },
}
PINNED = InstanceCell(id=0, memory_mib=2048, pcpuset=(0,), pinning=((0, 4),), cpu_policy="dedicated")


def flavor_text(current=SMALL, old=None, new=None):
    return json.dumps({"cur": current, "old": old, "new": new})


def changed(**fields):
    return {**SMALL, "nova_object.data": {**SMALL["nova_object.data"], **fields}}


def cell(**fields):
    return {**CELL, "nova_object.data": {**CELL["nova_object.data"], **fields}}


def numa(*cells):
    return {
        "nova_object.name": "InstanceNUMATopology",
        "nova_object.namespace": "nova",
        "nova_object.version": "1.3",
        "nova_object.data": {"cells": list(cells)},
    }


def devices(*addresses):
    listed = [
        {"nova_object.name": "PciDevice", "nova_object.version": "1.7", "nova_object.data": {"address": address}}
        for address in addresses
    ]
    return {
        "nova_object.name": "PciDeviceList",
        "nova_object.version": "1.3",
        "nova_object.data": {"objects": listed},
    }


def context_text(**fields):
    return json.dumps({**CONTEXT, "nova_object.data": {**CONTEXT["nova_object.data"], **fields}})


def pci_row(**changes):
    return {
        "id": 1,
        "compute_node_id": 1,
        "address": "0000:81:00.1",
        "vendor_id": "8086",
        "product_id": "10ed",
        "dev_type": "type-VF",
        "status": "allocated",
        "instance_uuid": ONE,
        "numa_node": 1,
        "parent_addr": "0000:81:00.0",
        "deleted": 0,
        **changes,
    }


def instance_row(**changes):
    return {
        "id": 1,
        "uuid": ONE,
        "display_name": "web",
        "project_id": "p1",
        "user_id": "u1",
        "host": "cmp1",
        "node": "cmp1.example.org",
        "vm_state": "active",
        "task_state": None,
        "deleted": 0,
        "hidden": 0,
        "instance_type_id": 1,
        "image_ref": "i1",
        "compute_id": 1,
        "os_type": "linux",
        "power_state": 1,
        "created_at": NOW,
        "deleted_at": None,
        "updated_at": NOW,
        "extra_id": 1,
        "extra_deleted": 0,
        "flavor": flavor_text(),
        "numa_topology": None,
        "migration_context": None,
        **changes,
    }


def migration_row(**changes):
    return {
        "id": 1,
        "uuid": "b045bb9d-8320-4dbb-a193-e2d8cc2a5740",
        "instance_uuid": ONE,
        "migration_type": "resize",
        "status": "finished",
        "source_compute": "cmp1",
        "source_node": "cmp1.example.org",
        "dest_compute": "cmp2",
        "dest_node": "cmp2.example.org",
        "old_instance_type_id": 1,
        "new_instance_type_id": 2,
        "created_at": NOW,
        "updated_at": None,
        "deleted": 0,
        **changes,
    }


def node_row(**changes):
    return {"id": 1, "uuid": TWO, "host": "cmp1", "hypervisor_hostname": "cmp1.example.org", "deleted": 0, **changes}


def service_row(**changes):
    return {"id": 1, "version": 74, "disabled": 0, "forced_down": None, "last_seen_up": NOW, **changes}


def state(**groups):
    return state_from_rows("cmp1", CellRows(now=NOW, **groups))


def one_instance(**groups):
    [instance] = state(**{"instances": (instance_row(),), **groups}).instances
    return instance


def test_an_empty_cell_database_is_read_without_problems():
    """An empty database of a nova cell gives no instances and no error."""
    empty = state()

    assert (empty.kind, empty.host, empty.instances, empty.unreadable) == (StateKind.SQL, "cmp1", (), ())
    assert empty.now == datetime.datetime(2026, 11, 21, 10, 58, 5)  # noqa: DTZ001


def test_the_flavor_is_read_from_the_table_instance_extra():
    instance = one_instance()

    assert instance.flavor == SMALL_FLAVOR
    assert (instance.old_flavor, instance.new_flavor, instance.problem) == (None, None, None)


def test_the_three_flavors_during_a_resize_are_read():
    """During a resize, an instance has a current, an old and a new flavor, and the agent reads each of them."""
    text = flavor_text(old=changed(vcpus=2), new=changed(vcpus=3))
    instance = one_instance(instances=(instance_row(flavor=text),))

    assert [f.vcpus for f in (instance.flavor, instance.old_flavor, instance.new_flavor)] == [1, 2, 3]


def test_a_newer_minor_version_of_a_flavor_is_accepted():
    """The agent reads nova's flavor object of a newer minor version (1.9) and ignores fields that it does not know."""
    newer = {**changed(burst_credits={"a": [1]}), "nova_object.version": "1.9", "nova_object.changes": ["vcpus"]}

    assert flavor_from_primitive(newer, "here") == SMALL_FLAVOR


def test_a_flavor_without_extra_specs_is_accepted():
    fields = {key: value for key, value in SMALL["nova_object.data"].items() if key != "extra_specs"}

    assert flavor_from_primitive({**SMALL, "nova_object.data": fields}, "here").extra_specs == ()


@pytest.mark.parametrize(
    ("primitive", "named"),
    [
        (None, "None"),
        ({**SMALL, "nova_object.version": "2.0"}, "2.0"),
        ({**SMALL, "nova_object.name": "Instance"}, "Instance"),
        ({**SMALL, "nova_object.data": None}, "nova_object.data"),
        (changed(vcpus=None), "vcpus is NULL"),
        (changed(vcpus=-1), "vcpus"),
        (changed(memory_mb="2048"), "memory_mb"),
        (changed(root_gb=True), "root_gb"),
        (changed(swap=1.5), "swap"),
        (changed(extra_specs={"a": 1}), "extra_specs"),
        (changed(extra_specs=[]), "extra_specs"),
    ],
)
def test_the_error_for_an_invalid_flavor_shows_the_field(primitive, named):
    """If a flavor in nova's database is invalid, the error contains the field or the version that is wrong."""
    with pytest.raises(SourceInconsistent, match=named):
        flavor_from_primitive(primitive, "here")


@pytest.mark.parametrize(
    "changes",
    [
        {"flavor": None},
        {"flavor": ""},
        {"flavor": b"{}"},
        {"flavor": "{"},
        {"flavor": "[1]"},
        {"flavor": "[" * 100_000},
        {"flavor": '{"cur": ' + "9" * 5000 + "}"},
        {"flavor": "{}"},
        {"extra_id": None},
        {"migration_context": "null"},
        {"migration_context": json.dumps({**CONTEXT, "nova_object.version": "2.0"})},
        {"migration_context": context_text(migration_id="4")},
        {"migration_context": context_text(new_numa_topology={})},
        {"migration_context": context_text(old_numa_topology=numa(cell(memory=None)))},
        {"migration_context": context_text(new_pci_devices=devices(None))},
        {"migration_context": context_text(new_pci_devices=[])},
        {"numa_topology": "null"},
        {"numa_topology": b"{}"},
        {"numa_topology": json.dumps({"cells": []})},
        {"numa_topology": json.dumps(numa(cell(id=None)))},
        {"numa_topology": json.dumps(numa(cell(memory=-1)))},
        {"numa_topology": json.dumps(numa(cell(cpuset="0-3")))},
        {"numa_topology": json.dumps(numa(cell(pcpuset=[-1])))},
        {"numa_topology": json.dumps(numa(cell(cpu_pinning_raw=[4])))},
        {"numa_topology": json.dumps(numa(cell(cpu_pinning_raw={"a": 4})))},
        {"numa_topology": json.dumps(numa(cell(cpu_pinning_raw={"0": None})))},
        {"numa_topology": json.dumps(numa(cell(pagesize=0)))},
        {"numa_topology": json.dumps(numa(5))},
        {"compute_id": "1"},
        {"power_state": True},
        {"os_type": 7},
        {"host": 5},
        {"deleted": "yes"},
        {"updated_at": "yesterday"},
    ],
)
def test_a_broken_instance_row_affects_only_its_instance(changes):
    """One of two instance rows in nova's database is broken. The agent still reads the other instance."""
    groups = {"instances": (instance_row(**changes), instance_row(uuid=TWO, id=2))}
    broken, whole = state(**groups).instances

    assert (broken.uuid, broken.flavor) == (ONE, None)
    assert ONE in broken.problem
    assert (whole.flavor, whole.problem) == (SMALL_FLAVOR, None)
    assert state(**groups).unreadable == (broken.problem,)


def test_an_instance_row_error_shows_table_and_column():
    """An error about an instance's row contains the table, the instance's UUID and the invalid column."""
    instance = one_instance(instances=(instance_row(flavor=None),))

    assert instance.problem == f"instance_extra of instance {ONE}: flavor is NULL"


def test_an_instance_row_without_a_uuid_is_unreadable():
    assert state(instances=(instance_row(uuid=None),)).unreadable == ("instances id 1: uuid is None",)


def test_a_deleted_row_in_the_table_instance_extra_is_ignored():
    """An instance has a deleted and a current row in nova's table instance_extra. The agent reads the current row."""
    stale = instance_row(extra_id=9, extra_deleted=9, flavor=flavor_text(changed(vcpus=64)))

    assert one_instance(instances=(stale, instance_row())).flavor == SMALL_FLAVOR
    assert one_instance(instances=(instance_row(), stale)).flavor == SMALL_FLAVOR


def test_the_migration_id_is_read_from_the_migration_context():
    """The agent reads the ID of a running migration from the instance's column migration_context."""
    assert one_instance(instances=(instance_row(migration_context=json.dumps(CONTEXT)),)).migration_context_id == 4


def test_a_migration_context_of_version_1_0_has_no_migration_id():
    """The agent accepts nova's old migration context of version 1.0, which contains no migration ID."""
    old = {**CONTEXT, "nova_object.version": "1.0", "nova_object.data": {"instance_uuid": ONE}}

    assert context_from_document(json.dumps(old), "here") == MigrationContext(migration_id=None)


def test_plain_columns_of_an_instance_row_are_read():
    """The agent reads the columns compute_id, os_type, power_state and created_at of an instance's row in nova."""
    instance = one_instance()

    assert (instance.compute_id, instance.os_type, instance.power_state) == (1, "linux", 1)
    assert instance.created_at == datetime.datetime(2026, 11, 21, 10, 58, 5)  # noqa: DTZ001


def test_a_missing_column_is_read_as_null():
    """If nova's database lacks a column of the instances, the agent reads the column as NULL."""
    row = {name: value for name, value in instance_row().items() if name not in ("compute_id", "numa_topology")}
    instance = one_instance(instances=({**row, "invented_in_nova_40": object()},))

    assert (instance.compute_id, instance.numa, instance.problem) == (None, None, None)


def test_the_numa_cells_of_an_instance_are_read():
    """The agent reads an instance's NUMA cells from the column numa_topology of nova's database."""
    assert one_instance(instances=(instance_row(numa_topology=json.dumps(numa(CELL))),)).numa == (PINNED,)


def test_the_numa_cells_of_an_instance_are_sorted_by_id():
    """The agent sorts an instance's NUMA cells by ID."""
    newer = {**cell(id=1, cpu_pinning_raw=None, burst=1), "nova_object.version": "1.9"}
    cells = one_instance(instances=(instance_row(numa_topology=json.dumps(numa(newer, CELL))),)).numa

    assert [c.id for c in cells] == [0, 1]
    assert cells[1].pinning == ()


def test_pinned_cpus_without_pcpuset_are_read_from_cpuset():
    """Older nova stored pinned CPUs in the field cpuset of a NUMA cell. The agent reads them as pcpuset."""
    fields = {name: value for name, value in CELL["nova_object.data"].items() if name != "pcpuset"}
    old = {**CELL, "nova_object.version": "1.4", "nova_object.data": {**fields, "cpuset": [0]}}

    assert one_instance(instances=(instance_row(numa_topology=json.dumps(numa(old))),)).numa == (PINNED,)


def test_an_old_numa_cell_without_pinning_keeps_its_cpuset():
    """A NUMA cell without pcpuset and without pinning has shared CPUs, and the agent keeps them in cpuset."""
    data = {"id": 0, "cpuset": [1, 0], "memory": 512}
    old = {**CELL, "nova_object.version": "1.0", "nova_object.data": data}

    [found] = one_instance(instances=(instance_row(numa_topology=json.dumps(numa(old))),)).numa
    assert found == InstanceCell(id=0, memory_mib=512, cpuset=(0, 1))


def test_a_migration_context_is_read_with_its_numa_cells():
    """The agent reads the old and new NUMA cells and the old PCI addresses from a migration context of nova."""
    text = context_text(
        old_numa_topology=numa(CELL),
        new_numa_topology=numa(cell(id=1)),
        old_pci_devices=devices("0000:82:00.0", "0000:81:0A.0"),
        new_pci_devices=None,
    )

    assert one_instance(instances=(instance_row(migration_context=text),)).context == MigrationContext(
        migration_id=4,
        old_numa=(PINNED,),
        new_numa=(replace(PINNED, id=1),),
        old_pci=("0000:81:0a.0", "0000:82:00.0"),
    )


def test_pci_device_rows_are_sorted_and_read_without_duplicates():
    """The agent reads the PCI devices of nova's table pci_devices once each, sorted by ID."""
    other = pci_row(id=2, address="0000:82:00.0", dev_type="type-PCI", status="available", instance_uuid=None)
    found = state(pci_devices=(other, pci_row(), pci_row())).pci_devices

    assert [d.id for d in found] == [1, 2]
    assert found[0] == PciRow(
        id=1,
        compute_node_id=1,
        address="0000:81:00.1",
        vendor_id="8086",
        product_id="10ed",
        kind="type-VF",
        status="allocated",
        instance_uuid=ONE,
        numa_node=1,
        parent_address="0000:81:00.0",
    )


@pytest.mark.parametrize("changes", [{"address": None}, {"status": ""}, {"numa_node": "1"}, {"id": None}])
def test_a_broken_pci_row_affects_only_its_instance(changes):
    """If a row of nova's table pci_devices is broken, only the instance that uses the device becomes unreadable."""
    rows = (instance_row(), instance_row(uuid=TWO, id=2))
    result = state(instances=rows, pci_devices=(pci_row(**changes), pci_row(id=2, instance_uuid=TWO)))

    assert [d.id for d in result.pci_devices] == [2]
    assert [i.flavor for i in result.instances] == [None, SMALL_FLAVOR]
    assert len(result.unreadable) == 1
    assert "pci_devices id" in result.unreadable[0]


@pytest.mark.parametrize(
    ("disks", "image_ref", "volume"),
    [
        ((("volume", 0),), "i1", True),
        ((("local", 0),), "", False),
        (((None, 0),), "", False),
        ((), "", True),
        ((), None, True),
        ((), "i1", False),
        ((("volume", 7),), "i1", False),  # detached: the deleted row does not count
        ((("volume", 7), ("local", 0)), "", False),
    ],
)
def test_boot_from_volume_depends_on_boot_disk_and_image(disks, image_ref, volume):
    """An instance boots from a volume if its boot disk is a volume, or if it has no boot disk and no image."""
    rows = tuple(
        {"id": number, "instance_uuid": ONE, "deleted": deleted, "boot_index": 0, "destination_type": destination}
        for number, (destination, deleted) in enumerate(disks)
    )

    assert one_instance(instances=(instance_row(image_ref=image_ref),), boot_disks=rows).boots_from_volume is volume


def test_a_deleted_instance_keeps_its_boot_disk():
    """The agent reads the boot disk of a deleted instance from the disk's deleted row in nova's database."""
    disk = {"id": 3, "instance_uuid": ONE, "deleted": 3, "boot_index": 0, "destination_type": "volume"}

    assert one_instance(instances=(instance_row(deleted=1),), boot_disks=(disk,)).boots_from_volume


@pytest.mark.parametrize(
    ("migration_type", "old", "new", "kind"),
    [
        ("evacuation", 1, 2, "evacuation"),
        (None, 1, 2, "resize"),
        (None, 1, 1, "migration"),
        (None, None, None, "migration"),
    ],
)
def test_a_missing_migration_type_follows_from_the_flavors(migration_type, old, new, kind):
    """The agent reads a migration without a type as a resize if the old and the new flavor differ."""
    row = migration_row(migration_type=migration_type, old_instance_type_id=old, new_instance_type_id=new)

    assert migration_from_row(row).kind == kind


@pytest.mark.parametrize("changes", [{"status": None}, {"id": None}, {"updated_at": "0000-00-00 00:00:00"}])
def test_a_broken_migration_makes_its_instance_unreadable(changes):
    """The agent reports an instance as unreadable if the row of its migration in nova's database is broken."""
    result = state(instances=(instance_row(),), migrations=(migration_row(**changes),))

    assert result.migrations == ()
    assert result.instances[0].flavor is None
    assert len(result.unreadable) == 1
    assert "migrations id" in result.unreadable[0]


def test_an_instance_is_readable_with_a_broken_evacuation_row():
    """The agent still reads an instance if the row of its finished evacuation is broken."""
    result = state(instances=(instance_row(),), finished_evacuations=(migration_row(status=None),))

    assert result.instances[0].flavor == SMALL_FLAVOR
    assert len(result.unreadable) == 1


@pytest.mark.parametrize(
    "groups",
    [
        {"nodes": (node_row(uuid=None),)},
        {"nodes": (node_row(hypervisor_hostname=None),)},
        {"nodes": (node_row(vcpus="many"),)},
        {"services": (service_row(id=None),)},
        {"services": (service_row(), service_row(id=2))},
    ],
)
def test_a_broken_node_or_service_row_raises_an_error(groups):
    """A broken row of a compute node or a service in nova's database raises an error."""
    with pytest.raises(SourceInconsistent, match=r"compute_nodes|services"):
        state(**groups)


def test_a_service_is_enabled_if_disabled_is_null():
    """The agent counts a nova service as enabled if its column disabled is NULL."""
    service = state(services=(service_row(disabled=None),)).service

    assert (service.disabled, service.forced_down, service.version) == (False, False, 74)


def test_timestamps_with_a_zone_are_converted_to_utc():
    # The form of the versioned objects ("2026-11-21T10:58:05Z"), and one hour east of it.
    for text in ("2026-11-21T10:58:05Z", "2026-11-21T11:58:05+01:00"):
        assert migration_from_row(migration_row(created_at=text)).created_at == datetime.datetime(  # noqa: DTZ001
            2026, 11, 21, 10, 58, 5
        )


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
TIMES = st.datetimes() | st.datetimes(timezones=st.timezones())
CELLS = ANY_JSON | st.binary(max_size=8) | TIMES | st.integers(min_value=10**5000)


def bent(row):
    """Return rows in which any columns have odd values or are missing."""
    return st.dictionaries(st.sampled_from(sorted(row)), CELLS, max_size=4).map(lambda changes: {**row, **changes})


def groups_of(row):
    return st.lists(bent(row), max_size=3).map(tuple)


DISK = {"id": 1, "instance_uuid": ONE, "deleted": 0, "boot_index": 0, "destination_type": "local"}
ANY_ROWS = st.builds(
    CellRows,
    now=CELLS,
    services=groups_of(service_row()),
    nodes=groups_of(node_row()),
    instances=groups_of(instance_row()),
    boot_disks=groups_of(DISK),
    migrations=groups_of(migration_row()),
    finished_evacuations=groups_of(migration_row()),
    pci_devices=groups_of(pci_row()),
)
FULL_CONTEXT = json.loads(
    context_text(old_numa_topology=numa(CELL), new_numa_topology=numa(CELL), old_pci_devices=devices("0000:81:00.1"))
)


@st.composite
def bent_document(draw, document):
    """Return the document with one odd or missing value somewhere inside."""
    bent_one = copy.deepcopy(document)
    node = bent_one
    while True:
        keys = sorted(node) if isinstance(node, dict) else range(len(node))
        if not keys:
            return bent_one
        key = draw(st.sampled_from(keys))
        if isinstance(node[key], dict | list) and draw(st.booleans()):
            node = node[key]
        elif isinstance(node, dict) and draw(st.booleans()):
            del node[key]
            return bent_one
        else:
            node[key] = draw(ANY_JSON)
            return bent_one


@given(ANY_ROWS)
def test_damaged_nova_rows_are_read_or_rejected(rows):
    """Damaged rows of nova's database are read or rejected with SourceInconsistent. They cause no other error."""
    try:
        result = state_from_rows("cmp1", rows)
    except SourceInconsistent:
        return
    for instance in result.instances:
        assert (instance.flavor is None) == (instance.problem is not None)
        assert instance.problem is None or instance.problem in result.unreadable


@given(st.text() | st.from_regex(r'\{"(cur|nova_object\.name|nova_object\.data)": .{0,9}\}') | ANY_JSON.map(json.dumps))
def test_the_error_for_broken_json_says_where_it_was(text):
    """If a JSON text from nova's database cannot be parsed, the error contains the place where it was read."""
    for parse in (flavors_from_document, context_from_document, numa_from_document):
        with pytest.raises(SourceInconsistent, match="here"):
            parse(text, "here")


@given(
    bent_document({"cur": SMALL, "old": SMALL, "new": SMALL}).map(json.dumps),
    bent_document(numa(CELL, cell(id=1))).map(json.dumps),
    bent_document(FULL_CONTEXT).map(json.dumps),
)
def test_damaged_json_affects_only_its_instance(flavor, topology, context):
    """The JSON of one of two instances is damaged at random. The agent still reads the other instance."""
    bent_one = instance_row(flavor=flavor, numa_topology=topology, migration_context=context)
    result = state(instances=(bent_one, instance_row(uuid=TWO, id=2)), pci_devices=(pci_row(),))
    spoiled, whole = result.instances

    assert (whole.flavor, whole.problem, len(result.pci_devices)) == (SMALL_FLAVOR, None, 1)
    assert (spoiled.flavor is None) == (spoiled.problem is not None)
    assert result.unreadable == ((spoiled.problem,) if spoiled.problem else ())
    assert spoiled.problem is None or ONE in spoiled.problem


@given(
    st.fixed_dictionaries({name: st.integers(0, 2**40) for name in ("vcpus", "memory_mb", "root_gb", "ephemeral_gb")}),
    st.dictionaries(st.text(), st.text(), max_size=4),
)
def test_a_valid_flavor_is_read_unchanged(sizes, specs):
    """The agent reads the sizes and extra_specs of a flavor exactly as they are in nova's database."""
    flavor = flavor_from_primitive(changed(**sizes, extra_specs=specs), "here")

    read = {"vcpus": flavor.vcpus, "memory_mb": flavor.memory_mib}
    assert {**read, "root_gb": flavor.root_gib, "ephemeral_gb": flavor.ephemeral_gib} == sizes
    assert dict(flavor.extra_specs) == specs


@given(st.lists(st.integers(1, 50), unique=True, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_nova_rows_does_not_matter(numbers, shuffler: random.Random):
    """The agent reads the same state in whatever order nova's rows arrive, even if a row arrives twice."""
    instances = [instance_row(id=n, uuid=f"00000000-0000-4000-8000-{n:012d}") for n in numbers]
    migrations = [migration_row(id=n) for n in numbers]
    nodes = [node_row(id=n) for n in numbers]
    plain = state(instances=tuple(instances), migrations=tuple(migrations), nodes=tuple(nodes))
    for rows in (instances, migrations):
        rows.extend(list(rows))
    for rows in (instances, migrations, nodes):
        shuffler.shuffle(rows)

    assert state(instances=tuple(instances), migrations=tuple(migrations), nodes=tuple(nodes)) == plain
