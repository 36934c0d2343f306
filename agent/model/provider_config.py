"""What provider.yaml files add to providers: inventories of custom classes, and custom traits."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

from agent.model.placement import Inventory

COMPUTE_NODE = "$COMPUTE_NODE"


class Added(enum.StrEnum):
    """What a file can add."""

    RESOURCE_CLASS = "class"
    TRAIT = "trait"


class Addition(NamedTuple):
    """A class or trait that a file added to a provider: it goes again when no file names it any more."""

    provider_uuid: str
    kind: Added
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderEntry:
    """One entry of one file: for the provider of that uuid or that name, whichever is given.

    ``origin`` is ``file:line``. ``uuid`` may be COMPUTE_NODE: the root, unless
    another entry names it by its own uuid or name.
    """

    origin: str
    uuid: str | None = None
    name: str | None = None
    inventories: tuple[Inventory, ...] = ()
    traits: frozenset[str] = frozenset()
