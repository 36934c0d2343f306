"""Read the providers that may serve a resource request: this host's tree with sharing providers, or the whole cloud.

For this host, the module reads only the trees of the sharing providers: the audit has already read the host's tree.

For the whole cloud, this module sends few HTTP requests. One HTTP request is enough to find all providers with a
requested trait, or all providers in a requested aggregate. The used amounts are in Placement's answer to a request for
allocation candidates for one unit of a class. Only the inventory takes one HTTP request per provider, and only for
providers that have a requested class.

So the result for the whole cloud is incomplete. It has only the requested traits and the trait
MISC_SHARES_VIA_AGGREGATE, and only the requested aggregates and the aggregates of sharing providers.

The allocation candidates omit a tree without free capacity for one unit of the requested class. This module reads the
providers of such a tree one by one.

If there are too many providers, this module does not read some trees. The result then only names these trees.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import quote

from agent.model.placement import PlacementView, Provider
from agent.model.resource_request import OfferedProvider, OfferedProviders, ResourceRequest
from agent.placement import offer_wire, wire
from agent.placement.http.bounds import WHOLE_CLOUD
from agent.placement.http.client import MINIMUM, PlacementClient
from agent.placement.offer_wire import Amounts
from agent.placement.provider_requests import aggregates, inventories, listed, none_if_gone, part_path, traits
from agent.placement.sharing import SHARES, sharing_providers

#: A class that all hosts have. ``GET /allocation_candidates`` for one VCPU returns the used amounts of all hosts with a
#: free VCPU.
EVERY_HOST_HAS = "VCPU"
#: While the cloud is read, the agent sends at most this number of requests about single providers. A server answers
#: about a hundred such requests per second.
MOST_READS = 5000
#: The number of providers after which ``report`` receives the next progress line.
PROGRESS_EVERY = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """The providers that were read.

    ``unread`` has the names of the root providers whose trees were not read, because the limit of requests was reached.
    """

    offered: OfferedProviders
    unread: tuple[str, ...] = ()


def own_offers(client: PlacementClient, view: PlacementView) -> OfferedProviders:
    """Return the tree of ``view`` with its used amounts, and the trees of the providers that share with it.

    Each sharing provider costs one request, and each provider in its tree costs four more. Raises PlacementError.
    """
    used: dict[str, dict[str, int]] = defaultdict(dict)
    for (provider_uuid, resource_class), amount in view.used.items():
        used[provider_uuid][resource_class] = amount
    own = {provider.uuid for provider in view.providers}
    joined = frozenset().union(*(provider.aggregates for provider in view.providers))
    sharing = [found for found in sharing_providers(client, joined) if found.uuid not in own]
    trees = [found for each in sharing for found in _tree_of(client, each)]
    offered = [
        OfferedProvider(provider=provider, root_uuid=view.root_uuid, used=tuple(sorted(used[provider.uuid].items())))
        for provider in view.providers
    ]
    return OfferedProviders(providers=(*offered, *{each.provider.uuid: each for each in trees}.values()))


def cloud_offers(
    client: PlacementClient, request: ResourceRequest, report: Callable[[str], None], most_reads: int = MOST_READS
) -> Offers:
    """Return every tree of the cloud, with the facts that ``request`` needs. Raises PlacementError.

    ``report`` receives progress lines.
    """
    everywhere = wire.parents_first(every_provider(client))
    report(f"{len(everywhere)} providers")
    traits_of = _bearers(client, "required", {SHARES, *request.traits})
    aggregates_of = _aggregates(client, request, {uuid for uuid, found in traits_of.items() if SHARES in found})
    used = _used_everywhere(client, request, everywhere)
    roots = _roots(everywhere)
    unread = _Unread(client, report, most_reads, request.classes)
    offered = {}
    # First read the trees that have free capacity. If the limit of requests is reached, most unread trees are full.
    for provider in sorted(everywhere, key=lambda provider: (roots[provider.uuid] not in used, roots[provider.uuid])):
        known = replace(
            provider,
            traits=traits_of.get(provider.uuid, frozenset()),
            aggregates=aggregates_of.get(provider.uuid, frozenset()),
        )
        found = unread.offer(known, roots[provider.uuid], used.get(provider.uuid))
        if found is not None:
            offered[provider.uuid] = found
    whole = tuple(offered[p.uuid] for p in everywhere if p.uuid in offered and roots[p.uuid] not in unread.roots)
    names = {provider.uuid: provider.name for provider in everywhere}
    return Offers(
        offered=OfferedProviders(providers=whole, is_whole=not unread.roots),
        unread=tuple(sorted(names[root] for root in unread.roots)),
    )


class _Unread:
    """Reads providers one by one, with at most ``most`` requests.

    ``roots`` has the uuids of root providers. The trees of these providers were not read completely, because the limit
    was reached.
    """

    def __init__(
        self, client: PlacementClient, report: Callable[[str], None], most: int, classes: frozenset[str]
    ) -> None:
        self._client = client
        self._report = report
        self._left = most
        self._done = 0
        self._classes = classes
        self.roots: set[str] = set()

    def offer(self, provider: Provider, root: str, used: Amounts | None) -> OfferedProvider | None:
        """Return the provider with its inventories, which are read only if the provider may have a requested class.

        None if the provider was deleted since it was listed, or if too few requests are left for the provider's tree.
        """
        if used is not None and not self._classes.intersection(name for name, _ in used):
            return OfferedProvider(provider=provider, root_uuid=root, used=used)
        if root in self.roots or self._left < (2 if used is None else 1):
            self.roots.add(root)
            return None
        found = none_if_gone(lambda: self._read(provider, used))
        self._done += 1
        if self._done % PROGRESS_EVERY == 0:
            self._report(f"{self._done} providers read")
        return None if found is None else replace(found, root_uuid=root)

    def _read(self, provider: Provider, used: Amounts | None) -> OfferedProvider:
        self._left -= 1
        found = inventories(self._client, provider.uuid)
        if used is None and found.inventories:
            self._left -= 1
            used = _used(self._client, provider.uuid)
        filled = replace(provider, inventories=found.inventories, generation=found.generation)
        return OfferedProvider(provider=filled, root_uuid=provider.uuid, used=used or ())


def known_classes(client: PlacementClient) -> frozenset[str]:
    """Return every resource class of this Placement. Raises PlacementError."""
    return client.get("/resource_classes", MINIMUM, offer_wire.parse_class_names)


def known_traits(client: PlacementClient) -> frozenset[str]:
    """Return every trait of this Placement. Raises PlacementError."""
    return client.get("/traits", MINIMUM, wire.parse_trait_names)


def members_of(client: PlacementClient, aggregate: str) -> tuple[Provider, ...]:
    """Return the providers in the aggregate. Raises PlacementError.

    Their inventories, traits and aggregates are not read.
    """
    return listed(client, WHOLE_CLOUD, member_of=aggregate)


def every_provider(client: PlacementClient) -> tuple[Provider, ...]:
    """Return all providers; their inventories, traits and aggregates are not read. Raises PlacementError."""
    return listed(client, WHOLE_CLOUD)


def _tree_of(client: PlacementClient, sharing: Provider) -> list[OfferedProvider]:
    """Return the whole tree of a sharing provider; empty if the provider was deleted since it was listed."""
    tree = wire.parents_first(listed(client, in_tree=sharing.uuid))
    roots = _roots(tree)
    read = (none_if_gone(partial(_whole, client, each, roots[each.uuid])) for each in tree)
    return [found for found in read if found is not None]


def _whole(client: PlacementClient, provider: Provider, root: str) -> OfferedProvider:
    uuid = provider.uuid
    filled = replace(
        provider,
        inventories=inventories(client, uuid).inventories,
        traits=traits(client, uuid).traits,
        aggregates=aggregates(client, uuid).aggregates,
    )
    return OfferedProvider(provider=filled, root_uuid=root, used=_used(client, uuid))


def _used(client: PlacementClient, uuid: str) -> Amounts:
    return client.get(part_path(uuid, "usages"), MINIMUM, offer_wire.parse_usages)


def _bearers(client: PlacementClient, key: str, names: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return {provider uuid: those traits or aggregates in ``names`` that the provider has}.

    Sends one request for each name.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for name in sorted(names):
        for provider in listed(client, WHOLE_CLOUD, **{key: name}):
            found[provider.uuid].add(name)
    return {uuid: frozenset(some) for uuid, some in found.items()}


def _aggregates(client: PlacementClient, request: ResourceRequest, sharing: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return {provider uuid: aggregates}, with two kinds of aggregates only.

    These are the aggregates that the request names, and the aggregates that contain a sharing provider.
    """
    shared: set[str] = set()
    for uuid in sorted(sharing):
        read = none_if_gone(partial(aggregates, client, uuid))
        shared |= read.aggregates if read else frozenset()
    return _bearers(client, "member_of", shared | request.aggregates)


def _used_everywhere(
    client: PlacementClient, request: ResourceRequest, listed: Sequence[Provider]
) -> dict[str, Amounts]:
    """Return {provider uuid: used amounts} from Placement's answers to ``GET /allocation_candidates``.

    Each request is for one unit of one class. An answer usually contains the providers' other classes too, so the
    function skips a class that is already in an answer. The last request is for VCPU, to find hosts that have no class
    of ``request``.
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
    """Return {provider uuid: uuid of its root provider}. A provider whose parent is not listed is a root.

    In ``listed``, each parent must come before its children.
    """
    roots: dict[str, str] = {}
    for provider in listed:
        roots[provider.uuid] = roots.get(provider.parent_uuid or "", provider.uuid)
    return roots
