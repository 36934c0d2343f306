"""Move inventories and allocations between providers in one request (POST /reshaper); create and delete providers.

The request uses a microversion below 1.38 even if the server supports 1.38. At 1.38 the request must name each
consumer's type. Placement rejects "unknown", which nova's consumers have, and any other type would change the consumer
permanently. Below 1.38 every consumer keeps its type.

The request contains the whole set of inventories of each provider that it names; other providers stay as they are. A
child must exist before the request can name it, so new children are created empty first. If the reshape then
fails, an empty child does no harm.
"""

from __future__ import annotations

from agent.errors import DuplicateName
from agent.model.plan import CreateProvider, Reshape
from agent.placement import wire
from agent.placement.http.client import MINIMUM, PlacementClient
from agent.placement.provider_requests import conflict, delete_provider, listed


class ReshapeClient:
    """Implements the protocol Reshaper (agent/ports.py) over REST. Not thread-safe."""

    def __init__(self, client: PlacementClient) -> None:
        self._client = client

    def create(self, write: CreateProvider) -> int:
        """Create an empty provider and return its generation. Raises PlacementError, for example DuplicateName."""
        body = wire.render_provider(write)
        try:
            made = self._client.post("/resource_providers", MINIMUM, body, wire.parse_provider)
        except DuplicateName as error:
            # Placement has the same error code for a duplicate uuid and a duplicate name (writer.py). If the uuid
            # exists, another client has created the provider since the reshape was planned.
            if not listed(self._client, uuid=write.provider_uuid):
                raise
            raise conflict("another client created the provider after the agent had read the tree", error) from error
        return made.generation or 0

    def reshape(self, write: Reshape) -> None:
        """Apply the whole reshape or nothing of it.

        Raises GenerationConflict if a provider or consumer changed since ``write`` was planned, AllocationRefused if an
        allocation does not fit, InventoryInUse if a class to be removed still has allocations, or PlacementError.
        """
        self._client.post("/reshaper", MINIMUM, wire.render_reshape(write), wire.nothing)

    def delete(self, provider_uuid: str) -> None:
        """Delete a provider; a missing provider is not an error. Raises ProviderInUse or another PlacementError."""
        delete_provider(self._client, provider_uuid)
