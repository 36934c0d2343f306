"""Placement's objects as the agent reads them: providers, inventories, traits, allocations, consumers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from agent.model.memo import for_the_same_arguments

MAX_UNIT_DEFAULT = 2**31 - 1


class ProviderKey(NamedTuple):
    """(kind, name), which identifies a provider of the agent before its uuid is known. The root's key is ROOT."""

    kind: str
    name: str


ROOT = ProviderKey("root", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The inventory of one class of one provider. Every field is always set, so ``!=`` detects any change."""

    resource_class: str
    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_UNIT_DEFAULT
    step_size: int = 1
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> float:
        """(total − reserved) × ratio: the maximum that Placement allocates to all consumers together."""
        return (self.total - self.reserved) * self.allocation_ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A resource provider in its current state. ``generation`` is None for a provider that does not exist yet."""

    uuid: str
    name: str
    parent_uuid: str | None
    generation: int | None
    inventories: tuple[Inventory, ...] = ()
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()

    def inventory(self, resource_class: str) -> Inventory | None:
        """Return the inventory of the class, None if the provider has no inventory of the class."""
        return next((i for i in self.inventories if i.resource_class == resource_class), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """An amount of one resource class that Placement allocated to one consumer from one provider."""

    consumer_uuid: str
    consumer_generation: int | None
    provider_uuid: str
    resource_class: str
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlistedUsage:
    """Usage of one class on one provider: Placement counts it as used, but lists it in no consumer's allocations."""

    provider_uuid: str
    resource_class: str
    amount: int


#: The agent assumes that the clocks of all Placement servers of a cloud differ by less than this number of seconds.
CLOCKS_DIFFER_S = 10.0


class Written(NamedTuple):
    """When Placement last wrote the object that a response contains.

    ``at`` is the header Last-Modified, in whole seconds. ``age_s`` is the time from Last-Modified to the header Date of
    the same response, in seconds, so the agent's clock does not matter.
    """

    at: str
    age_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerRecord:
    """The response to ``GET /allocations/{consumer}``: all allocations of the consumer, on this host and elsewhere.

    ``consumer_type`` is None if the server does not support microversion 1.38 or the consumer has no type. ``written``
    says when Placement last wrote the record; None if the response does not say so. Comparisons ignore ``written``.
    """

    consumer_uuid: str
    generation: int | None
    project_id: str | None
    user_id: str | None
    allocations: tuple[Allocation, ...]
    consumer_type: str | None = None
    written: Written | None = field(default=None, compare=False)

    def is_older_than(self, seconds: float) -> bool:
        """Return whether Placement certainly wrote the record more than ``seconds`` before its response.

        False if the response does not say when Placement wrote the record. The clocks of Placement's servers may
        differ, and the times in a response have whole seconds. So the record must be older than ``seconds`` by
        CLOCKS_DIFFER_S.
        """
        return self.written is not None and self.written.age_s >= seconds + CLOCKS_DIFFER_S


class LeftProvider(NamedTuple):
    """A provider that stayed in Placement when the agent deleted the compute node record with the same uuid."""

    uuid: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DetachedTree:
    """A provider outside this host's tree, with all providers below it (parents first) and their allocations.

    ``uuid`` is the uuid that the agent searched for. It belongs to an orphaned compute node or to one of the agent's
    own providers. ``providers`` is empty if Placement has no such provider.
    """

    uuid: str
    providers: tuple[Provider, ...] = ()
    allocations: tuple[Allocation, ...] = ()

    @property
    def root(self) -> Provider | None:
        """The provider with the uuid that the agent searched for; None if Placement has no such provider."""
        return next((p for p in self.providers if p.uuid == self.uuid), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingProvider:
    """A provider outside this host's tree that shares its resources with the tree through an aggregate.

    ``allocations`` are only a part of the provider's allocations: one read covers a limited number of consumers.
    """

    provider: Provider
    allocations: tuple[Allocation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementView:
    """One consistent read of this host's provider tree.

    ``providers``: the root and all providers below it, parents first; providers above the root are not included.
    ``providers`` is empty if the root does not exist yet.
    ``allocations``: all allocations on ``providers``.
    ``allocations_fresh``: False if ``allocations`` are from the cache of an earlier audit.
    ``consumers``: the answers to ``GET /allocations/{consumer}``, for those consumers about which the agent has asked.
    ``name_holder``: another provider that has the root's name.
    ``typed_consumers``: whether the server stores a consumer's type (microversion 1.38).
    ``orphans``: the trees of this host's orphaned compute nodes, if requested. Their allocations are never cached.
    ``shared``: the providers that share with this host's tree; they are never part of the tree.
    ``shared_is_read``: whether this read included sharing providers. If False, ``shared`` proves nothing.
    ``unread``: (name, reason) of each sharing provider that the agent skipped because its list of allocations is too
    large; sorted. Such a provider is not in ``shared`` until the agent has read it.
    ``beside``: the trees of the agent's own providers outside this host's tree, as far as the agent searched for them.
    ``reparents``: whether the server can replace or remove a provider's parent (microversion 1.37). An older server can
    only set a parent for a provider that has none.
    ``microversion``: the newest microversion that the server supports, None if the agent did not ask.
    ``unlisted``: usage that Placement counts but lists in no consumer's allocations, sorted. Empty if the audit did
    not request usages. ``usages_are_read``: whether the audit requested usages.
    """

    root_uuid: str
    providers: tuple[Provider, ...]
    allocations: tuple[Allocation, ...]
    allocations_fresh: bool
    consumers: tuple[ConsumerRecord, ...] = ()
    name_holder: Provider | None = None
    requests: int = 0
    typed_consumers: bool = True
    orphans: tuple[DetachedTree, ...] = ()
    shared: tuple[SharingProvider, ...] = ()
    shared_is_read: bool = False
    unread: tuple[tuple[str, str], ...] = ()
    beside: tuple[DetachedTree, ...] = ()
    reparents: bool = True
    microversion: tuple[int, int] | None = None
    unlisted: tuple[UnlistedUsage, ...] = ()
    usages_are_read: bool = False

    @property
    def used(self) -> Mapping[tuple[str, str], int]:
        """Usage by (provider uuid, class). Placement subtracts this usage from the capacity."""
        used: dict[tuple[str, str], int] = defaultdict(int)
        for held in self.allocations:
            used[held.provider_uuid, held.resource_class] += held.amount
        for usage in self.unlisted:
            used[usage.provider_uuid, usage.resource_class] += usage.amount
        return used

    def provider(self, uuid: str) -> Provider | None:
        """Return the tree's provider that has this uuid, None if the tree has no such provider."""
        return next((p for p in self.providers if p.uuid == uuid), None)

    @property
    def known(self) -> Mapping[str, Provider]:
        """Every provider of this host's tree, and the agent's own providers outside the tree (``beside``), by uuid."""
        beside = {p.uuid: p for tree in self.beside for p in tree.providers}
        return beside | {p.uuid: p for p in self.providers}

    @property
    def consumer_uuids(self) -> frozenset[str]:
        """The uuids of the consumers that have an allocation on the tree."""
        return _consumers(self.allocations)

    @property
    def shared_consumer_uuids(self) -> frozenset[str]:
        """The uuids of the consumers with an allocation on a sharing provider, as far as the agent read them."""
        return frozenset(a.consumer_uuid for sharing in self.shared for a in sharing.allocations)

    @property
    def root(self) -> Provider | None:
        """The root provider of the tree, None if it does not exist yet."""
        return self.provider(self.root_uuid)


@for_the_same_arguments
def _consumers(allocations: tuple[Allocation, ...]) -> frozenset[str]:
    """Return the uuids of the consumers that have one of the allocations."""
    return frozenset(allocation.consumer_uuid for allocation in allocations)
