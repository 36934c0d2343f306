"""Move inventories and allocations between providers in one request, and what goes with it: POST /reshaper.

What a newcomer would get wrong: it is sent below 1.38 although the server may speak
that. There a consumer's type would have to be named, "unknown" (what nova's consumers
have) is refused, and any other one would change the consumer for ever; below, every
consumer keeps the type that it has. The inventories that are sent are each provider's
whole set, and providers that are not named stay as they are. A child must exist before
it can be named, so new ones are made first, empty: harmless if nothing follows.
"""

from __future__ import annotations

from urllib.parse import quote

from agent.errors import DuplicateName, GenerationConflict, PlacementRejected
from agent.model.plan import CreateProvider, Reshape
from agent.placement import wire
from agent.placement.http.client import MINIMUM, PlacementClient
from agent.placement.paths import provider_path


class ReshapeClient:
    """Reshaper over REST. For one thread."""

    def __init__(self, client: PlacementClient) -> None:
        self._client = client

    def create(self, write: CreateProvider) -> int:
        """Make it, with nothing to offer; its generation. Raises PlacementError, DuplicateName among them."""
        body = wire.render_provider(write)
        try:
            made = self._client.post("/resource_providers", MINIMUM, body, wire.parse_provider)
        except DuplicateName as error:
            # One code for a duplicate uuid and a duplicate name (writer.py); the uuid's is somebody who was quicker.
            if not self._exists(write.provider_uuid):
                raise
            message = f"somebody made the provider meanwhile: {error.message}"
            raise GenerationConflict(message, status=error.status, request_id=error.request_id) from error
        return made.generation or 0

    def reshape(self, write: Reshape) -> None:
        """All of it or nothing. Raises PlacementError.

        GenerationConflict: a provider or a consumer is not as it was decided on; AllocationRefused: it finds no room;
        InventoryInUse: somebody else holds what is to go.
        """
        self._client.post("/reshaper", MINIMUM, wire.render_reshape(write), wire.nothing)

    def delete(self, provider_uuid: str) -> None:
        """Remove a provider; one that is gone already is no error. Raises PlacementError, ProviderInUse among them."""
        try:
            self._client.delete(provider_path(provider_uuid), MINIMUM)
        except PlacementRejected as error:
            if error.status != 404:
                raise

    def _exists(self, provider_uuid: str) -> bool:
        path = f"/resource_providers?uuid={quote(provider_uuid, safe='')}"
        return bool(self._client.get(path, MINIMUM, wire.parse_providers))
