"""Send the requests that several modules of this package share: lists of providers, and the parts of one provider.

All functions raise PlacementError. ``none_if_gone`` handles a 404, which means that the provider was deleted after it
was listed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from urllib.parse import quote, urlencode

from agent.errors import GenerationConflict, PlacementError, PlacementRejected
from agent.model.placement import Provider
from agent.placement import wire
from agent.placement.http.bounds import OWN, Bound
from agent.placement.http.client import MINIMUM, PlacementClient

T = TypeVar("T")


def provider_path(uuid: str) -> str:
    """Return the URL path of a provider itself."""
    return f"/resource_providers/{quote(uuid, safe='')}"


def part_path(uuid: str, part: str) -> str:
    """Return the path of a provider's ``inventories``, ``traits``, ``aggregates``, ``usages`` or ``allocations``."""
    return f"{provider_path(uuid)}/{part}"


def listed(client: PlacementClient, bound: Bound = OWN, **filters: str) -> tuple[Provider, ...]:
    """Return the providers that match all filters, without their inventories, traits and aggregates."""
    query = f"?{urlencode(filters, safe=':,', quote_via=quote)}" if filters else ""
    return client.get(f"/resource_providers{query}", MINIMUM, wire.parse_providers, bound)


def inventories(client: PlacementClient, uuid: str) -> wire.Inventories:
    """Return the provider's inventories."""
    return client.get(part_path(uuid, "inventories"), MINIMUM, wire.parse_inventories)


def traits(client: PlacementClient, uuid: str) -> wire.Traits:
    """Return the provider's traits."""
    return client.get(part_path(uuid, "traits"), MINIMUM, wire.parse_traits)


def aggregates(client: PlacementClient, uuid: str) -> wire.Aggregates:
    """Return the provider's aggregates."""
    return client.get(part_path(uuid, "aggregates"), MINIMUM, wire.parse_aggregates)


def allocations(client: PlacementClient, uuid: str, most: int) -> wire.Allocations:
    """Return the allocations on the provider. Raises AnswerTooLarge if there are more than ``most``."""
    return client.get(part_path(uuid, "allocations"), MINIMUM, lambda body: wire.parse_allocations(body, uuid, most))


def delete_provider(client: PlacementClient, uuid: str) -> None:
    """Delete the provider; a missing provider is not an error. Raises ProviderInUse among others."""
    none_if_gone(lambda: client.delete(provider_path(uuid), MINIMUM))


def none_if_gone(send: Callable[[], T]) -> T | None:
    """Return what ``send`` returns; None if Placement answers 404."""
    try:
        return send()
    except PlacementRejected as error:
        if error.status != 404:
            raise
        return None


def conflict(why: str, error: PlacementError) -> GenerationConflict:
    """Return ``error`` as a GenerationConflict, so that the audit reads Placement again. ``why`` begins its text."""
    return GenerationConflict(f"{why}: {error.message}", status=error.status, request_id=error.request_id)
