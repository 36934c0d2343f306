"""Read and replace what one consumer holds, with its generation: a change that rests on something old is a conflict.

What a newcomer would get wrong: a PUT below 1.38 keeps the type that a consumer has, one
at 1.38 must name it; a consumer whose last allocation goes is gone, type and generation
with it, so what is to come back later must be remembered before; and a consumer that
holds nothing yet is written with generation null.
"""

from __future__ import annotations

from urllib.parse import quote

from agent.model.placement import ConsumerRecord
from agent.model.plan import PutAllocations
from agent.placement import wire
from agent.placement.http.client import MINIMUM, TYPED, PlacementClient


class AllocationClient:
    """AllocationWriter over REST. For one thread."""

    def __init__(self, client: PlacementClient) -> None:
        self._client = client

    def consumer(self, consumer_uuid: str) -> ConsumerRecord:
        """All that it holds, its type where the server tells one. Raises PlacementError."""
        version = TYPED if self._client.maximum() >= TYPED else MINIMUM
        return self._client.get(_path(consumer_uuid), version, lambda body: wire.parse_consumer(body, consumer_uuid))

    def put(self, write: PutAllocations) -> None:
        """Replace all that it holds. Raises PlacementError: GenerationConflict where it or a provider moved.

        AllocationRefused where it finds no room.
        """
        version = MINIMUM if write.consumer_type is None else TYPED
        self._client.put(_path(write.consumer_uuid), version, wire.render_allocations(write), wire.nothing)


def _path(consumer_uuid: str) -> str:
    return f"/allocations/{quote(consumer_uuid, safe='')}"
