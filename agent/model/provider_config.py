"""What provider.yaml files add to providers: inventories of custom classes, and custom traits."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

from agent.model.placement import Inventory

COMPUTE_NODE = "$COMPUTE_NODE"


class Added(enum.StrEnum):
    """What a provider.yaml file adds to a provider: an inventory of a class, or a trait."""

    RESOURCE_CLASS = "class"
    TRAIT = "trait"


class Addition(NamedTuple):
    """A class or trait that a provider.yaml file added to a provider; the agent removes it once no file names it."""

    provider_uuid: str
    kind: Added
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderEntry:
    """One entry of a provider.yaml file, for the provider with the given uuid or name.

    ``origin`` is ``file:line``. The ``uuid`` ``$COMPUTE_NODE`` means the root provider. The agent ignores an entry for
    ``$COMPUTE_NODE`` if another entry has the root provider's real uuid or its name.
    """

    origin: str
    uuid: str | None = None
    name: str | None = None
    inventories: tuple[Inventory, ...] = ()
    traits: frozenset[str] = frozenset()
