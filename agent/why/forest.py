"""Which providers each tree of a world may be served from: its own, and those that share with it.

A sharing provider (MISC_SHARES_VIA_AGGREGATE) serves every tree of which any provider,
not only the root, is in one of its aggregates. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from agent.model.resource_request import OfferedProvider, OfferedWorld

SHARES = "MISC_SHARES_VIA_AGGREGATE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """One tree: its ``own`` providers, parents first, and those of other trees that share with it."""

    root: OfferedProvider
    own: tuple[OfferedProvider, ...]
    shared: tuple[OfferedProvider, ...] = ()

    @property
    def reach(self) -> tuple[OfferedProvider, ...]:
        """All that a request may be served from when this tree is its anchor."""
        return self.own + self.shared

    def owns(self, offered: OfferedProvider) -> bool:
        """Whether that provider is one of the tree's, not one that shares with it."""
        return offered.root_uuid == self.root.provider.uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """All trees of a world, as the world orders their roots, and the root and the parent of each provider by uuid."""

    trees: tuple[Tree, ...]
    root_of: Mapping[str, str]
    parent_of: Mapping[str, str | None]


def forest_of(world: OfferedWorld) -> Forest:
    """The world's trees. A provider whose root is not in the world is in none of them."""
    own = defaultdict(list)
    for offered in world.providers:
        own[offered.root_uuid].append(offered)
    shared = _shared_by_root(world.providers)
    roots = [offered for offered in world.providers if offered.provider.uuid == offered.root_uuid]
    trees = (
        Tree(root=root, own=tuple(own[root.root_uuid]), shared=tuple(shared.get(root.root_uuid, ()))) for root in roots
    )
    return Forest(
        trees=tuple(trees),
        root_of=MappingProxyType({o.provider.uuid: o.root_uuid for o in world.providers}),
        parent_of=MappingProxyType({o.provider.uuid: o.provider.parent_uuid for o in world.providers}),
    )


def _shared_by_root(providers: Iterable[OfferedProvider]) -> dict[str, list[OfferedProvider]]:
    """Root's uuid to the providers of other trees that share with its tree, in the world's order."""
    sharing = [offered for offered in providers if SHARES in offered.provider.traits]
    shared_aggregates = {aggregate for offered in sharing for aggregate in offered.provider.aggregates}
    members = defaultdict(set)
    for offered in providers:
        for aggregate in offered.provider.aggregates & shared_aggregates:
            members[aggregate].add(offered.root_uuid)
    found = defaultdict(list)
    for offered in sharing:
        roots = {root for aggregate in offered.provider.aggregates for root in members[aggregate]}
        for root in sorted(roots - {offered.root_uuid}):
            found[root].append(offered)
    return found
