"""The text and the document of compute node record writes."""

from __future__ import annotations

import json

from agent.model.plan import CreateComputeNode, DeleteComputeNode, DeleteProvider, Plan, SaveComputeNode
from agent.render.audit_text import plan_lines
from agent.render.documents import plan_document
from agent.render.record_words import RECORD_KINDS, record_document, record_text
from tests.rigs.records import created, orphan, stored
from tests.rigs.screens import shown

SAVE = SaveComputeNode(record=stored(service_id=3, vcpus=9), changed=("service_id", "vcpus"))
PLAN = Plan(records=(SAVE, DeleteComputeNode(record=orphan())), removals=(DeleteProvider(provider_uuid=orphan().uuid),))


def test_compute_node_writes_are_create_save_and_delete():
    """The agent writes nova's compute node records in three ways only: it creates, saves or deletes a record."""
    assert {kind.__name__ for kind in RECORD_KINDS} == {"CreateComputeNode", "SaveComputeNode", "DeleteComputeNode"}


def test_json_lists_the_changed_fields_of_a_compute_node():
    """The JSON of a plan lists the changed fields of a compute node record with their new values."""
    assert record_document(SAVE) == {
        "kind": "save-compute-node",
        "provider_uuid": SAVE.record.uuid,
        "node": SAVE.record.hypervisor_hostname,
        "changed": ["service_id", "vcpus"],
        "values": {"service_id": 3, "vcpus": 9},
    }


def test_json_of_a_new_compute_node_has_no_id():
    """Nova's database assigns the id of a new compute node record, so the agent's JSON does not list it."""
    document = record_document(CreateComputeNode(record=created()))
    assert document["values"]["memory_mib"] == 512
    assert "id" not in document["changed"]
    assert json.loads(json.dumps(document)) == document


def test_a_plan_lists_provider_deletions_last():
    """A plan lists its changes to nova's compute node records first, and then the providers to delete in Placement."""
    document = plan_document(PLAN)
    assert [w["kind"] for w in document["writes"]] == ["save-compute-node", "delete-compute-node", "delete-provider"]
    assert document["digest"] == PLAN.digest
    lines = "\n".join(shown(plan_lines(document), 200))
    assert f"save-compute-node {SAVE.record.uuid}: cmp1.example.org: service_id, vcpus" in lines
    assert f"delete-compute-node {orphan().uuid}: old-name" in lines


def test_the_plan_digest_covers_records_and_deletions():
    """A plan's digest changes if a plan gains a compute node record or a deletion of a provider."""
    assert Plan().is_empty
    assert not Plan(removals=PLAN.removals).is_empty
    assert len({Plan().digest, Plan(records=PLAN.records).digest, Plan(removals=PLAN.removals).digest}) == 3


def test_the_text_of_a_compute_node_write_shows_the_node():
    """The agent's text about a changed compute node record contains the node's name and the changed fields."""
    assert record_text(SAVE) == f"compute node record {SAVE.record.uuid}: save cmp1.example.org: service_id, vcpus"
    assert record_text(CreateComputeNode(record=created())).endswith(": create cmp1.example.org")
