"""Show the agent's changes of nova's compute node records as JSON documents and as text. Pure: no I/O."""

from __future__ import annotations

import dataclasses
from typing import Any

from agent.model.plan import CreateComputeNode, DeleteComputeNode, RecordWrite, SaveComputeNode

Document = dict[str, Any]

RECORD_KINDS: dict[type[RecordWrite], str] = {
    CreateComputeNode: "create-compute-node",
    SaveComputeNode: "save-compute-node",
    DeleteComputeNode: "delete-compute-node",
}


def record_document(write: RecordWrite) -> Document:
    """Return the kind of the write, the uuid, the node's name, and the written fields with their values.

    The uuid is that of the compute node record and of its resource provider.
    """
    record = write.record
    match write:
        case CreateComputeNode():
            fields = tuple(field.name for field in dataclasses.fields(record) if field.name != "id")
        case SaveComputeNode():
            fields = write.changed
        case DeleteComputeNode():
            fields = ()
    values = dataclasses.asdict(record)
    return {
        "kind": RECORD_KINDS[type(write)],
        "provider_uuid": record.uuid,
        "node": record.hypervisor_hostname,
        "changed": list(fields),
        "values": {name: _plain(values[name]) for name in fields},
    }


def record_words(node: str, changed: list[str]) -> str:
    """Return the node's name, and the names of all written fields."""
    return f"{node}: {', '.join(changed)}" if changed else node


def record_text(write: RecordWrite) -> str:
    """Return one write as text for a log line: "compute node record UUID: save NODE: vcpus, memory_mb"."""
    document = record_document(write)
    what = document["kind"].removesuffix("-compute-node")
    changed = document["changed"] if isinstance(write, SaveComputeNode) else []
    return f"compute node record {write.record.uuid}: {what} {record_words(document['node'], changed)}"


def _plain(value: object) -> object:
    return [_plain(part) for part in value] if isinstance(value, tuple) else value
