"""The three books side by side, and what the plan wants of Placement."""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.claim import Ledger
from agent.model.occupancy import Occupied
from agent.model.placement import Inventory, ProviderKey
from agent.model.provider_config import Addition


@dataclass(frozen=True, slots=True, kw_only=True)
class Books:
    """What the cloud promised, what the host holds, what Placement recorded.

    ``state_known``, ``host_known`` and ``recorded_known`` say which books could be
    written at all: an empty book that is not known proves nothing.
    """

    promised: Ledger
    held: Ledger
    recorded: Ledger
    unmanaged: Ledger
    occupied: Occupied
    state_known: bool
    host_known: bool
    recorded_known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenClass:
    """A class that keeps what Placement holds, and why."""

    resource_class: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenFamily:
    """A family of child providers that stay as they stand, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryProblem:
    """Entries of provider.yaml files (``file:line``) that are left out, why, and the provider that they mean.

    ``is_absent``: they mean a provider that is not (yet) there.
    """

    origins: tuple[str, ...]
    provider_uuid: str | None
    why: str
    is_absent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReserveTerms:
    """What makes up ``reserved`` of one class: (name, amount) of each term; ``overflow`` is what found no room."""

    resource_class: str
    terms: tuple[tuple[str, int], ...]
    overflow: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredProvider:
    """One provider as it should be.

    ``owned_classes`` are decided here: one that has neither an inventory nor an
    entry in ``frozen`` is to go. Traits and aggregates in neither set are left alone.
    """

    key: ProviderKey
    uuid: str
    name: str
    parent_uuid: str | None
    inventories: tuple[Inventory, ...]
    owned_classes: frozenset[str]
    frozen: tuple[FrozenClass, ...] = ()
    traits_wanted: frozenset[str] = frozenset()
    traits_unwanted: frozenset[str] = frozenset()
    aggregates_wanted: frozenset[str] = frozenset()
    aggregates_unwanted: frozenset[str] = frozenset()
    reserves: tuple[ReserveTerms, ...] = ()

    def inventory(self, resource_class: str) -> Inventory | None:
        """The inventory wanted for that class, or None."""
        return next((i for i in self.inventories if i.resource_class == resource_class), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredTree:
    """All providers of ours, the root first and parents before children, and those that are to go (children first).

    ``left_alone`` are children of ours that stay as they stand: nothing can be told of them now.
    ``added`` is what provider.yaml files add, or added once and must still take away.
    """

    providers: tuple[DesiredProvider, ...]
    obsolete: tuple[str, ...] = ()
    frozen_families: tuple[FrozenFamily, ...] = ()
    left_alone: frozenset[str] = frozenset()
    entry_problems: tuple[EntryProblem, ...] = ()
    added: tuple[Addition, ...] = ()

    @property
    def root(self) -> DesiredProvider:
        """The root."""
        return self.providers[0]
