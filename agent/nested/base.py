"""The interface of a family of child providers, and how children of the root are found and named.

A child's name is the node's name, an underscore, and the name of the child's key. nova-compute uses the same names,
so the agent finds the children again after a takeover, whatever their uuid. The agent decides a child's whole
inventory: each write replaces everything in the inventory except what provider.yaml adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agent.model.placement import Inventory, PlacementView, Provider, ProviderKey
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish


@dataclass(frozen=True, slots=True, kw_only=True)
class Nested:
    """One wanted child of the root. provider_tree/desired.py adds the owner trait to every child."""

    key: ProviderKey
    inventories: tuple[Inventory, ...]
    traits: Wish = field(default_factory=Wish)


@dataclass(frozen=True, slots=True)
class UnknownChildren:
    """The agent cannot say on which child providers a consumer's allocation should be; ``why`` is the reason."""

    why: str


class NestedFamily(Protocol):
    """A family: child providers that depend on the same facts. Each family inherits from this protocol.

    ``root_classes``: an older nova-compute published these classes on the root, and now the children have them. If such
    a class has no allocations on the root, the agent removes the class from the root. Otherwise the agent publishes
    nothing of the family until heal has moved the allocations (findings/reshape_needed.py).
    """

    name: str
    root_classes: frozenset[str]

    def is_asked_for(self, settings: Settings) -> bool:
        """Whether an option enables the family. If so, the agent reports obstacles even if no child exists yet."""
        return self.is_configured(settings)

    def is_configured(self, settings: Settings) -> bool:
        """Whether the agent decides about the family's children. If not, existing children stay as they are."""
        ...

    def flavor_classes(self, settings: Settings) -> frozenset[str]:
        """Return those resource classes of the children whose amount for an instance follows from its flavor."""
        ...

    def needs(self, settings: Settings) -> frozenset[str]:
        """Return the sources that the family depends on. If one of them cannot be read, the children do not change."""
        ...

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:
        """Return why the agent, although it read every source, cannot decide about the children; None if it can."""
        ...

    def knows(self, child: Provider, name: str, settings: Settings) -> bool:
        """Whether a child named ``<node>_<name>`` belongs to this family, even if the family is not configured."""
        ...

    def providers(self, snapshot: Snapshot, settings: Settings) -> tuple[Nested, ...]:
        """Return the children that have something to offer, sorted by key."""
        ...

    def withdrawn(self, snapshot: Snapshot, settings: Settings) -> frozenset[ProviderKey]:
        """Return the keys of the children to delete, whether or not they exist.

        The agent leaves alone every existing child that is neither in this result nor in the result of ``providers``.
        """
        ...

    def belongs(
        self, consumer_uuid: str, resource_class: str, snapshot: Snapshot, settings: Settings
    ) -> Mapping[ProviderKey, int] | UnknownChildren:
        """Return the amount of the class that the consumer should have on each child, as the host's facts show."""
        ...


def still_on_root(family: NestedFamily, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the family's classes that the root offers and that allocations on the root use.

    While the root offers such a class, the agent must not create the children, because Placement would then offer the
    same devices twice.
    """
    return tuple(sorted(family.root_classes & snapshot.root_classes_in_use))


def children(view: PlacementView | None, node: str) -> Mapping[str, Provider]:
    """Return the providers below the root that are named ``<node>_<suffix>``, by suffix."""
    prefix = f"{node}_"
    return {
        provider.name.removeprefix(prefix): provider
        for provider in (view.providers if view else ())
        if provider.parent_uuid is not None and provider.name.startswith(prefix)
    }


def child_of(snapshot: Snapshot, key: ProviderKey) -> Provider | None:
    """Return the child with this key as Placement records the child, or None if Placement has no such child."""
    root = snapshot.observed_root
    return children(snapshot.placement.value, root.name).get(key.name) if root else None
