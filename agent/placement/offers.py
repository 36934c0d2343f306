"""Read the providers that may serve a resource request: this host's tree with sharing providers, or the whole cloud.

For this host's tree the audit has read everything; this module reads only the providers that share with it.

For the whole cloud this module reads as little as the request needs, with requests that cover all providers at once:
the providers with a requested trait, the providers in a requested aggregate, and the used amounts (the summaries of
allocation candidates for one unit of a class). Only the inventory takes one request per provider, and only for
providers that have a requested class.

A provider of the whole cloud therefore has only the traits and aggregates that the request names, those that sharing
rests on, and MISC_SHARES_VIA_AGGREGATE. A tree without room for one unit is in no summary. Its providers are read one
by one, because the missing summary does not prove that the tree lacks the class.

If there are too many providers, some trees are not read: the result names them, and they do not count as an answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar
from urllib.parse import quote

from agent.errors import PlacementRejected
from agent.model.placement import PlacementView, Provider
from agent.model.resource_request import OfferedProvider, OfferedProviders, ResourceRequest
from agent.placement import offer_wire, wire
from agent.placement.http.bounds import WHOLE_CLOUD
from agent.placement.http.client import MINIMUM, PlacementClient
from agent.placement.offer_wire import Amounts
from agent.placement.paths import part_path
from agent.placement.sharing import AGGREGATES_AT_ONCE, SHARES

T = TypeVar("T")

#: A class that all hosts have, and of which most hosts have room for a unit.
EVERY_HOST_HAS = "VCPU"
#: Limit of requests for single providers in one read of the cloud; a Placement answers some hundred a second.
MOST_READS = 5000
#: A progress line follows each time this many providers were read.
PROGRESS_EVERY = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """The providers that were read, and the names of the roots of the trees that were not."""

    world: OfferedProviders
    unread: tuple[str, ...] = ()


def own_world(client: PlacementClient, view: PlacementView) -> OfferedProviders:
    """Return the tree of ``view`` with the use recorded there, and the providers that share with it.

    Each sharing provider takes five requests. Raises PlacementError.
    """
    used: dict[str, dict[str, int]] = defaultdict(dict)
    for (provider_uuid, resource_class), amount in view.used.items():
        used[provider_uuid][resource_class] = amount
    own = {provider.uuid for provider in view.providers}
    aggregates = sorted(frozenset().union(*(provider.aggregates for provider in view.providers)))
    sharing = [found for found in _sharing_in(client, aggregates) if found.uuid not in own]
    trees = [found for each in sharing for found in _tree_of(client, each)]
    offered = [
        OfferedProvider(provider=provider, root_uuid=view.root_uuid, used=tuple(sorted(used[provider.uuid].items())))
        for provider in view.providers
    ]
    return OfferedProviders(providers=(*offered, *_once(trees)))


def whole_world(
    client: PlacementClient,
    request: ResourceRequest,
    tell: Callable[[str], None],
    most_reads: int = MOST_READS,
) -> Offers:
    """Return every tree of the cloud, with the facts that the request needs. ``tell`` receives progress lines.

    Raises PlacementError.
    """
    listed = wire.parents_first(client.get("/resource_providers", MINIMUM, wire.parse_providers, WHOLE_CLOUD))
    tell(f"{len(listed)} providers")
    traits = _bearers(client, "required", {SHARES, *request.traits})
    aggregates = _aggregates(client, request, {uuid for uuid, found in traits.items() if SHARES in found})
    used = _used_everywhere(client, request, listed)
    roots = _roots(listed)
    unread = _Unread(client, tell, most_reads, request.classes)
    offered = {}
    for provider in _nearest_first(listed, roots, used):
        known = replace(
            provider,
            traits=traits.get(provider.uuid, frozenset()),
            aggregates=aggregates.get(provider.uuid, frozenset()),
        )
        found = unread.offer(known, roots[provider.uuid], used.get(provider.uuid))
        if found is not None:
            offered[provider.uuid] = found
    whole = tuple(offered[p.uuid] for p in listed if p.uuid in offered and roots[p.uuid] not in unread.roots)
    names = {provider.uuid: provider.name for provider in listed}
    return Offers(
        world=OfferedProviders(providers=whole, is_whole=not unread.roots),
        unread=tuple(sorted(names[root] for root in unread.roots)),
    )


class _Unread:
    """Reads single providers up to a limit; ``roots`` are the roots of the trees beyond the limit."""

    def __init__(
        self, client: PlacementClient, tell: Callable[[str], None], most: int, classes: frozenset[str]
    ) -> None:
        self._client = client
        self._tell = tell
        self._left = most
        self._done = 0
        self._classes = classes
        self.roots: set[str] = set()

    def offer(self, provider: Provider, root: str, used: Amounts | None) -> OfferedProvider | None:
        """Return the provider with its inventories, which are read only if it may have a requested class.

        None if the provider was deleted since it was listed, or if its tree is not read.
        """
        if used is not None and not self._classes.intersection(name for name, _ in used):
            return OfferedProvider(provider=provider, root_uuid=root, used=used)
        if root in self.roots or self._left < (2 if used is None else 1):
            self.roots.add(root)
            return None
        found = _gone_is_none(lambda: self._read(provider, used))
        self._done += 1
        if self._done % PROGRESS_EVERY == 0:
            self._tell(f"{self._done} of them read")
        return None if found is None else replace(found, root_uuid=root)

    def _read(self, provider: Provider, used: Amounts | None) -> OfferedProvider:
        self._left -= 1
        inventories = self._client.get(part_path(provider.uuid, "inventories"), MINIMUM, wire.parse_inventories)
        if used is None and inventories.inventories:
            self._left -= 1
            used = self._client.get(part_path(provider.uuid, "usages"), MINIMUM, offer_wire.parse_usages)
        filled = replace(provider, inventories=inventories.inventories, generation=inventories.generation)
        return OfferedProvider(provider=filled, root_uuid=provider.uuid, used=used or ())


def known_classes(client: PlacementClient) -> frozenset[str]:
    """Return every resource class of this Placement. Raises PlacementError."""
    return client.get("/resource_classes", MINIMUM, offer_wire.parse_class_names)


def known_traits(client: PlacementClient) -> frozenset[str]:
    """Return every trait of this Placement. Raises PlacementError."""
    return client.get("/traits", MINIMUM, wire.parse_trait_names)


def members_of(client: PlacementClient, aggregate: str) -> tuple[Provider, ...]:
    """Return the providers in that aggregate, as the list has them. Raises PlacementError."""
    return client.get(
        f"/resource_providers?member_of={quote(aggregate, safe='')}", MINIMUM, wire.parse_providers, WHOLE_CLOUD
    )


def every_provider(client: PlacementClient) -> tuple[Provider, ...]:
    """Return all providers, as the list has them. Raises PlacementError."""
    return client.get("/resource_providers", MINIMUM, wire.parse_providers, WHOLE_CLOUD)


def _sharing_in(client: PlacementClient, aggregates: Sequence[str]) -> list[Provider]:
    found: dict[str, Provider] = {}
    for start in range(0, len(aggregates), AGGREGATES_AT_ONCE):
        some = ",".join(aggregates[start : start + AGGREGATES_AT_ONCE])
        path = f"/resource_providers?member_of={quote(f'in:{some}', safe=':,')}&required={SHARES}"
        found.update({p.uuid: p for p in client.get(path, MINIMUM, wire.parse_providers)})
    return [found[uuid] for uuid in sorted(found)]


def _tree_of(client: PlacementClient, sharing: Provider) -> list[OfferedProvider]:
    """Return the whole tree of a sharing provider; empty if the provider was deleted since it was listed."""
    path = f"/resource_providers?in_tree={quote(sharing.uuid, safe='')}"
    listed = wire.parents_first(client.get(path, MINIMUM, wire.parse_providers))
    roots = _roots(listed)
    read = (_gone_is_none(partial(_whole, client, each, roots[each.uuid])) for each in listed)
    return [found for found in read if found is not None]


def _whole(client: PlacementClient, provider: Provider, root: str) -> OfferedProvider:
    filled = replace(
        provider,
        inventories=client.get(part_path(provider.uuid, "inventories"), MINIMUM, wire.parse_inventories).inventories,
        traits=client.get(part_path(provider.uuid, "traits"), MINIMUM, wire.parse_traits).traits,
        aggregates=client.get(part_path(provider.uuid, "aggregates"), MINIMUM, wire.parse_aggregates).aggregates,
    )
    used = client.get(part_path(provider.uuid, "usages"), MINIMUM, offer_wire.parse_usages)
    return OfferedProvider(provider=filled, root_uuid=root, used=used)


def _once(offered: Iterable[OfferedProvider]) -> tuple[OfferedProvider, ...]:
    return tuple({each.provider.uuid: each for each in offered}.values())


def _gone_is_none(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except PlacementRejected as error:
        if error.status != 404:
            raise
        return None


def _bearers(client: PlacementClient, key: str, names: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return for each provider those of ``names`` that it has, with one request per name."""
    found: dict[str, set[str]] = defaultdict(set)
    for name in sorted(names):
        path = f"/resource_providers?{key}={quote(name, safe='')}"
        for provider in client.get(path, MINIMUM, wire.parse_providers, WHOLE_CLOUD):
            found[provider.uuid].add(name)
    return {uuid: frozenset(some) for uuid, some in found.items()}


