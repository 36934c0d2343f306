"""Find providers by name, and rename a provider (``adopt``).

A rename needs no provider generation, and leaves the generation unchanged.
"""

from __future__ import annotations

from agent.model.placement import Provider
from agent.model.plan import RenameProvider
from agent.placement import wire
from agent.placement.http.client import MINIMUM, PlacementClient
from agent.placement.provider_requests import listed, provider_path


class ProviderNames:
    """Implements the protocol ProviderNames (agent/ports.py) over REST. Not thread-safe."""

    def __init__(self, client: PlacementClient) -> None:
        self._client = client

    def holder(self, name: str) -> Provider | None:
        """Return the provider with that name, without its inventories; None if there is none. Raises PlacementError."""
        return next(iter(listed(self._client, name=name)), None)

    def name_of(self, uuid: str) -> str | None:
        """Return the provider's name; None if there is no such provider. Raises PlacementError."""
        return next((provider.name for provider in listed(self._client, uuid=uuid)), None)

    def rename(self, write: RenameProvider) -> None:
        """Rename a provider. Raises PlacementError; DuplicateName if another provider has the name."""
        path = provider_path(write.provider_uuid)
        self._client.put(path, MINIMUM, {"name": write.name}, wire.parse_provider)
