"""A compute node's record as a versioned object, and the object as a record."""

import contextlib
import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.conductor.node_wire import changed_node, known_node, new_node, record_from_fields
from agent.errors import SourceInconsistent
from agent.model.node_record import NodeRecord
from tests.rigs.conductor_primitives import envelope

amounts = st.integers(-(2**31), 2**31)
texts = st.text(min_size=1, max_size=12)
json_texts = st.none() | st.dictionaries(texts, amounts, max_size=3).map(json.dumps)
ratios = st.none() | st.floats(0.1, 100)


@st.composite
def records(draw):
    pools = draw(st.none() | st.lists(amounts, max_size=2))
    stats = draw(st.dictionaries(texts, st.none() | texts, max_size=4))
    return NodeRecord(
        id=draw(st.integers(1, 99)),
        uuid=str(draw(st.uuids())),
        host=draw(texts),
        hypervisor_hostname=draw(texts),
        service_id=draw(st.none() | amounts),
        hypervisor_type=draw(texts),
        host_ip=draw(st.none() | texts),
        cpu_info=draw(texts),
        numa_topology=draw(json_texts),
        pci_pools=None if pools is None else json.dumps(envelope("PciDevicePoolList", "1.1", {"objects": pools})),
        supported_instances=tuple(draw(st.lists(st.tuples(texts, texts, texts), max_size=3))),
        stats=tuple(sorted(stats.items())),
        metrics=draw(json_texts),
        cpu_ratio=draw(ratios),
        memory_ratio=draw(ratios),
        disk_ratio=draw(ratios),
        disk_available_least_gib=draw(st.none() | amounts),
        **{name: draw(amounts) for name in AMOUNTS},
    )


AMOUNTS = (
    "vcpus", "memory_mib", "local_gib", "vcpus_used", "memory_mib_used", "local_gib_used", "free_ram_mib",
    "free_disk_gib", "current_workload", "running_vms", "hypervisor_version",
)  # fmt: skip


def over_the_wire(primitive):
    """Return what the receiver of the primitive gets."""
    return json.loads(json.dumps(primitive))


@given(records())
def test_a_new_compute_node_is_sent_without_an_id(record):
    """A new compute node is sent to nova-conductor with all its fields except the id."""
    primitive = over_the_wire(new_node(record))
    data = primitive["nova_object.data"]

    assert "id" not in data
    assert sorted(data) == primitive["nova_object.changes"]
    assert record_from_fields({**data, "id": record.id}) == record


@given(records(), records())
def test_a_changed_compute_node_is_sent_with_changes_only(stored, other):
    """A changed compute node is sent to nova-conductor with its id, its uuid and only the changed fields."""
    wanted = replace(other, id=stored.id, uuid=stored.uuid)
    changed = wanted.changes(stored)
    primitive = changed_node(wanted, changed)
    # Ratios that are None are left to nova's defaults.
    unsaid = {name for name in changed if name.endswith("_ratio") and getattr(wanted, name) is None}
    if primitive is None:
        assert set(changed) == unsaid
        return
    data = over_the_wire(primitive)["nova_object.data"]

    assert (data["id"], data["uuid"]) == (stored.id, stored.uuid)
    assert len(primitive["nova_object.changes"]) == len(changed) - len(unsaid)
    assert set(data) == {"id", "uuid", *primitive["nova_object.changes"]}
    assert not {"id", "uuid"} & set(primitive["nova_object.changes"])


@given(records())
def test_compute_node_fields_have_distinct_names(record):
    """No two fields of a compute node are sent to nova-conductor under the same name."""
    record = replace(record, cpu_ratio=1.0, memory_ratio=1.0, disk_ratio=1.0)
    names = [field.name for field in fields(record) if field.name not in {"id", "uuid"}]

    assert len({changed_node(record, (name,))["nova_object.changes"][0] for name in names}) == len(names)


@given(records())
def test_a_request_to_delete_a_compute_node_has_three_fields(record):
    """The agent's request to delete a compute node has only the node's id, uuid and host."""
    primitive = known_node(record)

    assert primitive["nova_object.data"] == {"id": record.id, "uuid": record.uuid, "host": record.host}
    assert primitive["nova_object.changes"] == []


def test_pci_pools_are_stored_without_nova_object_changes():
    """The agent stores the PCI pools of a compute node without the key `nova_object.changes`."""
    pool = {**envelope("PciDevicePool", "1.1", {"count": 1}), "nova_object.changes": ["count"]}
    pools = {**envelope("PciDevicePoolList", "1.1", {"objects": [pool]}), "nova_object.changes": ["objects"]}
    record = record_from_fields({**WHOLE, "pci_device_pools": pools})

    assert "changes" not in record.pci_pools
    assert json.loads(record.pci_pools)["nova_object.data"]["objects"][0]["nova_object.data"] == {"count": 1}


WHOLE = {"id": 1, "uuid": "u", "host": "h", "hypervisor_hostname": "n"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("uuid", None),
        ("host", ""),
        ("vcpus", "many"),
        ("cpu_info", {}),
        ("stats", []),
        ("stats", {"a": 1}),
        ("supported_hv_specs", {}),
        ("supported_hv_specs", [["x86_64", "kvm", "hvm"]]),
        ("supported_hv_specs", [envelope("HVSpec", "1.2", {"arch": "x86_64"})]),
        ("cpu_allocation_ratio", "4"),
        ("cpu_allocation_ratio", True),
        ("pci_device_pools", {1, 2}),
    ],
)
def test_an_invalid_compute_node_error_shows_the_id(name, value):
    """If nova-conductor sends a compute node with an invalid field, the error shows the node's id."""
    with pytest.raises(SourceInconsistent, match="compute node id 1"):
        record_from_fields({**WHOLE, name: value})


def test_missing_compute_node_fields_become_empty():
    """A field that is missing in a compute node from nova-conductor becomes 0, empty or None."""
    record = record_from_fields(WHOLE)

    assert (record.vcpus, record.stats, record.supported_instances, record.pci_pools) == (0, (), (), None)
    assert (record.cpu_ratio, record.numa_topology, record.disk_available_least_gib) == (None, None, None)


garbage = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from([*WHOLE, "stats", "supported_hv_specs", "pci_device_pools", "vcpus", "cpu_info"])


@given(st.dictionaries(names, garbage))
def test_random_compute_node_fields_cause_no_crash(found):
    """Random compute node fields are read or rejected with SourceInconsistent; no other exception occurs."""
    with contextlib.suppress(SourceInconsistent):
        record_from_fields({**WHOLE, **found})
