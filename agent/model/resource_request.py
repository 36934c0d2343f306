"""What is asked of Placement (``GET /allocation_candidates``), and the providers that it is asked of.

A request is one unnumbered group (suffix ""), whose classes may come from several
providers of one tree and of those that share with it, and any number of granular
groups, each of which one single provider must satisfy alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.placement import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestGroup:
    """One group of a request.

    ``resources`` are (class, amount), sorted by class; ``required`` are sets of traits, of each of which one must be
    there (a plain required trait is a set of one); ``forbidden`` traits must not. ``member_of`` likewise are sets of
    aggregates' uuids, ``forbidden_aggregates`` those it must not be in. ``in_tree`` is a provider's uuid.
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
    """A whole request. ``group_policy`` is "none" or "isolate", None where at most one group is granular.

    ``root_required`` and ``root_forbidden`` are traits of the tree's root (1.35); ``same_subtree`` are sets of
    suffixes whose providers must lie below one of them (1.36).
    """

    groups: tuple[RequestGroup, ...]
    group_policy: str | None = None
    root_required: frozenset[str] = frozenset()
    root_forbidden: frozenset[str] = frozenset()
    same_subtree: tuple[frozenset[str], ...] = ()

    @property
    def classes(self) -> frozenset[str]:
        """Every resource class that it names."""
        return frozenset(name for group in self.groups for name, _ in group.resources)

    @property
    def traits(self) -> frozenset[str]:
        """Every trait that it names, wanted or not."""
        named = [names for group in self.groups for names in (*group.required, group.forbidden)]
        return frozenset().union(*named, self.root_required, self.root_forbidden)

    @property
    def aggregates(self) -> frozenset[str]:
        """The uuid of every aggregate that it names, wanted or not."""
        named = [uuids for group in self.groups for uuids in (*group.member_of, group.forbidden_aggregates)]
        return frozenset().union(*named)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedProvider:
    """A provider with what is taken of it: ``used`` are (class, amount), sorted; ``root_uuid`` is its tree's root."""

    provider: Provider
    root_uuid: str
    used: tuple[tuple[str, int], ...] = ()

    def used_of(self, resource_class: str) -> int:
        """What consumers hold of that class."""
        return dict(self.used).get(resource_class, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedWorld:
    """Providers that a request may be answered from, parents first: whole trees, those that share included.

    ``is_whole``: every provider of the cloud is here; else it is one host's tree and what shares with it.
    """

    providers: tuple[OfferedProvider, ...]
    is_whole: bool = False
