"""Values that describe planned writes, in execution order. Only modules with the name ``writer`` execute a plan."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from agent.errors import PlacementError
from agent.model.node_record import NodeRecord
from agent.model.placement import Allocation, Inventory


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateProvider:
    """POST /resource_providers."""

    provider_uuid: str
    name: str
    parent_uuid: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutInventories:
    """Replace all inventories of a provider (PUT …/inventories).

    The classes that the agent does not own keep the values that the agent read.
    """

    provider_uuid: str
    inventories: tuple[Inventory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PutTraits:
    """Replace all traits of a provider (PUT …/traits); the request also has the traits that the agent does not own."""

    provider_uuid: str
    traits: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PutAggregates:
    """Replace all aggregates of a provider (PUT …/aggregates)."""

    provider_uuid: str
    aggregates: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteProvider:
    """DELETE /resource_providers/{uuid}."""

    provider_uuid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameProvider:
    """PUT /resource_providers/{uuid} with a new name and no other change. Only ``adopt`` renames providers."""

    provider_uuid: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveProvider:
    """PUT /resource_providers/{uuid} with another parent.

    Below microversion 1.37 the request can only set a parent for a provider that has none. ``name`` is the current
    name, because the request replaces both name and parent.
    """

    provider_uuid: str
    name: str
    parent_uuid: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutAllocations:
    """PUT /allocations/{consumer}: the complete new allocations of the consumer. An empty set removes the consumer.

    ``consumer_generation`` is the generation that the agent read, None for a consumer without allocations. If
    ``consumer_type`` is None, the writer sends the request at microversion 1.28, which keeps the consumer's type.

    Only ``heal`` and ``undo`` create this write for instances and migrations. Audits create it for the agent's own
    consumers, which stand for the usage of guests and volumes that nova does not know. An agent in role companion
    (beside a nova-compute) sets the allocations of these consumers. An agent in role owner removes them.
    """

    consumer_uuid: str
    consumer_generation: int | None
    project_id: str
    user_id: str
    allocations: tuple[Allocation, ...]
    consumer_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reshape:
    """POST /reshaper: inventories of several providers and allocations of several consumers in one atomic request.

    ``inventories`` are (provider uuid, generation, complete new set); an empty set removes all inventories.
    ``allocations`` are the complete new allocations of each consumer. Only ``heal`` and ``undo`` create this write.
    """

    inventories: tuple[tuple[str, int, tuple[Inventory, ...]], ...]
    allocations: tuple[PutAllocations, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateComputeNode:
    """Create a compute node record (conductor: ComputeNode.create).

    If a soft-deleted row has the record's uuid, nova restores this row.
    """

    record: NodeRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveComputeNode:
    """Change an existing compute node record: save only the fields that changed (conductor: ComputeNode.save)."""

    record: NodeRecord
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteComputeNode:
    """Delete an orphaned record, only if it still belongs to this host (conductor: ComputeNode.destroy)."""

    record: NodeRecord


RecordWrite = CreateComputeNode | SaveComputeNode | DeleteComputeNode
Write = CreateProvider | MoveProvider | PutInventories | PutTraits | PutAggregates | DeleteProvider


AnyWrite = Write | PutAllocations | RecordWrite


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """A necessary write that the agent holds back, and why; ``what`` names the write or the resource class."""

    provider_uuid: str
    what: str
    why: str


#: The value of ``HeldBack.what`` if the agent holds back every write.
EVERYTHING = "everything"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Writes in execution order, and the writes that the agent holds back.

    The order of execution is ``writes``, ``allocations``, ``records``, ``removals``.
    ``writes``: writes to this host's provider tree.
    ``held_back``: the writes that the agent holds back, with the reason.
    ``generations``: (provider uuid, generation that the agent read) of each existing provider that the plan writes.
    ``allocations``: writes for the agent's own consumers. An agent in role companion sets these consumers' allocations,
    an agent in role owner removes these allocations.
    ``records``: writes to nova's compute node records. The records must agree with Placement, so the agent skips these
    writes if a write to Placement failed. A permanently rejected write in ``writes`` does not count as a failure.
    ``removals``: providers of orphaned compute nodes. The agent deletes a node's record before its provider. nova
    refuses to delete the record if it now belongs to another host; then the agent keeps the provider.
    """

    writes: tuple[Write, ...] = ()
    held_back: tuple[HeldBack, ...] = ()
    generations: tuple[tuple[str, int], ...] = ()
    allocations: tuple[PutAllocations, ...] = ()
    records: tuple[RecordWrite, ...] = ()
    removals: tuple[DeleteProvider, ...] = ()

    @classmethod
    def nothing(cls, provider_uuid: str, what: str, why: str) -> Plan:
        """Return a plan without writes, which only reports that one write is held back, and why."""
        return cls(held_back=(HeldBack(provider_uuid=provider_uuid, what=what, why=why),))

    @property
    def is_empty(self) -> bool:
        """Whether the plan has no write."""
        return not (self.writes or self.allocations or self.records or self.removals)

    @property
    def digest(self) -> str:
        """SHA-256 of the writes: plans with equal digests make the same changes."""
        all_of_them = (*self.writes, *self.allocations, *self.records, *self.removals)
        body = [[type(write).__name__, asdict(write)] for write in all_of_them]
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


EMPTY_PLAN = Plan()


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedWrite:
    """A write that Placement rejected and would reject again, with Placement's error."""

    write: Write
    error: PlacementError


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What the writer did.

    ``done`` are the writes that Placement acknowledged, ``refused`` those that it rejected permanently. ``requests`` is
    the number of requests sent. ``unknown_traits`` are standard traits that this Placement does not know. The writer
    leaves them out, so the writes in ``done`` lack them too.
    """

    done: tuple[Write, ...]
    requests: int
    refused: tuple[RefusedWrite, ...] = ()
    unknown_traits: frozenset[str] = frozenset()
