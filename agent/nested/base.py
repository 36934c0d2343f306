"""What a family of child providers offers, and how a child of ours is found and named.

A child's name is the node's, an underscore, and its key's name, as nova-compute
names them: so its children are found again after a takeover, whatever their uuid.
On a child of ours everything is ours: its inventory is replaced as a whole, but
for what provider.yaml adds (hypervisor-audit 5 to 7).
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
    """One child of the root as it should be; its owner trait is added for all in provider_tree/desired.py."""

    key: ProviderKey
    inventories: tuple[Inventory, ...]
    traits: Wish = field(default_factory=Wish)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotTold:
    """Where a consumer's amount belongs is not known, in words."""

    why: str


class NestedFamily(Protocol):
    """Child providers that rest on the same facts.

    ``root_classes`` are classes of theirs that an older nova-compute had on the
    root: without allocations they go from there; with some, nothing of the family
    is published until they are moved (findings/reshape_needed.py).
    """

    name: str
    root_classes: frozenset[str]

    def is_asked_for(self, settings: Settings) -> bool:
        """Whether an option asks for it: then that it cannot be told is told, even before it has any children."""
        ...

    def is_configured(self, settings: Settings) -> bool:
        """Whether the family says anything at all; if not, what is there is left alone."""
        ...

    def flavor_classes(self, settings: Settings) -> frozenset[str]:
        """Classes of its children that flavors ask for by name: these are compared with what was promised."""
        ...

    def needs(self, settings: Settings) -> frozenset[str]:
        """Sources that it rests on: one that is not fresh leaves its children as they stand."""
        ...

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:
        """Why its children cannot be told although every source answered, or None."""
        ...

    def knows(self, child: Provider, name: str, settings: Settings) -> bool:
        """Whether that child, named so behind the node's name, is of this family, told or not."""
        ...

    def providers(self, snapshot: Snapshot, settings: Settings) -> tuple[Nested, ...]:
        """The children that have something to offer, sorted by key."""
        ...

    def withdrawn(self, snapshot: Snapshot, settings: Settings) -> frozenset[ProviderKey]:
        """Children that are to go where they exist; one in neither is left alone."""
        ...

    def belongs(
        self, consumer_uuid: str, resource_class: str, snapshot: Snapshot, settings: Settings
    ) -> Mapping[ProviderKey, int] | NotTold:
        """On which children all that the consumer has of that class belongs, as the host says; never a guess."""
        ...


def still_on_root(family: NestedFamily, snapshot: Snapshot) -> tuple[str, ...]:
    """Its classes that the root offers and allocations there use: children beside them would offer it all twice."""
    return tuple(sorted(family.root_classes & snapshot.root_classes_in_use))


def children(view: PlacementView | None, node: str) -> Mapping[str, Provider]:
    """Providers of our tree below the root whose name begins with the node's, by the rest of the name."""
    prefix = f"{node}_"
    return {
        provider.name.removeprefix(prefix): provider
        for provider in (view.providers if view else ())
        if provider.parent_uuid is not None and provider.name.startswith(prefix)
    }


def child_of(snapshot: Snapshot, key: ProviderKey) -> Provider | None:
    """That child as Placement holds it, or None."""
    root = snapshot.observed_root
    return children(snapshot.placement.value, root.name).get(key.name) if root else None
