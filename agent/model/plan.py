"""What is to be written, in order, as values. Only the writer carries a plan out."""

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
    """PUT …/inventories: the whole set, unowned classes carried through as observed."""

    provider_uuid: str
    inventories: tuple[Inventory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PutTraits:
    """PUT …/traits: the whole set, others' traits carried through as observed."""

    provider_uuid: str
    traits: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PutAggregates:
    """PUT …/aggregates: the whole set."""

    provider_uuid: str
    aggregates: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteProvider:
    """DELETE /resource_providers/{uuid}."""

    provider_uuid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameProvider:
    """PUT /resource_providers/{uuid}: a new name, nothing else (``adopt`` alone does it)."""

    provider_uuid: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveProvider:
    """PUT /resource_providers/{uuid} with another parent (1.37; below, only a provider without one can be given one).

    ``name`` is the one that it has: the request replaces both.
    """

    provider_uuid: str
    name: str
    parent_uuid: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutAllocations:
    """PUT /allocations/{consumer}: all that the consumer holds from now on; nothing: the consumer is gone.

    ``consumer_generation`` is the one it was read with, None for a consumer that holds
    nothing yet. ``consumer_type`` None: sent at 1.28, which keeps the type that it has.
    Only ``heal`` and ``undo`` make one for a consumer of the cloud's, only role companion for one of ours.
    """

    consumer_uuid: str
    consumer_generation: int | None
    project_id: str
    user_id: str
    allocations: tuple[Allocation, ...]
    consumer_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reshape:
    """POST /reshaper: inventories of several providers and allocations of several consumers, all of it or nothing.

    ``inventories`` are (provider uuid, its generation, the whole set; empty: all of it goes), ``allocations`` all that
    each consumer holds from then on. Only ``heal`` and ``undo`` make one.
    """

    inventories: tuple[tuple[str, int, tuple[Inventory, ...]], ...]
    allocations: tuple[PutAllocations, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateComputeNode:
    """A new compute node record (conductor: ComputeNode.create; a soft-deleted row of its uuid comes back)."""

    record: NodeRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveComputeNode:
    """The fields of an existing record that differ from what is stored (conductor: ComputeNode.save)."""

    record: NodeRecord
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteComputeNode:
    """An orphaned record: deleted only while it is still of this host (conductor: ComputeNode.destroy)."""

    record: NodeRecord


RecordWrite = CreateComputeNode | SaveComputeNode | DeleteComputeNode
Write = CreateProvider | MoveProvider | PutInventories | PutTraits | PutAggregates | DeleteProvider


AnyWrite = Write | PutAllocations | RecordWrite


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """A write, or a class of one, that is due but must not be done now, and why."""

    provider_uuid: str
    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Writes in execution order, and what was held back.

    ``writes`` go to our provider tree, then ``allocations`` (consumers of our own, role
    companion) to Placement, then ``records`` to nova's compute node records: a record says
    what Placement has, so it is not written when Placement was not. ``removals`` come last: an
    orphaned node's provider goes only after its record did, which nova refuses when the
    record has become another host's. ``generations`` are
    (provider uuid, generation as observed) of the providers that the plan writes; one that it creates is not listed.
    """

    writes: tuple[Write, ...] = ()
    held_back: tuple[HeldBack, ...] = ()
    generations: tuple[tuple[str, int], ...] = ()
    allocations: tuple[PutAllocations, ...] = ()
    records: tuple[RecordWrite, ...] = ()
    removals: tuple[DeleteProvider, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be written."""
        return not (self.writes or self.allocations or self.records or self.removals)

    @property
    def digest(self) -> str:
        """SHA-256 of the writes: two plans with equal digests do the same."""
        all_of_them = (*self.writes, *self.allocations, *self.records, *self.removals)
        body = [[type(write).__name__, asdict(write)] for write in all_of_them]
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


EMPTY_PLAN = Plan()


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedWrite:
    """A write that Placement refuses whoever asks how often, with its words."""

    write: Write
    error: PlacementError


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What the writer did: the writes that Placement acknowledged, those that it refused for good, requests sent.

    ``unknown_traits`` are standard names that this Placement does not know: they
    were left out of the writes of traits, which are in ``done`` as they were sent.
    """

    done: tuple[Write, ...]
    requests: int
    refused: tuple[RefusedWrite, ...] = ()
    unknown_traits: frozenset[str] = frozenset()
