"""Providers by name, and a new name for one (``adopt``). A rename moves no generation and needs none."""

from __future__ import annotations

from urllib.parse import quote

from agent.model.placement import Provider
from agent.model.plan import RenameProvider
from agent.placement import wire
from agent.placement.http.client import MINIMUM, PlacementClient
from agent.placement.paths import provider_path


class ProviderNames:
    """ProviderNames over REST. For one thread."""

    def __init__(self, client: PlacementClient) -> None:
        self._client = client

    def holder(self, name: str) -> Provider | None:
        """Who bears that name, as the list has it (no inventory, no trait). Raises PlacementError."""
        found = self._client.get(f"/resource_providers?name={quote(name, safe='')}", MINIMUM, wire.parse_providers)
        return found[0] if found else None

    def name_of(self, uuid: str) -> str | None:
        """Its name, None where there is no such provider. Raises PlacementError."""
        found = self._client.get(f"/resource_providers?uuid={quote(uuid, safe='')}", MINIMUM, wire.parse_providers)
        return found[0].name if found else None

    def rename(self, write: RenameProvider) -> None:
        """Raises PlacementError: DuplicateName where another provider bears the name."""
        path = provider_path(write.provider_uuid)
        self._client.put(path, MINIMUM, {"name": write.name}, wire.parse_provider)
