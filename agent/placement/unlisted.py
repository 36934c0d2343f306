"""Find usage that Placement counts without listing an allocation for it. The scheduler cannot use that capacity.

The usage is the sum of the rows of allocations. The list of allocations is a join of these rows with their consumers.
A row whose consumer record is missing is in the sum but not in the list (16.0.0, objects/usage.py and allocation.py).

The list must be read before the sum, so that a change between the two requests cannot look like this fault. A consumer
that leaves in between changes no generation, but only makes the sum smaller. A consumer that arrives in between makes
the sum larger, but raises the generation. If the two answers have different generations, the module reports nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from agent.model.placement import Allocation, Provider, UnlistedUsage
from agent.placement import offer_wire
from agent.placement.http.client import MINIMUM, PlacementClient
from agent.placement.offer_wire import Amounts
from agent.placement.provider_requests import none_if_gone, part_path

#: The type of a pair: a provider and its allocations, which were read after the provider.
Listed = tuple[Provider, tuple[Allocation, ...]]


def read_unlisted(client: PlacementClient, listed: Iterable[Listed]) -> tuple[UnlistedUsage, ...]:
    """Return the usage that Placement counts without listing an allocation. Sends one request per provider.

    Providers without inventory are left out, because they have no allocations. Raises PlacementError.
    """
    found = [each for provider, held in listed if provider.inventories for each in _of(client, provider, held)]
    return tuple(sorted(found, key=lambda each: (each.provider_uuid, each.resource_class)))


def _of(client: PlacementClient, provider: Provider, held: Iterable[Allocation]) -> Iterable[UnlistedUsage]:
    path = part_path(provider.uuid, "usages")
    answer = none_if_gone(lambda: client.get(path, MINIMUM, offer_wire.parse_usages_at))
    if answer is None or answer[0] != provider.generation:
        return ()
    return difference(provider.uuid, answer[1], held)


def difference(provider_uuid: str, used: Amounts, held: Iterable[Allocation]) -> Iterator[UnlistedUsage]:
    """Yield one UnlistedUsage for each class whose usage in Placement exceeds the sum of the listed allocations."""
    listed: dict[str, int] = defaultdict(int)
    for allocation in held:
        listed[allocation.resource_class] += allocation.amount
    for name, amount in used:
        if amount > listed[name]:
            yield UnlistedUsage(provider_uuid=provider_uuid, resource_class=name, amount=amount - listed[name])
