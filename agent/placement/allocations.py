"""Read and replace one consumer's allocations.

Placement rejects a PUT with an old consumer generation (409). A PUT below microversion 1.38 keeps the consumer's type.
A PUT at 1.38 must name the type. When a consumer's last allocation is removed, Placement deletes the consumer with its
type and generation. So a caller that may have to restore the consumer must first save the type. If the consumer has no
allocations now, the PUT must contain ``null`` as the consumer generation.
"""

from __future__ import annotations

from urllib.parse import quote

from agent.model.placement import ConsumerRecord
from agent.model.plan import PutAllocations
from agent.placement import wire
from agent.placement.http.client import MINIMUM, TYPED, PlacementClient


class AllocationClient:
    """Implements the protocol AllocationWriter (agent/ports.py) over REST. Not thread-safe."""

    def __init__(self, client: PlacementClient) -> None:
        self._client = client

    def consumer(self, consumer_uuid: str) -> ConsumerRecord:
        """Return all allocations of the consumer. Raises PlacementError.

        From microversion 1.38 on, the result has the consumer's type too.
        """
        version = TYPED if self._client.maximum() >= TYPED else MINIMUM
        return self._client.get_dated(
            _path(consumer_uuid), version, lambda body, written: wire.parse_consumer(body, consumer_uuid, written)
        )

    def put(self, write: PutAllocations) -> None:
        """Replace all allocations of the consumer. Raises GenerationConflict and AllocationRefused among others."""
        version = MINIMUM if write.consumer_type is None else TYPED
        self._client.put(_path(write.consumer_uuid), version, wire.render_allocations(write), wire.nothing)


def _path(consumer_uuid: str) -> str:
    return f"/allocations/{quote(consumer_uuid, safe='')}"
