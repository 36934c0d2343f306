"""Read the allocations on providers that share with this host's tree through an aggregate.

If any provider of the tree is in the aggregate, even a child, Placement lets the whole tree use the sharing provider.
All hosts of the aggregate may have their guests' disks on one sharing provider, so the provider may have all consumers
of the cloud. Only nova's database knows to which host a consumer belongs, and each consumer costs a read of one row. So
a read returns only one window of a long list of consumers, and the next read begins where this window ended.

The set of sharing providers rarely changes, and most hosts are in aggregates without a sharing provider. So the agent
reads the set again only when the tree's aggregates change, or when an audit reads everything again.

If a provider's list of allocations is too large, the agent does not request this list until it next reads the set of
sharing providers. A large list is much work for Placement, and all hosts of the aggregate would request the list.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial

from agent.errors import AnswerTooLarge
from agent.model.placement import Allocation, Provider, SharingProvider
from agent.placement.http.client import PlacementClient
from agent.placement.provider_requests import allocations, listed, none_if_gone
from agent.ports import ViewRequest

SHARES = "MISC_SHARES_VIA_AGGREGATE"
# One URL names at most this number of aggregates: a proxy in front of Placement may reject a long URL. nova uses the
# same limit.
AGGREGATES_AT_ONCE = 200
# If a sharing provider has more allocations than this, the agent does not read them. If it has fewer, ``read`` keeps
# only the allocations of this host's consumers and of some other consumers (see ``window``).
MOST_SHARED = 100_000


class SharingReader:
    """Reads the sharing providers. Each read covers only some of their consumers (see ``window``). Not thread-safe."""

    def __init__(self, client: PlacementClient) -> None:
        self._client = client
        self._after = ""
        self._listed: tuple[frozenset[str], tuple[Provider, ...]] | None = None
        self._too_large: dict[str, str] = {}

    @property
    def unread(self) -> tuple[tuple[str, str], ...]:
        """Sorted pairs (``provider <uuid>``, reason) of sharing providers whose list of allocations is too large."""
        return tuple((f"provider {uuid}", why) for uuid, why in sorted(self._too_large.items()))

    def forget(self) -> None:
        """Forget which providers are sharing providers, and which of them have too many allocations.

        The next read asks Placement again.
        """
        self._listed = None

    def read(
        self, tree: Iterable[Provider], known: frozenset[str], request: ViewRequest
    ) -> tuple[SharingProvider, ...]:
        """Return the sharing providers, sorted by uuid, with the allocations of ``known`` and of some other consumers.

        ``known``: the consumers of this host's tree. The audit looks them up in nova's database anyway. The other
        consumers take turns: each call chooses the next few (see ``window``). A provider with more than MOST_SHARED
        allocations is in ``unread`` instead. If the tree is in no aggregate, no request is sent. Raises PlacementError.
        """
        own = {provider.uuid: provider.aggregates for provider in tree}
        aggregates = frozenset().union(*own.values())
        if request.everything or self._listed is None or self._listed[0] != aggregates:
            self._listed = (aggregates, sharing_providers(self._client, aggregates))
            self._too_large = {}
        found = self._found(provider for provider in self._listed[1] if provider.uuid not in own)
        holders = {a.consumer_uuid for held in found.values() for a in held}
        wanted, self._after = window(holders - known, frozenset(request.suspects), request.shared_reads, self._after)
        chosen = wanted | known
        return tuple(
            SharingProvider(provider=provider, allocations=tuple(a for a in held if a.consumer_uuid in chosen))
            for provider, held in found.items()
        )

    def _found(self, sharing: Iterable[Provider]) -> dict[Provider, tuple[Allocation, ...]]:
        """Return the allocations on each provider, without the providers that have too many allocations."""
        found: dict[Provider, tuple[Allocation, ...]] = {}
        for provider in sharing:
            if provider.uuid in self._too_large:
                continue
            try:
                answer = none_if_gone(partial(allocations, self._client, provider.uuid, MOST_SHARED))
                found[provider] = answer.allocations if answer else ()
            except AnswerTooLarge as error:
                self._too_large[provider.uuid] = str(error).removeprefix("placement: ")
        return found


def window(
    holders: frozenset[str] | set[str], suspects: frozenset[str], most: int, after: str
) -> tuple[frozenset[str], str]:
    """Choose at most ``most`` consumers of ``holders``; return them and the value of ``after`` for the next call.

    ``suspects``, the consumers that looked wrong in the last audit, come first. The other consumers take turns in the
    order of their uuids. ``after`` is the uuid that had the last turn, so the next higher uuid follows. After the
    highest uuid comes the lowest.
    """
    first = sorted(holders & suspects)[:most]
    rest = sorted(holders - suspects)
    start = next((number for number, uuid in enumerate(rest) if uuid > after), 0)
    turn = (rest[start:] + rest[:start])[: most - len(first)]
    return frozenset((*first, *turn)), turn[-1] if turn else after


def sharing_providers(client: PlacementClient, aggregates: Collection[str]) -> tuple[Provider, ...]:
    """Return the providers that share with members of these aggregates, sorted by uuid. Raises PlacementError."""
    found: dict[str, Provider] = {}
    ordered = sorted(aggregates)
    for start in range(0, len(ordered), AGGREGATES_AT_ONCE):
        some = ",".join(ordered[start : start + AGGREGATES_AT_ONCE])
        found.update({p.uuid: p for p in listed(client, member_of=f"in:{some}", required=SHARES)})
    return tuple(found[uuid] for uuid in sorted(found))
