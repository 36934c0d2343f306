"""Write nova's compute node records through nova-conductor.

If nova rejects a write, the operator gets nova's own error text. A ``create`` with the uuid of a deleted record
restores that record, so nova keeps the host's identity.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent.conductor.client import ConductorClient
from agent.conductor.complaints import RemoteFailure
from agent.conductor.node_wire import changed_node, known_node, new_node
from agent.errors import RecordRefused
from agent.model.plan import CreateComputeNode, DeleteComputeNode, RecordWrite, SaveComputeNode
from agent.ports import Deadline


class ConductorRecords:
    """A RecordWriter that calls nova-conductor. The caller closes ``client``, which ConductorState may share."""

    def __init__(self, client: ConductorClient) -> None:
        self._client = client

    def apply(self, write: RecordWrite, deadline: Deadline) -> None:
        """See RecordWriter. Raises SourceError if the call fails, RecordRefused (with nova's text) if nova refuses."""
        record = write.record
        match write:
            case CreateComputeNode():
                self._do("create", new_node(record), write, deadline)
            case SaveComputeNode():
                if (primitive := changed_node(record, write.changed)) is not None:
                    self._do("save", primitive, write, deadline)
            case DeleteComputeNode():
                self._do("destroy", known_node(record), write, deadline)

    def _do(self, method: str, primitive: Mapping[str, object], write: RecordWrite, deadline: Deadline) -> None:
        try:
            self._client.object_action(primitive, method, [], deadline)
        except RemoteFailure as failure:
            if failure.is_transient:
                raise
            record = write.record
            raise RecordRefused(
                f"nova refuses to {method} the compute node record of {record.hypervisor_hostname} ({record.uuid}),"
                f" because of {failure.kind}: {failure.words}"
            ) from failure
