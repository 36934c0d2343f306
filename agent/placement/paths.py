"""Build the paths of a provider and its parts in Placement's API. Pure."""

from __future__ import annotations

from urllib.parse import quote


def provider_path(uuid: str) -> str:
    """Return the path of the provider itself."""
    return f"/resource_providers/{quote(uuid, safe='')}"


def part_path(uuid: str, part: str) -> str:
    """Return the path of its ``inventories``, ``traits``, ``aggregates``, ``usages`` or ``allocations``."""
    return f"{provider_path(uuid)}/{part}"
