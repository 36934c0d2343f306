"""A request for ``GET /allocation_candidates`` of Placement, and the providers that can satisfy the request.

A request has one unnumbered group (suffix "") and any number of granular groups. The classes of the unnumbered group
may come from several providers of one tree, and from providers that share with the tree. A single provider must satisfy
a whole granular group.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.placement import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestGroup:
    """One group of a request.

    ``resources``: (class, amount), sorted by class.
    ``required``: sets of traits. A provider must have one trait of each set; a plain required trait is a set of one.
    ``forbidden``: traits that the provider must not have.
    ``member_of``: sets of aggregate uuids. The provider must be in one aggregate of each set.
    ``forbidden_aggregates``: aggregates that the provider must not be in.
    ``in_tree``: uuid of a provider. Only the tree of that provider may satisfy the group.
    """

    suffix: str = ""
    resources: tuple[tuple[str, int], ...] = ()
    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()
    member_of: tuple[frozenset[str], ...] = ()
    forbidden_aggregates: frozenset[str] = frozenset()
    in_tree: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRequest:
    """A whole request. ``group_policy`` is "none" or "isolate"; it may be None if at most one group is granular.

    ``root_required`` and ``root_forbidden`` are traits of the tree's root (microversion 1.35). ``same_subtree`` has
    sets of group suffixes (1.36). One of the providers that satisfy the groups of a set must be an ancestor of all the
    others.
    """

    groups: tuple[RequestGroup, ...]
    group_policy: str | None = None
    root_required: frozenset[str] = frozenset()
    root_forbidden: frozenset[str] = frozenset()
    same_subtree: tuple[frozenset[str], ...] = ()

    @property
    def classes(self) -> frozenset[str]:
        """Every resource class that the request names."""
        return frozenset(name for group in self.groups for name, _ in group.resources)

    @property
    def traits(self) -> frozenset[str]:
        """Every trait that the request names, required or forbidden."""
        named = [names for group in self.groups for names in (*group.required, group.forbidden)]
        return frozenset().union(*named, self.root_required, self.root_forbidden)

    @property
    def aggregates(self) -> frozenset[str]:
        """The uuid of every aggregate that the request names, required or forbidden."""
        named = [uuids for group in self.groups for uuids in (*group.member_of, group.forbidden_aggregates)]
        return frozenset().union(*named)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedProvider:
    """A provider with its usage. ``used`` has sorted (class, amount) pairs. ``root_uuid`` is the root of its tree."""

    provider: Provider
    root_uuid: str
    used: tuple[tuple[str, int], ...] = ()

    def used_of(self, resource_class: str) -> int:
        """Return the usage of the class, 0 if the class has none."""
        return dict(self.used).get(resource_class, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedProviders:
    """The providers that may satisfy a request, parents first: whole trees, and the providers that share with a tree.

    ``is_whole``: ``providers`` has all providers of the cloud, not only one host's tree and the providers that share
    with that tree.
    """

    providers: tuple[OfferedProvider, ...]
    is_whole: bool = False
