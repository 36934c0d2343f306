"""Read this host's provider tree with as few requests as the generations allow.

One ``GET /resource_providers?in_tree=`` shows which providers changed. An unchanged generation proves that nothing was
added or changed. It does not prove three other things:

- No allocation was removed: ``DELETE /allocations/{c}`` leaves the generation as it was (measured). So allocations are
  read again when the audit requests it, and only for providers that had some. A provider without allocations has none
  as long as its generation is unchanged.
- The provider was not renamed. So names and parents come from the list.
- The database is the one of the last read. agent/timing/full_read_schedule.py decides when everything is read again.

Other services' nested providers are part of the tree and of the view. A provider above this host's root is not, nor is
anything else below that provider. If an operator put whole hosts below one provider, the list names all of them, and
the agent ignores the other hosts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import quote

from agent.errors import GenerationConflict, PlacementRejected, PlacementUnavailable
from agent.model.placement import Allocation, DetachedTree, PlacementView, Provider, SharingProvider, UnlistedUsage
from agent.placement import wire
from agent.placement.allocations import AllocationClient
from agent.placement.consumers import NO_CONSUMERS, Consumers, read_consumers
from agent.placement.http.client import MINIMUM, REPARENTING, TYPED, PlacementClient
from agent.placement.paths import part_path
from agent.placement.sharing import SharingReader
from agent.placement.unlisted import read_unlisted
from agent.ports import ViewRequest

#: Limit of entries in one tree. An audit needs some 5 KiB for an allocation, from the claim to the row of the report:
#: the daemon's peak is 78 MiB with a few entries, 135 MiB with 12,000, 148 MiB with 15,000 and 205 MiB with 30,000.
#: 3,900 consumers of three classes make 11,700 entries. 1,000 children with a class, a trait and an aggregate make
#: 4,000.
MOST_ENTRIES = 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """One provider, as it was last read in full."""

    provider: Provider
    allocations: tuple[Allocation, ...]

    @property
    def entries(self) -> int:
        """The number of entries, each of which takes memory in an audit."""
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
    """PlacementReader over REST. For one thread."""

    def __init__(self, client: PlacementClient) -> None:
        self._client = client
        self._last = _NOTHING
        self._orphans: tuple[_Known, ...] = ()
        self._sharing = SharingReader(client)
        self._counted: frozenset[str] | None = None

    def forget(self) -> None:
        """Drop the cache: the next view reads everything, and the server's microversion."""
        self._last = _NOTHING
        self._orphans = ()
        self._sharing.forget()
        self._counted = None
        self._client.forget()

    def orphans(self, view: PlacementView, uuids: frozenset[str]) -> PlacementView:
        """Return ``view`` with the trees of these orphaned nodes; their allocations are read now.

        A tree without a change and without allocations takes one request. Raises PlacementError.
        """
        if not uuids:
            return view
        with self._client.global_request_id():
            before = self._client.requests
            found = {uuid: _orphan(self._client, uuid, self._orphans) for uuid in sorted(uuids)}
            self._orphans = tuple(known for tree in found.values() for known in tree)
            return replace(
                view,
                orphans=tuple(_orphan_tree(uuid, tree) for uuid, tree in found.items()),
                requests=view.requests + self._client.requests - before,
            )

    def view(self, request: ViewRequest) -> PlacementView:
        """Return the present tree, parents first. A failed view leaves the cache as it was.

        Raises PlacementError; GenerationConflict if providers vanished during two attempts to read them.
        """
        with self._client.global_request_id():
            before = self._client.requests
            if request.everything:
                self._orphans = ()
                self._client.forget()
            look = self._look(request)
            self._last = look
            shared = self._shared(look, request)
            unlisted = self._unlisted(look, request)
            return PlacementView(
                root_uuid=request.root_uuid,
                providers=tuple(known.provider for known in look.providers),
                allocations=tuple(allocation for known in look.providers for allocation in known.allocations),
                allocations_fresh=look.allocations_fresh,
                consumers=look.consumers.records,
                name_holder=look.name_holder,
                requests=self._client.requests - before,
                typed_consumers=self._client.maximum() >= TYPED,
                reparents=self._client.maximum() >= REPARENTING,
                microversion=self._client.maximum(),
                shared=shared or (),
                shared_is_read=shared is not None,
                unread=self._sharing.unread,
                unlisted=unlisted,
            )

    def _shared(self, look: _TreeReading, request: ViewRequest) -> tuple[SharingProvider, ...] | None:
        """Return the providers that share with the tree; None if the audit did not request them.

        If the tree is in no aggregate, this takes no request.
        """
        if not request.shared_reads:
            return None
        known = frozenset(a.consumer_uuid for known in look.providers for a in known.allocations)
        return self._sharing.read((known.provider for known in look.providers), known, request)

    def _unlisted(self, look: _TreeReading, request: ViewRequest) -> tuple[UnlistedUsage, ...]:
        """Return the usage that Placement counts but does not list.

        Between two comparisons of all providers, only those are compared for which the last one found such usage.
        """
        if not request.usages:
            return ()
        listed = [(known.provider, known.allocations) for known in look.providers]
        if self._counted is not None and not request.spares_nothing:
            return read_unlisted(self._client, [each for each in listed if each[0].uuid in self._counted])
        found = read_unlisted(self._client, listed)
        self._counted = frozenset(usage.provider_uuid for usage in found)
        return found

    def _look(self, request: ViewRequest) -> _TreeReading:
        try:
            return _look(self._client, self._last, request)
        except PlacementRejected as error:
            if error.status != 404:
                raise
        # A provider was deleted between the list and its parts: read once more, from the list on.
        try:
            return _look(self._client, self._last, request)
        except PlacementRejected as error:
            if error.status != 404:
                raise
            message = f"providers vanish while the tree is read: {error.message}"
            raise GenerationConflict(message, status=error.status, request_id=error.request_id) from error


