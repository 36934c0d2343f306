"""Where a provider, or a part of one, is in Placement's API. Pure."""

from __future__ import annotations

from urllib.parse import quote


def provider_path(uuid: str) -> str:
    """The provider itself."""
    return f"/resource_providers/{quote(uuid, safe='')}"


def part_path(uuid: str, part: str) -> str:
    """Its ``inventories``, ``traits``, ``aggregates``, ``usages`` or ``allocations``."""
    return f"{provider_path(uuid)}/{part}"
