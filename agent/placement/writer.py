"""Carry a plan out: its writes in order, each with the generation that the one before it left.

A write is never re-sent. A lost answer may have been a success, a conflict means
that the plan rests on something that is no longer so: both end the plan, and the
audit reads and decides again. What had been acknowledged until then is on the
error (``applied``). Custom names exist in Placement only once somebody made them,
so they are ensured before their first use, once per process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from urllib.parse import quote

from agent.errors import (
    AuditCancelled,
    DuplicateName,
    GenerationConflict,
    PlacementError,
    PlacementRejected,
)
from agent.model.plan import (
    Applied,
    CreateProvider,
    DeleteProvider,
    Plan,
    PutAggregates,
    PutInventories,
    PutTraits,
    Write,
)
from agent.placement import wire
from agent.placement.client import MINIMUM, PlacementClient

CUSTOM = "CUSTOM_"
UNKNOWN_NAME = re.compile(r"No such (resource class|trait) \S*CUSTOM_")


class TreeWriter:
    """Reporter over REST. For one thread."""

    def __init__(self, client: PlacementClient) -> None:
        self._client = client
        self._ensured: frozenset[str] = frozenset()

    def apply(self, plan: Plan, cancelled: Callable[[], bool]) -> Applied:
        """Do the writes of ``plan``; ``cancelled`` is asked before each.

        Raises PlacementError (GenerationConflict: read and decide again) and
        AuditCancelled, both with ``applied``.
        """
        before = self._client.requests
        generations = dict(plan.generations)
        done: tuple[Write, ...] = ()
        try:
            with self._client.global_request_id():
                for write in plan.writes:
                    _stop_if(cancelled, f"stopped after {len(done)} of {len(plan.writes)} writes")
                    self._carry_out(write, generations)
                    done = (*done, write)
        except (PlacementError, AuditCancelled) as error:
            error.applied = Applied(done=done, requests=self._client.requests - before)
            raise
        return Applied(done=done, requests=self._client.requests - before)

    def _carry_out(self, write: Write, generations: dict[str, int]) -> None:
        """One write; ``generations`` then holds what its provider is at."""
        uuid = write.provider_uuid
        match write:
            case CreateProvider():
                generations[uuid] = self._create(write)
            case DeleteProvider():
                self._delete(uuid)
            case PutInventories() | PutTraits() | PutAggregates():
                generations[uuid] = self._put(write, generations[uuid])

    def _put(self, write: PutInventories | PutTraits | PutAggregates, generation: int) -> int:
        try:
            return self._replace(write, generation)
        except PlacementRejected as error:
            if error.status == 404:
                raise _again("the provider was deleted since it was read", error) from error
            if not UNKNOWN_NAME.search(error.message):
                raise
            # Somebody deleted a custom name, or two threads of the server refreshed its cache of names at
            # once (attribute_cache.py; seen with 16 writers): the next round ensures all of them again.
            self._ensured = frozenset()
            raise _again("a custom name is not known yet", error) from error

    def _replace(self, write: PutInventories | PutTraits | PutAggregates, generation: int) -> int:
        """PUT the whole set; the generation after it."""
        put = self._client.put
        match write:
            case PutInventories(inventories=inventories):
                self._ensure("/resource_classes", (inventory.resource_class for inventory in inventories))
                body = wire.render_inventories(inventories, generation)
                return put(_of(write, "inventories"), MINIMUM, body, wire.parse_inventories).generation
            case PutTraits(traits=traits):
                self._ensure("/traits", traits)
                body = wire.render_traits(traits, generation)
                return put(_of(write, "traits"), MINIMUM, body, wire.parse_traits).generation
            case PutAggregates(aggregates=aggregates):
                body = wire.render_aggregates(aggregates, generation)
                return put(_of(write, "aggregates"), MINIMUM, body, wire.parse_aggregates).generation

    def _create(self, write: CreateProvider) -> int:
        """The first generation. Raises GenerationConflict where the uuid exists, DuplicateName where the name does."""
        try:
            created = self._client.post(
                "/resource_providers", MINIMUM, wire.render_provider(write), wire.parse_provider
            )
        except DuplicateName as error:
            # One code for both, and which of two duplicates the text names depends on the server's database.
            if self._exists(write.provider_uuid):
                raise _again("somebody made the provider meanwhile", error) from error
            raise
        return created.generation or 0

    def _exists(self, uuid: str) -> bool:
        path = f"/resource_providers?uuid={quote(uuid, safe='')}"
        return bool(self._client.get(path, MINIMUM, wire.parse_providers))

    def _delete(self, uuid: str) -> None:
        try:
            self._client.delete(f"/resource_providers/{quote(uuid, safe='')}", MINIMUM)
        except PlacementRejected as error:
            if error.status != 404:
                raise

    def _ensure(self, collection: str, names: Iterable[str]) -> None:
        """Make the custom ones among ``names`` exist in ``collection``."""
        for name in sorted(names):
            path = f"{collection}/{quote(name, safe='')}"
            if name.startswith(CUSTOM) and path not in self._ensured:
                self._client.put(path, MINIMUM, None, wire.nothing)
                self._ensured |= {path}


def _stop_if(cancelled: Callable[[], bool], where: str) -> None:
    if cancelled():
        raise AuditCancelled(where)


def _of(write: Write, part: str) -> str:
    return f"/resource_providers/{quote(write.provider_uuid, safe='')}/{part}"


def _again(why: str, error: PlacementError) -> GenerationConflict:
    return GenerationConflict(f"{why}: {error.message}", status=error.status, request_id=error.request_id)