def _look(client: PlacementClient, last: _TreeReading, request: ViewRequest) -> _TreeReading:
    listed = _listed(client, request.root_uuid)
    if not listed:
        nobody = read_consumers(AllocationClient(client), last.consumers, (), request)
        return _TreeReading(consumers=nobody, name_holder=_name_holder(client, request.root_name))
    if request.root_uuid not in {provider.uuid for provider in listed}:
        raise PlacementUnavailable(f"answer not understood: the tree of {request.root_uuid} does not contain it")
    known = () if request.everything else last.providers
    ours = _from(request.root_uuid, listed)
    providers, fresh = _tree(client, ours, known, request.fresh_allocations)
    held = tuple((k.provider, k.allocations) for k in providers)
    consumers = read_consumers(AllocationClient(client), last.consumers, held, request)
    return _TreeReading(providers=tuple(providers), consumers=consumers, allocations_fresh=fresh)


def _listed(client: PlacementClient, uuid: str) -> list[Provider]:
    path = f"/resource_providers?in_tree={quote(uuid, safe='')}"
    return list(wire.parents_first(client.get(path, MINIMUM, wire.parse_providers)))


def _from(root_uuid: str, listed: Iterable[Provider]) -> list[Provider]:
    """Return the root and all providers below it, from a list with parents first."""
    below = {root_uuid}
    ours: list[Provider] = []
    for provider in listed:
        if provider.uuid in below or provider.parent_uuid in below:
            below.add(provider.uuid)
            ours.append(provider)
    return ours


def _tree(
    client: PlacementClient,
    listed: Iterable[Provider],
    last: Iterable[_Known],
    fresh_allocations: bool,  # noqa: FBT001 - the request's own field
) -> tuple[list[_Known], bool]:
    """Return the providers in the order of the list, and whether none of their allocations come from the cache."""
    known = {before.provider.uuid: before for before in last}
    providers, fresh, entries = [], True, 0
    for provider in listed:
        before = known.get(provider.uuid)
        if before is None or before.provider.generation != provider.generation:
            providers.append(_read(client, provider))
        elif not before.allocations:
            # A new allocation would raise the generation, so the provider still has none and needs no request.
            providers.append(_renamed(before, provider))
        elif fresh_allocations:
            providers.append(_read_allocations_again(client, provider, before))
        else:
            providers.append(_renamed(before, provider))
            fresh = False
        entries += providers[-1].entries
        if entries > MOST_ENTRIES:
            raise PlacementUnavailable(_too_many(provider))
    return providers, fresh


