"""Read what is held of providers outside our tree that it may take from: those that share through an aggregate.

One provider of the tree in the aggregate is enough, be it a child: Placement then lets the whole tree take.
Every host of the aggregate has its guests' disks there, so one such provider may have
the whole cloud's consumers. What a newcomer would get wrong: whose they are says the state source
alone, one row each, so of a long list only a window goes on, and the next read begins
where this one ended. And who shares is hardly ever another: most hosts are in aggregates
where nobody does, so the list is asked for again when the tree's aggregates change, or
everything is read anew, and not in between. One whose list is too large to be taken is not read, and left alone as
long: to make such a list costs Placement the most, and all hosts of the aggregate would ask for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import quote

from agent.errors import AnswerTooLarge, PlacementRejected
from agent.model.placement import Allocation, Provider, SharingProvider
from agent.placement import wire
from agent.placement.http.client import MINIMUM, PlacementClient
from agent.placement.paths import part_path
from agent.ports import ViewRequest

SHARES = "MISC_SHARES_VIA_AGGREGATE"
# An URL that names more of them may be refused by what stands before Placement (nova asks for as many at once).
AGGREGATES_AT_ONCE = 200
# Allocations on one such provider. They are sorted out at once, so that few of them cost more than their JSON.
MOST_SHARED = 100_000


class SharingReader:
    """Reads sharing providers, a window of their consumers at a time. For one thread."""

    def __init__(self, client: PlacementClient) -> None:
        self._client = client
        self._after = ""
        self._listed: tuple[frozenset[str], frozenset[Provider]] | None = None
        self._too_large: dict[str, str] = {}

    @property
    def unread(self) -> tuple[tuple[str, str], ...]:
        """What shares and could not be read since its list is too large, as the finding names it, and why; sorted."""
        return tuple((f"provider {uuid}", why) for uuid, why in sorted(self._too_large.items()))

    def forget(self) -> None:
        """Drop who shares; the next read asks, those too whose list was too large."""
        self._listed = None

    def read(
        self, tree: Iterable[Provider], known: frozenset[str], request: ViewRequest
    ) -> tuple[SharingProvider, ...]:
        """Providers sorted by uuid, each with the allocations of this window's consumers and of ``known``.

        One whose list is too large is in ``unread`` instead.
        ``known`` are consumers that are looked up anyway: they take no place in the window. No request where the tree
        is in no aggregate. Raises PlacementError.
        """
        own = {provider.uuid: provider.aggregates for provider in tree}
        aggregates = frozenset().union(*own.values())
        if request.everything or self._listed is None or self._listed[0] != aggregates:
            self._listed = (aggregates, self._providers(aggregates))
            self._too_large = {}
        found = self._found(provider for provider in self._listed[1] if provider.uuid not in own)
        holders = {a.consumer_uuid for held in found.values() for a in held}
        wanted, self._after = window(holders - known, frozenset(request.suspects), request.shared_reads, self._after)
        chosen = wanted | known
        return tuple(
            SharingProvider(provider=provider, allocations=tuple(a for a in held if a.consumer_uuid in chosen))
            for provider, held in sorted(found.items(), key=lambda item: item[0].uuid)
        )

    def _providers(self, aggregates: frozenset[str]) -> frozenset[Provider]:
        found: set[Provider] = set()
        for some in _chunks(sorted(aggregates)):
            member_of = quote(f"in:{','.join(some)}", safe=":,")
            path = f"/resource_providers?member_of={member_of}&required={SHARES}"
            found.update(self._client.get(path, MINIMUM, wire.parse_providers))
        return frozenset(found)

    def _found(self, sharing: Iterable[Provider]) -> dict[Provider, tuple[Allocation, ...]]:
        """Who holds what of each, but of those whose list is too large."""
        found: dict[Provider, tuple[Allocation, ...]] = {}
        for provider in sharing:
            if provider.uuid in self._too_large:
                continue
            try:
                found[provider] = self._allocations(provider)
            except AnswerTooLarge as error:
                self._too_large[provider.uuid] = str(error).removeprefix("placement: ")
        return found

    def _allocations(self, provider: Provider) -> tuple[Allocation, ...]:
        path = part_path(provider.uuid, "allocations")
        try:
            answer = self._client.get(
                path, MINIMUM, lambda body: wire.parse_allocations(body, provider.uuid, MOST_SHARED)
            )
        except PlacementRejected as error:
            if error.status != 404:
                raise
            return ()  # deleted since it was listed
        return answer.allocations


def window(
    holders: frozenset[str] | set[str], suspects: frozenset[str], most: int, after: str
) -> tuple[frozenset[str], str]:
    """At most ``most`` of the holders, suspects first, then those that sort behind ``after``, round the end.

    The second answer is where the next window begins: behind the last one that was no suspect.
    """
    first = sorted(holders & suspects)[:most]
    rest = sorted(holders - suspects)
    start = next((number for number, uuid in enumerate(rest) if uuid > after), 0)
    turn = (rest[start:] + rest[:start])[: most - len(first)]
    return frozenset((*first, *turn)), turn[-1] if turn else after


def _chunks(uuids: list[str]) -> Iterator[Iterable[str]]:
    for start in range(0, len(uuids), AGGREGATES_AT_ONCE):
        yield uuids[start : start + AGGREGATES_AT_ONCE]
