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
    """A child provider that the root provider should have.

    ``traits`` lacks the trait that marks the agent's own providers: provider_tree/desired.py adds that trait.
    """

    key: ProviderKey
    inventories: tuple[Inventory, ...]
    traits: Wish = field(default_factory=Wish)


@dataclass(frozen=True, slots=True)
class UnknownChildren:
    """The agent cannot say on which child providers a consumer's allocation should be; ``why`` is the reason."""

    why: str


class NestedFamily(Protocol):
    """A family: all child providers of one kind, such as PCI devices. Each family inherits from this protocol.

    ``root_classes``: an older nova-compute published these classes on the root, and now the children have them. If such
    a class has no allocations on the root, the agent removes the class from the root. Otherwise the agent publishes
    nothing of the family until heal has moved the allocations (findings/reshape_needed.py).
    """

    name: str
    root_classes: frozenset[str]

    def is_asked_for(self, settings: Settings) -> bool:
        """Whether an option enables this kind of child providers.

        If an option does, the agent reports the result of ``obstacle`` even if no such provider exists yet.
        """
        return self.is_configured(settings)

    def is_configured(self, settings: Settings) -> bool:
        """Whether the agent manages this kind of child providers. If not, it leaves existing ones as they are."""
        ...

    def flavor_classes(self, settings: Settings) -> frozenset[str]:
        """Return the child providers' classes for which the agent computes an instance's amount from the flavor."""
        ...

    def needs(self, settings: Settings) -> frozenset[str]:
        """Return the sources that this kind of child providers depends on.

        If one of them cannot be read, the agent does not change these providers.
        """
        ...

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:
        """Return why the agent cannot say which child providers the host needs; None if it can.

        This is for problems in sources that were read. For sources that were not read, see ``needs``.
        """
        ...

    def knows(self, child: Provider, name: str, settings: Settings) -> bool:
        """Whether the provider ``child`` is of this kind, even if the kind is not configured.

        The provider's name is ``<node>_<name>``.
        """
        ...

    def providers(self, snapshot: Snapshot, settings: Settings) -> tuple[Nested, ...]:
        """Return the children that have something to offer, sorted by key."""
        ...

    def withdrawn(self, snapshot: Snapshot, settings: Settings) -> frozenset[ProviderKey]:
        """Return the keys of the children to delete. Some of these children may not exist.

        The agent does not change an existing child that is neither in this result nor in the result of ``providers``.
        """
        ...

    def belongs(
        self, consumer_uuid: str, resource_class: str, snapshot: Snapshot, settings: Settings
    ) -> Mapping[ProviderKey, int] | UnknownChildren:
        """Return how much of the class the consumer's guest uses on each child provider, according to the host."""
        ...


def still_on_root(family: NestedFamily, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the classes that should move from the root to child providers, but still have allocations on the root.

    Until they have moved, the agent must not create the child providers: Placement would offer the same devices twice.
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