def _too_many(provider: Provider) -> str:
    return (
        f"the tree up to provider {provider.uuid} has more than {MOST_ENTRIES} classes, traits, aggregates and "
        "allocations, the limit for one host: check whose they are by "
        f"openstack resource provider show --allocations {provider.uuid}"
    )


def _orphan(client: PlacementClient, uuid: str, last: tuple[_Known, ...]) -> list[_Known]:
    """Return the tree of one orphaned node.

    Raises GenerationConflict if a provider was deleted during the read; the next audit reads the tree again.
    """
    try:
        return _tree(client, _listed(client, uuid), last, fresh_allocations=True)[0]
    except PlacementRejected as error:
        if error.status != 404:
            raise
        message = f"providers vanish while the tree of {uuid} is read: {error.message}"
        raise GenerationConflict(message, status=error.status, request_id=error.request_id) from error


def _orphan_tree(uuid: str, tree: list[_Known]) -> DetachedTree:
    return DetachedTree(
        uuid=uuid,
        providers=tuple(known.provider for known in tree),
        allocations=tuple(allocation for known in tree for allocation in known.allocations),
    )


def _name_holder(client: PlacementClient, name: str) -> Provider | None:
    if not name:
        return None
    found = client.get(f"/resource_providers?name={quote(name, safe='')}", MINIMUM, wire.parse_providers)
    return found[0] if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """The four answers that make up one provider, each with its generation."""

    inventories: wire.Inventories
    traits: wire.Traits
    aggregates: wire.Aggregates
    allocations: wire.Allocations

    @property
    def generations(self) -> tuple[int, ...]:
        return tuple(p.generation for p in (self.inventories, self.traits, self.aggregates, self.allocations))


def _read(client: PlacementClient, listed: Provider) -> _Known:
    """Return everything of one provider. Parts that are older than the newest part are read once more.

    If another writer is faster than that, the lowest generation counts for all parts. That generation is out of date,
    so a write with it fails with a conflict, and the next view reads the provider again.
    """
    parts = _Parts(
        inventories=_inventories(client, listed.uuid),
        traits=_traits(client, listed.uuid),
        aggregates=_aggregates(client, listed.uuid),
        allocations=_allocations(client, listed.uuid),
    )
    if len(set(parts.generations)) > 1:
        parts = _caught_up(client, listed.uuid, parts)
    return _Known(
        provider=replace(
            listed,
            generation=min(parts.generations),
            inventories=parts.inventories.inventories,
            traits=parts.traits.traits,
            aggregates=parts.aggregates.aggregates,
        ),
        allocations=parts.allocations.allocations,
    )


def _caught_up(client: PlacementClient, uuid: str, parts: _Parts) -> _Parts:
    newest = max(parts.generations)
    return _Parts(
        inventories=parts.inventories if parts.inventories.generation == newest else _inventories(client, uuid),
        traits=parts.traits if parts.traits.generation == newest else _traits(client, uuid),
        aggregates=parts.aggregates if parts.aggregates.generation == newest else _aggregates(client, uuid),
        allocations=parts.allocations if parts.allocations.generation == newest else _allocations(client, uuid),
    )


def _read_allocations_again(client: PlacementClient, listed: Provider, before: _Known) -> _Known:
    found = _allocations(client, listed.uuid)
    if found.generation != listed.generation:
        return _read(client, listed)
    return replace(_renamed(before, listed), allocations=found.allocations)


def _renamed(before: _Known, listed: Provider) -> _Known:
    same = replace(before.provider, name=listed.name, parent_uuid=listed.parent_uuid)
    return replace(before, provider=same)


def _inventories(client: PlacementClient, uuid: str) -> wire.Inventories:
    return client.get(part_path(uuid, "inventories"), MINIMUM, wire.parse_inventories)


def _traits(client: PlacementClient, uuid: str) -> wire.Traits:
    return client.get(part_path(uuid, "traits"), MINIMUM, wire.parse_traits)


def _aggregates(client: PlacementClient, uuid: str) -> wire.Aggregates:
    return client.get(part_path(uuid, "aggregates"), MINIMUM, wire.parse_aggregates)


def _allocations(client: PlacementClient, uuid: str) -> wire.Allocations:
    return client.get(
        part_path(uuid, "allocations"), MINIMUM, lambda body: wire.parse_allocations(body, uuid, MOST_ENTRIES)
    )
