"""What Placement holds: providers, inventories, traits, allocations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

MAX_UNIT_DEFAULT = 2**31 - 1


class ProviderKey(NamedTuple):
    """A provider of ours before any uuid is known: (kind, name). The root is ROOT."""

    kind: str
    name: str


ROOT = ProviderKey("root", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """One class of one provider. Every field is always set, so that changed means ``!=``."""

    resource_class: str
    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_UNIT_DEFAULT
    step_size: int = 1
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> float:
        """(total − reserved) × ratio, what Placement lets consumers take."""
        return (self.total - self.reserved) * self.allocation_ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A resource provider as it stands. ``generation`` is None for one that does not exist yet."""

    uuid: str
    name: str
    parent_uuid: str | None
    generation: int | None
    inventories: tuple[Inventory, ...] = ()
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()

    def inventory(self, resource_class: str) -> Inventory | None:
        """The inventory of that class, or None."""
        return next((i for i in self.inventories if i.resource_class == resource_class), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """An amount of one class of one provider, held by one consumer."""

    consumer_uuid: str
    consumer_generation: int | None
    provider_uuid: str
    resource_class: str
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlistedUsage:
    """``amount`` of one class of one provider that Placement counts as used, and lists as no consumer's allocation."""

    provider_uuid: str
    resource_class: str
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerRecord:
    """What ``GET /allocations/{consumer}`` says: all that it holds, here and elsewhere.

    ``consumer_type`` is None where the server is older than 1.38, and for a consumer without one.
    """

    consumer_uuid: str
    generation: int | None
    project_id: str | None
    user_id: str | None
    allocations: tuple[Allocation, ...]
    consumer_type: str | None = None


class LeftProvider(NamedTuple):
    """A provider that stayed when we deleted its compute node record."""

    uuid: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanTree:
    """The provider of an orphaned compute node with all that is in its tree, parents first; none: it has none."""

    uuid: str
    providers: tuple[Provider, ...] = ()
    allocations: tuple[Allocation, ...] = ()

    @property
    def root(self) -> Provider | None:
        """The node's own provider."""
        return next((p for p in self.providers if p.uuid == self.uuid), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingProvider:
    """A provider outside our tree that it may take from through an aggregate; ``allocations`` are some of its."""

    provider: Provider
    allocations: tuple[Allocation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeBeside:
    """A provider of ours that is not in our tree, and all below it, parents first; none: there is no such one.

    ``uuid`` is the provider that was looked for. One that shares through an aggregate is the root of such a tree.
    """

    uuid: str
    providers: tuple[Provider, ...] = ()
    allocations: tuple[Allocation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementView:
    """One consistent look at our provider tree.

    ``providers`` hold the root and all below it, parents first, nothing above it; empty where the root
    does not exist yet. ``allocations`` are those on them. ``allocations_fresh``
    is False where they stand as an earlier audit read them (principle 6).
    ``consumers`` are the records of single consumers that were read.
    ``name_holder`` is another provider that bears our root's name. ``orphans`` are the
    trees of orphaned compute nodes that were looked at, allocations always read now.
    ``typed_consumers``: the server keeps a consumer's type (1.38). ``shared`` are the
    providers that share with our root, never part of our tree; ``shared_is_read`` says
    whether they were looked for in this very look: without it nothing is known of them.
    ``beside`` are trees of providers of ours that were looked for outside our tree. ``reparents``: the server gives a
    provider another parent, or none (1.37); an older one only gives a parent to one that has none.
    ``unread`` names what shares with our tree and was not taken since its list of allocations is too large, with the
    reason; sorted. It is in ``shared`` of no look until it was read.
    ``unlisted`` is what Placement counts beyond ``allocations``, sorted; empty where there is none, and in an audit
    that did not ask for it.
    ``microversion`` is the newest that the server speaks, None where nobody asked.
    """

    root_uuid: str
    providers: tuple[Provider, ...]
    allocations: tuple[Allocation, ...]
    allocations_fresh: bool
    consumers: tuple[ConsumerRecord, ...] = ()
    name_holder: Provider | None = None
    requests: int = 0
    typed_consumers: bool = True
    orphans: tuple[OrphanTree, ...] = ()
    shared: tuple[SharingProvider, ...] = ()
    shared_is_read: bool = False
    unread: tuple[tuple[str, str], ...] = ()
    beside: tuple[TreeBeside, ...] = ()
    reparents: bool = True
    microversion: tuple[int, int] | None = None
    unlisted: tuple[UnlistedUsage, ...] = ()

    @property
    def used(self) -> Mapping[tuple[str, str], int]:
        """By (provider uuid, class), what the scheduler subtracts."""
        used: dict[tuple[str, str], int] = defaultdict(int)
        for held in self.allocations:
            used[held.provider_uuid, held.resource_class] += held.amount
        for usage in self.unlisted:
            used[usage.provider_uuid, usage.resource_class] += usage.amount
        return used

    def provider(self, uuid: str) -> Provider | None:
        """The provider of the tree with that uuid, or None."""
        return next((p for p in self.providers if p.uuid == uuid), None)

    @property
    def known(self) -> Mapping[str, Provider]:
        """By uuid, every provider of our tree and of those beside it."""
        beside = {p.uuid: p for tree in self.beside for p in tree.providers}
        return beside | {p.uuid: p for p in self.providers}

    @property
    def consumer_uuids(self) -> frozenset[str]:
        """Consumers that hold anything on the tree."""
        return frozenset(a.consumer_uuid for a in self.allocations)

    @property
    def shared_consumer_uuids(self) -> frozenset[str]:
        """Consumers that hold anything on the sharing providers, as far as they were read."""
        return frozenset(a.consumer_uuid for sharing in self.shared for a in sharing.allocations)

    @property
    def root(self) -> Provider | None:
        """Our root provider as it stands, or None."""
        return self.provider(self.root_uuid)
