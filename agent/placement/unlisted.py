"""Read what Placement counts of a provider beyond the allocations that it lists: the scheduler subtracts it all.

Placement sums the rows of allocations for usage, and lists them joined with their
consumers: a row whose consumer record is gone is in the sum and in no list (16.0.0,
objects/usage.py and allocation.py). What a newcomer would get wrong is the order. The
list must come first: between the two requests somebody may leave, which moves no generation and
makes the sum smaller, and whoever comes moves it. So with equal generations a sum that is
larger than the list cannot be a race; where they differ nothing is said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from agent.errors import PlacementRejected
from agent.model.placement import Allocation, Provider, UnlistedUsage
from agent.placement import offer_wire
from agent.placement.http.client import MINIMUM, PlacementClient
from agent.placement.offer_wire import Amounts
from agent.placement.paths import part_path

#: A provider as it was read, and then its allocations.
Listed = tuple[Provider, tuple[Allocation, ...]]


def read_unlisted(client: PlacementClient, listed: Iterable[Listed]) -> tuple[UnlistedUsage, ...]:
    """Sorted. One request for each provider that offers anything: nobody holds anything of another.

    Raises PlacementError.
    """
    found = [each for provider, held in listed if provider.inventories for each in _of(client, provider, held)]
    return tuple(sorted(found, key=lambda each: (each.provider_uuid, each.resource_class)))


def _of(client: PlacementClient, provider: Provider, held: Iterable[Allocation]) -> Iterable[UnlistedUsage]:
    try:
        generation, used = client.get(part_path(provider.uuid, "usages"), MINIMUM, offer_wire.parse_usages_at)
    except PlacementRejected as error:
        if error.status != 404:
            raise
        return ()  # deleted since it was read
    return difference(provider.uuid, used, held) if generation == provider.generation else ()


def difference(provider_uuid: str, used: Amounts, held: Iterable[Allocation]) -> Iterator[UnlistedUsage]:
    """What is used of each class and held by nobody who is listed."""
    listed: dict[str, int] = defaultdict(int)
    for allocation in held:
        listed[allocation.resource_class] += allocation.amount
    for name, amount in used:
        if amount > listed[name]:
            yield UnlistedUsage(provider_uuid=provider_uuid, resource_class=name, amount=amount - listed[name])