def _aggregates(client: PlacementClient, request: ResourceRequest, sharing: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return each provider's aggregates, among those that the request names and those of sharing providers."""
    shared: set[str] = set()
    for uuid in sorted(sharing):
        read = _gone_is_none(partial(client.get, part_path(uuid, "aggregates"), MINIMUM, wire.parse_aggregates))
        shared |= read.aggregates if read else frozenset()
    return _bearers(client, "member_of", shared | request.aggregates)


def _used_everywhere(
    client: PlacementClient, request: ResourceRequest, listed: Sequence[Provider]
) -> dict[str, Amounts]:
    """Return the used amounts of providers in trees that have room for one unit of a class, with one request per class.

    The summaries of the first class usually cover the others, so a request follows only for a class that is in no
    summary yet. The last request, for EVERY_HOST_HAS, covers hosts without any requested class.
    """
    found: dict[str, Amounts] = {}
    asked = [name for group in request.groups for name, _ in group.resources]
    for resource_class in dict.fromkeys((*asked, EVERY_HOST_HAS)):
        if all(provider.uuid in found for provider in listed):
            break
        if any(resource_class == name for used in found.values() for name, _ in used):
            continue
        path = f"/allocation_candidates?resources={quote(resource_class, safe='')}:1"
        found |= client.get(path, MINIMUM, offer_wire.parse_summaries, WHOLE_CLOUD)
    return found


def _roots(listed: Sequence[Provider]) -> dict[str, str]:
    """Return the root of each provider of a list with parents first; a provider without a listed parent is a root."""
    roots: dict[str, str] = {}
    for provider in listed:
        roots[provider.uuid] = roots.get(provider.parent_uuid or "", provider.uuid)
    return roots


def _nearest_first(
    listed: Sequence[Provider], roots: Mapping[str, str], used: Mapping[str, Amounts]
) -> Sequence[Provider]:
    """Sort the providers by tree, trees with room for a unit first: a limit then cuts off the least likely trees."""
    return sorted(listed, key=lambda provider: (roots[provider.uuid] not in used, roots[provider.uuid]))
