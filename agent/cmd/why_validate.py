"""Refuse a request that names an unknown class, trait, aggregate or provider, and suggest the nearest name.

A name is known if Placement lists it. If Placement cannot be read, a name is known if os-resource-classes or os-traits
has it, and every CUSTOM_ name is accepted. Placement does not list aggregates: an aggregate is known if it contains a
provider.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import replace

import os_resource_classes

from agent.cmd.naming.prefixes import could_be_beginning, only_match
from agent.errors import PlacementError
from agent.model.placement import Provider
from agent.model.resource_request import ResourceRequest
from agent.placement import offers
from agent.placement.http.client import PlacementClient
from agent.text.nearest import nearest
from agent.traits.standard_names import STANDARD
from agent.usage_error import UsageError
from agent.why.parse_request import Words, canonical_uuid

CUSTOM = "CUSTOM_"
# A known uuid is suggested if the typed uuid differs from it in at most this many characters. Two swapped digits make
# two differences, while two random uuids differ in about 30 characters.
MOST_SLIPS = 2


def parsable(words: Words) -> Words:
    """Return the request's words in a form that the parser accepts.

    The parser refuses the beginning of a uuid. So ``in_tree`` is left out if it is only the beginning of a uuid.
    """
    return replace(words, in_tree=None) if _is_beginning(words) else words


def with_whole_uuid(client: PlacementClient, words: Words) -> Words:
    """Return the request options. If ``in_tree`` is only the beginning of a provider's uuid, complete the uuid.

    Raises UsageError if no provider or several providers have a uuid with this beginning, and PlacementError if
    Placement cannot be read.
    """
    if not _is_beginning(words):
        return words
    typed = words.in_tree or ""
    found = only_match("provider", typed, (provider.uuid for provider in offers.every_provider(client)))
    if found is None:
        raise UsageError(f"unknown provider {typed} in the parameter in_tree")
    return replace(words, in_tree=found)


def _is_beginning(words: Words) -> bool:
    return words.in_tree is not None and not canonical_uuid(words.in_tree) and could_be_beginning(words.in_tree)


def refuse_unknown_names(client: PlacementClient, request: ResourceRequest) -> None:
    """Raise UsageError for the first unknown class or trait."""
    _refuse("resource class", request.classes, lambda: offers.known_classes(client), os_resource_classes.STANDARDS)
    if request.traits:
        _refuse("trait", request.traits, lambda: offers.known_traits(client), STANDARD)


def refuse_unknown_places(client: PlacementClient, request: ResourceRequest, own: Iterable[Provider]) -> None:
    """Raise UsageError if an aggregate has no provider, or if ``in_tree`` is not the uuid of a provider.

    Raises PlacementError if Placement cannot be read. ``own`` is this host's tree, whose aggregates are known already.
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
            raise UsageError(f"unknown provider {uuid} in the parameter in_tree{hint}")


def unknown_aggregate(request: ResourceRequest, aggregate: str, known: Iterable[str]) -> str:
    """Return the error for an aggregate that has no providers. ``known`` has the aggregates of this host's tree."""
    near = mistyped(aggregate, known)
    hint = f" (did you mean {near}?)" if near else ""
    wanted = any(aggregate in some for group in request.groups for some in group.member_of)
    end = "" if wanted else f"; without !{aggregate}, the request has the same result"
    return (
        f"unknown aggregate {aggregate}: no provider is in this aggregate{hint}; if nova has this aggregate, sync "
        f"the aggregate's hosts with nova-manage placement sync_aggregates{end}"
    )


def mistyped(uuid: str, known: Iterable[str]) -> str | None:
    """Return the known uuid that the operator most likely meant by ``uuid``, None if every known uuid differs too much.

    difflib is not suitable, because for difflib any two uuids are similar.
    """
    differing = {other: sum(map(operator.ne, uuid, other)) for other in sorted(known)}
    closest = min(differing, key=lambda other: differing[other], default=None)
    return closest if closest is not None and differing[closest] <= MOST_SLIPS else None


def _refuse(what: str, names: Iterable[str], read: Callable[[], frozenset[str]], standard: Iterable[str]) -> None:
    try:
        known = read()
        unknown = [name for name in sorted(names) if name not in known]
    except PlacementError:
        known = frozenset(standard)
        unknown = [name for name in sorted(names) if name not in known and not name.startswith(CUSTOM)]
    if unknown:
        near = nearest(unknown[0], sorted(known))
        hint = f": did you mean {near}?" if near else ""
        raise UsageError(f"unknown {what} {unknown[0]}{hint}")
