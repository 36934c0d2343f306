"""Each consumer's amounts by nova, the host and Placement, and the provider tree that the agent wants in Placement."""

from __future__ import annotations

from dataclasses import dataclass

from agent.model.claim import Ledger
from agent.model.occupancy import Occupied
from agent.model.placement import Inventory, ProviderKey
from agent.model.provider_config import Addition


@dataclass(frozen=True, slots=True, kw_only=True)
class Books:
    """Each consumer's amounts by three sources: nova (``promised``), the host (``held``), Placement (``recorded``).

    ``unmanaged``: the amounts in ``held`` that nova does not manage and that have no allocation in Placement.
    ``occupied``: the instances and migrations from which ``promised`` was computed.
    ``state_known``, ``host_known``, ``recorded_known``: whether the source of ``promised``, ``held`` or ``recorded``
    could be read. If a source could not be read, its list of amounts is empty: the amounts are unknown, not 0.
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
class Frozen:
    """What the agent does not change now, and why: a resource class of a provider, or a family of child providers."""

    name: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryProblem:
    """Entries of provider.yaml files that the agent ignores, and why.

    ``origins`` are ``file:line`` of the entries. ``provider_uuid`` is the provider that the entries name.
    ``is_absent``: the entries name a provider that does not exist (yet).
    """

    origins: tuple[str, ...]
    provider_uuid: str | None
    why: str
    is_absent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReserveTerms:
    """The terms (name, amount) whose sum is ``reserved`` in the inventory of one class.

    ``reserved`` cannot exceed the inventory's total; ``overflow`` is the part of the sum that exceeds the total.
    """

    resource_class: str
    terms: tuple[tuple[str, int], ...]
    overflow: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredProvider:
    """One provider as it should be in Placement.

    The agent decides about ``owned_classes``: if such a class is not in ``inventories``, the agent removes its
    inventory, unless the class is in ``frozen``. The agent adds the wanted traits and aggregates and removes the
    unwanted ones. It does not change any other trait or aggregate.
    """

    key: ProviderKey
    uuid: str
    name: str
    parent_uuid: str | None
    inventories: tuple[Inventory, ...]
    owned_classes: frozenset[str]
    frozen: tuple[Frozen, ...] = ()
    traits_wanted: frozenset[str] = frozenset()
    traits_unwanted: frozenset[str] = frozenset()
    aggregates_wanted: frozenset[str] = frozenset()
    aggregates_unwanted: frozenset[str] = frozenset()
    reserves: tuple[ReserveTerms, ...] = ()

    def inventory(self, resource_class: str) -> Inventory | None:
        """Return the inventory wanted for the class, None if the agent wants no inventory of the class."""
        return next((i for i in self.inventories if i.resource_class == resource_class), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredTree:
    """All providers that the agent manages on this host.

    ``providers``: the root first, then the other providers.
    ``obsolete``: uuids of providers to delete, sorted.
    ``left_alone``: uuids of child providers that the agent does not change now, for example after a failed read.
    ``added``: classes and traits that provider.yaml files added. The agent removes an addition once no file names it.
    """

    providers: tuple[DesiredProvider, ...]
    obsolete: tuple[str, ...] = ()
    frozen_families: tuple[Frozen, ...] = ()
    left_alone: frozenset[str] = frozenset()
    entry_problems: tuple[EntryProblem, ...] = ()
    added: tuple[Addition, ...] = ()

    @property
    def root(self) -> DesiredProvider:
        """The root provider."""
        return self.providers[0]
