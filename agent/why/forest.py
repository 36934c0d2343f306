"""Find, for each tree, the providers that may satisfy a request: its own providers and those that share with the tree.

A sharing provider has the trait MISC_SHARES_VIA_AGGREGATE. It shares with a tree if any provider of the tree, not
necessarily the root, is in one of the sharing provider's aggregates. Pure: no I/O.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from agent.model.resource_request import OfferedProvider

SHARES = "MISC_SHARES_VIA_AGGREGATE"


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTree:
    """One tree: its ``own`` providers, parents first, and the ``shared`` providers, which belong to other trees.

    ``root_of`` maps a provider's uuid to its root's uuid, ``parent_of`` to its parent's uuid. Both mappings contain the
    providers of all trees.
    """

    root: OfferedProvider
    own: tuple[OfferedProvider, ...]
    shared: tuple[OfferedProvider, ...]
    root_of: Mapping[str, str]
    parent_of: Mapping[str, str | None]

    @property
    def reach(self) -> tuple[OfferedProvider, ...]:
        """All providers that may satisfy a request for this tree."""
        return self.own + self.shared

    def owns(self, offered: OfferedProvider) -> bool:
        """Whether the provider is one of the tree's own providers, not a sharing provider of another tree."""
        return offered.root_uuid == self.root.provider.uuid


def trees_of(providers: Sequence[OfferedProvider]) -> tuple[OfferedTree, ...]:
    """Return the trees, in the order of their roots. A provider is in no tree if its root is not in ``providers``."""
    own = defaultdict(list)
    for offered in providers:
        own[offered.root_uuid].append(offered)
    shared = _shared_by_root(providers)
    root_of = MappingProxyType({o.provider.uuid: o.root_uuid for o in providers})
    parent_of = MappingProxyType({o.provider.uuid: o.provider.parent_uuid for o in providers})
    return tuple(
        OfferedTree(
            root=root,
            own=tuple(own[root.root_uuid]),
            shared=tuple(shared.get(root.root_uuid, ())),
            root_of=root_of,
            parent_of=parent_of,
        )
        for root in providers
        if root.provider.uuid == root.root_uuid
    )


def _shared_by_root(providers: Sequence[OfferedProvider]) -> dict[str, list[OfferedProvider]]:
    """Map each root's uuid to the providers of other trees that share with the root's tree, in input order."""
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
