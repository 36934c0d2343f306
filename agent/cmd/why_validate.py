"""Refuse a request for what there is not: an unknown class, trait, aggregate or provider, with the nearest name.

Names are those of this Placement; where it cannot be asked, those of os-resource-classes and os-traits, and
then a CUSTOM_ name is nobody's to refuse. An aggregate has no name and no list: it is
known when a provider is in it.
"""

from __future__ import annotations

import difflib
import operator
from collections.abc import Callable, Iterable

import os_resource_classes
import os_traits

from agent.errors import PlacementError
from agent.model.placement import Provider
from agent.model.resource_request import ResourceRequest
from agent.placement import offers
from agent.placement.http.client import PlacementClient
from agent.usage_error import UsageError

CUSTOM = "CUSTOM_"
# Characters of a uuid: two digits the wrong way round are two. Two uuids of chance have about 30 that differ.
MOST_SLIPS = 2


def refuse_unknown_names(client: PlacementClient, request: ResourceRequest) -> None:
    """Raises UsageError for the first class or trait that nobody knows."""
    _refuse("resource class", request.classes, lambda: offers.known_classes(client), os_resource_classes.STANDARDS)
    if request.traits:
        _refuse("trait", request.traits, lambda: offers.known_traits(client), os_traits.get_traits())


def refuse_unknown_places(client: PlacementClient, request: ResourceRequest, own: Iterable[Provider]) -> None:
    """Raises UsageError for an aggregate that no provider is in, or an ``in_tree`` that is no provider.

    Raises PlacementError. ``own`` is this host's tree, whose aggregates are the names that are at hand.
    """
    tree = tuple(own)
    known_aggregates = sorted(frozenset().union(*(provider.aggregates for provider in tree)))
    for aggregate in sorted(request.aggregates):
        if aggregate not in known_aggregates and not offers.members_of(client, aggregate):
            raise UsageError(unknown_aggregate(request, aggregate, known_aggregates))
    wanted = {group.in_tree for group in request.groups if group.in_tree} - {provider.uuid for provider in tree}
    if wanted:
        known = {provider.uuid: provider.name for provider in offers.every_provider(client)}
        for uuid in sorted(wanted - known.keys()):
            near = mistyped(uuid, known)
            hint = f": did you mean {near} ({known[near]})?" if near else ""
            raise UsageError(f"unknown provider {uuid} in in_tree{hint}")


def unknown_aggregate(request: ResourceRequest, aggregate: str, known: Iterable[str]) -> str:
    """The sentence on an aggregate without providers; ``known`` are those that this host's tree is in."""
    near = mistyped(aggregate, known)
    hint = f" (did you mean {near}?)" if near else ""
    wanted = any(aggregate in some for group in request.groups for some in group.member_of)
    end = "" if wanted else f"; leaving !{aggregate} out of the request changes nothing"
    return (
        f"unknown aggregate {aggregate}: no provider is in it{hint}; if nova has it, its hosts were not synced: "
        f"nova-manage placement sync_aggregates{end}"
    )


def mistyped(uuid: str, known: Iterable[str]) -> str | None:
    """The nearest of these uuids, where so few characters differ that it is a slip; all uuids look alike else."""
    differing = {other: sum(map(operator.ne, uuid, other)) for other in sorted(known)}
    nearest = min(differing, key=lambda other: differing[other], default=None)
    return nearest if nearest is not None and differing[nearest] <= MOST_SLIPS else None


def _refuse(what: str, names: Iterable[str], read: Callable[[], frozenset[str]], standard: Iterable[str]) -> None:
    try:
        known = read()
        unknown = [name for name in sorted(names) if name not in known]
    except PlacementError:
        known = frozenset(standard)
        unknown = [name for name in sorted(names) if name not in known and not name.startswith(CUSTOM)]
    if unknown:
        raise UsageError(f"unknown {what} {unknown[0]}{_near(unknown[0], sorted(known))}")


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f": did you mean {near[0]}?" if near else ""
