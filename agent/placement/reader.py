"""Read this host's provider tree with as few requests as the generations allow.

One ``GET /resource_providers?in_tree=`` lists all providers of the tree with their generations. If a generation is
unchanged, nothing was added or changed. But three changes leave the generation as it was:

- An allocation was removed by ``DELETE /allocations/{c}`` (measured). So allocations are read again when the audit
  requests it, and only for providers that had allocations. A provider that had no allocations still has none if its
  generation is unchanged.
- The provider was renamed. So every read takes names and parents from the list of the tree.
- The database was replaced by a backup. agent/timing/full_read_schedule.py decides when everything is read again.

Other services' nested providers are part of the tree and of the view. If an operator put several hosts below
one provider, Placement's list of the tree names all of these hosts. The agent uses only the provider of its own host
and all providers below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from agent.errors import PlacementRejected, PlacementUnavailable
from agent.model.placement import Allocation, DetachedTree, PlacementView, Provider, SharingProvider, UnlistedUsage
from agent.placement import wire
from agent.placement.allocations import AllocationClient
from agent.placement.consumers import NO_CONSUMERS, Consumers, read_consumers
from agent.placement.http.client import REPARENTING, TYPED, PlacementClient
from agent.placement.provider_requests import (
    aggregates,
    allocations,
    conflict,
    inventories,
    listed,
    none_if_gone,
    traits,
)
from agent.placement.sharing import SharingReader
from agent.placement.unlisted import read_unlisted
from agent.ports import ViewRequest

T = TypeVar("T")

#: The maximum number of entries in one tree, which limits the daemon's memory. An entry is a provider, an inventory, a
#: trait, an aggregate or an allocation. The memory's peak is 78 MiB with a few entries, 135 MiB with 12,000 entries and
#: 205 MiB with 30,000 entries. An allocation and its row in the report take about 5 KiB. 3,900 consumers with
#: allocations of three classes each have 11,700 entries. 1,000 child providers with one class, one trait and one
#: aggregate each have 4,000 entries.
MOST_ENTRIES = 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """One provider with its allocations, as they were last read in full."""

    provider: Provider
    allocations: tuple[Allocation, ...]

    @property
    def entries(self) -> int:
        """The number of entries that count towards MOST_ENTRIES: the provider and everything that it has."""
        own = self.provider
        return 1 + len(own.inventories) + len(own.traits) + len(own.aggregates) + len(self.allocations)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TreeReading:
    """The result of one read of the tree: the content of the view, and the cache for the next read."""

    providers: tuple[_Known, ...] = ()
    consumers: Consumers = NO_CONSUMERS
    allocations_fresh: bool = True
    name_holder: Provider | None = None


_NOTHING = _TreeReading()


class TreeReader:
    """Implements the protocol PlacementReader (agent/ports.py) over REST. Not thread-safe."""

    def __init__(self, client: PlacementClient) -> None:
        self._client = client
        self._last = _NOTHING
        self._orphans: tuple[_Known, ...] = ()
        self._sharing = SharingReader(client)
        self._counted: frozenset[str] | None = None

    def forget(self) -> None:
        """Drop the cache: the next call of ``view`` reads everything from Placement again, also the microversion."""
        self._last = _NOTHING
        self._orphans = ()
        self._sharing.forget()
        self._counted = None
        self._client.forget()

    def orphans(self, view: PlacementView, uuids: frozenset[str]) -> PlacementView:
        """Return ``view`` with the provider trees of more compute nodes (``uuids``), which libvirt does not report.

        Allocations are always read anew. For a tree without allocations that has not changed since the last read, one
        request is enough. Raises PlacementError.
        """
        if not uuids:
            return view
        with self._client.global_request_id():
            before = self._client.requests
            found = {uuid: _orphan(self._client, uuid, self._orphans) for uuid in sorted(uuids)}
            self._orphans = tuple(known for tree in found.values() for known in tree)
            return replace(
                view,
                orphans=tuple(
                    DetachedTree(uuid=uuid, providers=tuple(k.provider for k in tree), allocations=_held(tree))
                    for uuid, tree in found.items()
                ),
                requests=view.requests + self._client.requests - before,
            )

    def view(self, request: ViewRequest) -> PlacementView:
        """Return the present tree, parents first. If the read fails, the cache does not change.

        Raises PlacementError; GenerationConflict if providers were deleted during two attempts to read them.
        """
        with self._client.global_request_id():
            before = self._client.requests
            if request.everything:
                self._orphans = ()
                self._client.forget()
            read = partial(_read_tree, self._client, self._last, request)
            # If a provider was deleted after the list and before its parts were read, begin again with the list.
            reading = self._last = none_if_gone(read) or _unless_vanishing(read, "the tree")
            shared = self._shared(reading, request)
            unlisted = self._unlisted(reading, request)
            return PlacementView(
                root_uuid=request.root_uuid,
                providers=tuple(known.provider for known in reading.providers),
                allocations=_held(reading.providers),
                allocations_fresh=reading.allocations_fresh,
                consumers=reading.consumers.records,
                name_holder=reading.name_holder,
                requests=self._client.requests - before,
                typed_consumers=self._client.maximum() >= TYPED,
                reparents=self._client.maximum() >= REPARENTING,
                microversion=self._client.maximum(),
                shared=shared or (),
                shared_is_read=shared is not None,
                unread=self._sharing.unread,
                unlisted=unlisted,
                usages_are_read=request.usages,
            )

    def _shared(self, reading: _TreeReading, request: ViewRequest) -> tuple[SharingProvider, ...] | None:
        """Return the sharing providers of the tree; None if the audit did not request them.

        If the tree is in no aggregate, this function sends no request.
        """
        if not request.shared_reads:
            return None
        known = frozenset(allocation.consumer_uuid for allocation in _held(reading.providers))
        return self._sharing.read((known.provider for known in reading.providers), known, request)

    def _unlisted(self, reading: _TreeReading, request: ViewRequest) -> tuple[UnlistedUsage, ...]:
        """Return the usage that Placement counts although no allocation in Placement's list explains the usage.

        The first audit, each full read and each command check all providers. Other audits check only the providers on
        which the last check of all providers found such usage.
        """
        if not request.usages:
            return ()
        pairs = [(known.provider, known.allocations) for known in reading.providers]
        if self._counted is not None and not request.spares_nothing:
            return read_unlisted(self._client, [each for each in pairs if each[0].uuid in self._counted])
        found = read_unlisted(self._client, pairs)
        self._counted = frozenset(usage.provider_uuid for usage in found)
        return found


def _read_tree(client: PlacementClient, last: _TreeReading, request: ViewRequest) -> _TreeReading:
    found = _in_tree(client, request.root_uuid)
    if not found:
        consumers = read_consumers(AllocationClient(client), last.consumers, (), request)
        holders = listed(client, name=request.root_name) if request.root_name else ()
        return _TreeReading(consumers=consumers, name_holder=next(iter(holders), None))
    if request.root_uuid not in {provider.uuid for provider in found}:
        raise PlacementUnavailable(f"answer not understood: the tree lacks the requested provider {request.root_uuid}")
    known = () if request.everything else last.providers
    providers, fresh = _tree(client, _below(request.root_uuid, found), known, request.fresh_allocations)
    held = tuple((k.provider, k.allocations) for k in providers)
    consumers = read_consumers(AllocationClient(client), last.consumers, held, request)
    return _TreeReading(providers=tuple(providers), consumers=consumers, allocations_fresh=fresh)


def _in_tree(client: PlacementClient, uuid: str) -> tuple[Provider, ...]:
    return wire.parents_first(listed(client, in_tree=uuid))


def _below(root_uuid: str, providers: Iterable[Provider]) -> Iterable[Provider]:
    """Yield the root and all providers below it, from a list with parents first."""
    below = {root_uuid}
    for provider in providers:
        if provider.uuid in below or provider.parent_uuid in below:
            below.add(provider.uuid)
            yield provider


def _tree(
    client: PlacementClient,
    tree: Iterable[Provider],
    last: Iterable[_Known],
    fresh_allocations: bool,  # noqa: FBT001 - the request's own field
) -> tuple[list[_Known], bool]:
    """Return the providers in the order of ``tree``, and True if all allocations are new (none from the cache)."""
    known = {before.provider.uuid: before for before in last}
    providers, fresh, entries = [], True, 0
    for provider in tree:
        before = known.get(provider.uuid)
        if before is None or before.provider.generation != provider.generation:
            providers.append(_read(client, provider))
        elif before.allocations and fresh_allocations:
            providers.append(_read_allocations_again(client, provider, before))
        else:
            # The generation is unchanged, and a new allocation would have raised it. So a provider that had no
            # allocations still has none, and its cached state is current.
            providers.append(_renamed(before, provider))
            fresh = fresh and not before.allocations
        entries += providers[-1].entries
        if entries > MOST_ENTRIES:
            raise PlacementUnavailable(_too_many(provider))
    return providers, fresh


def _too_many(provider: Provider) -> str:
    return (
        f"the read stopped at provider {provider.uuid}: the tree has more than {MOST_ENTRIES} classes, traits, "
        "aggregates and allocations in all, the limit for one host; to see which consumers use this provider, run "
        f"openstack resource provider show --allocations {provider.uuid}"
    )


def _held(providers: Iterable[_Known]) -> tuple[Allocation, ...]:
    return tuple(allocation for known in providers for allocation in known.allocations)


def _unless_vanishing(read: Callable[[], T], what: str) -> T:
    """Return what ``read`` returns. Raises GenerationConflict if a provider was deleted during the read."""
    try:
        return read()
    except PlacementRejected as error:
        if error.status != 404:
            raise
        raise conflict(f"providers were deleted while {what} was read", error) from error


def _orphan(client: PlacementClient, uuid: str, last: tuple[_Known, ...]) -> list[_Known]:
    """Return an orphaned compute node's tree. Raises GenerationConflict if a provider was deleted during the read."""
    return _unless_vanishing(
        lambda: _tree(client, _in_tree(client, uuid), last, fresh_allocations=True)[0], f"the provider tree of {uuid}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """The four answers that make up one provider, each with the provider's generation at the time of the answer."""

    inventories: wire.Inventories
    traits: wire.Traits
    aggregates: wire.Aggregates
    allocations: wire.Allocations

    @property
    def generations(self) -> tuple[int, ...]:
        return tuple(p.generation for p in (self.inventories, self.traits, self.aggregates, self.allocations))


def _read(client: PlacementClient, provider: Provider) -> _Known:
    """Return one provider with inventories, traits, aggregates and allocations. Each of these parts has a generation.

    If the generations differ, the outdated parts are read once more. If they still differ, because another client keeps
    writing, the returned provider has the lowest generation. A write with this generation fails with a conflict, and
    the next view reads the provider again.
    """
    uuid = provider.uuid
    parts = _Parts(
        inventories=inventories(client, uuid),
        traits=traits(client, uuid),
        aggregates=aggregates(client, uuid),
        allocations=allocations(client, uuid, MOST_ENTRIES),
    )
    newest = max(parts.generations)
    if newest > min(parts.generations):
        first = parts
        parts = _Parts(
            inventories=first.inventories if first.inventories.generation == newest else inventories(client, uuid),
            traits=first.traits if first.traits.generation == newest else traits(client, uuid),
            aggregates=first.aggregates if first.aggregates.generation == newest else aggregates(client, uuid),
            allocations=(
                first.allocations if first.allocations.generation == newest else allocations(client, uuid, MOST_ENTRIES)
            ),
        )
    return _Known(
        provider=replace(
            provider,
            generation=min(parts.generations),
            inventories=parts.inventories.inventories,
            traits=parts.traits.traits,
            aggregates=parts.aggregates.aggregates,
        ),
        allocations=parts.allocations.allocations,
    )


def _read_allocations_again(client: PlacementClient, provider: Provider, before: _Known) -> _Known:
    found = allocations(client, provider.uuid, MOST_ENTRIES)
    if found.generation != provider.generation:
        return _read(client, provider)
    return replace(_renamed(before, provider), allocations=found.allocations)


def _renamed(before: _Known, provider: Provider) -> _Known:
    same = replace(before.provider, name=provider.name, parent_uuid=provider.parent_uuid)
    return replace(before, provider=same)
