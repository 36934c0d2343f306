"""What is to be written, in order, as values. Only the writer carries a plan out."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from agent.errors import PlacementError
from agent.model.placement import Inventory


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


Write = CreateProvider | PutInventories | PutTraits | PutAggregates | DeleteProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """A write, or a class of one, that is due but must not be done now, and why."""

    provider_uuid: str
    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Writes in execution order, and what was held back.

    ``generations`` are (provider uuid, generation as observed) of the providers
    that the plan writes; one that the plan creates is not listed.
    """

    writes: tuple[Write, ...] = ()
    held_back: tuple[HeldBack, ...] = ()
    generations: tuple[tuple[str, int], ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the writes: two plans with equal digests do the same."""
        body = [[type(write).__name__, asdict(write)] for write in self.writes]
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
