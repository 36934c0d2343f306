"""Decide which providers are created, which get another parent, and in which order these writes are possible.

Parents come first: when the agent writes a provider, the provider's wanted ancestors are already in place. So no
provider leaves the tree, even in a swap (A below B becomes B below A). Even after an interrupted plan, the next read
finds every provider in the tree.

Placement checks no generation in a move. A move also moves all descendants, even those of other services.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from agent.model.ancestry import ancestors
from agent.model.books import DesiredProvider, DesiredTree
from agent.model.placement import PlacementView, Provider
from agent.model.plan import CreateProvider, HeldBack, MoveProvider

_Parents = Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """How the agent puts one provider below the parent that it should have.

    ``observed`` is the provider in Placement, None if it does not exist yet. ``write`` creates or moves the provider.
    If the provider already has this parent, ``write`` is None. If the agent cannot create or move the provider,
    ``write`` is None too, and ``held_back`` says why.
    """

    provider: DesiredProvider
    observed: Provider | None
    write: CreateProvider | MoveProvider | None = None
    held_back: HeldBack | None = None

    @property
    def exists(self) -> bool:
        """Whether the provider exists after its write."""
        return self.observed is not None or self.write is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """All wanted providers, parents first, and the resulting tree as pairs (uuid, uuid of the parent)."""

    places: tuple[Place, ...]
    parents: tuple[tuple[str, str | None], ...]


def places(wanted: DesiredTree, view: PlacementView) -> Places:
    """Return, for each provider of ``wanted``, the write that puts the provider below its wanted parent.

    Parents come first, so each write depends only on earlier writes.
    """
    known = view.known
    parents = {provider.uuid: provider.parent_uuid for provider in known.values()}
    searched_for = frozenset((wanted.root.uuid, *(tree.uuid for tree in view.beside)))
    found: list[Place] = []
    for provider in _parents_first(wanted.providers):
        observed = known.get(provider.uuid)
        place = _moved(provider, observed, parents, view) if observed else _made(provider, parents, searched_for)
        if place.write is not None:
            parents[provider.uuid] = provider.parent_uuid
        found.append(place)
    return Places(places=tuple(found), parents=tuple(sorted(parents.items())))


def depth(uuid: str, parents: _Parents) -> int:
    """Return the number of known ancestors of a provider; in a loop each ancestor is counted once."""
    return len(ancestors(uuid, parents))


def _parents_first(providers: Iterable[DesiredProvider]) -> list[DesiredProvider]:
    """Return the providers sorted by depth; providers of equal depth keep their order."""
    wanted = tuple(providers)
    parents = {provider.uuid: provider.parent_uuid for provider in wanted}
    return sorted(wanted, key=lambda provider: depth(provider.uuid, parents))


def _made(provider: DesiredProvider, parents: _Parents, searched_for: frozenset[str]) -> Place:
    place, uuid = Place(provider=provider, observed=None), provider.uuid
    if why := _unmakeable(provider, parents, searched_for):
        return replace(place, held_back=HeldBack(provider_uuid=uuid, what="create", why=why))
    write = CreateProvider(provider_uuid=uuid, name=provider.name, parent_uuid=provider.parent_uuid)
    return replace(place, write=write)


def _unmakeable(provider: DesiredProvider, parents: _Parents, searched_for: frozenset[str]) -> str | None:
    if not provider.name:
        return "the node's name is not known"
    if provider.parent_uuid is None:
        # Perhaps this root provider exists already, outside of the tree that the agent has read. Then Placement would
        # answer 409 whenever the agent tries to create it. So the agent must first search Placement for it.
        return None if provider.uuid in searched_for else "the agent has not searched Placement for this provider yet"
    return None if provider.parent_uuid in parents else f"the planned parent {provider.parent_uuid} does not exist"


def _moved(provider: DesiredProvider, observed: Provider, parents: _Parents, view: PlacementView) -> Place:
    place, uuid, parent = Place(provider=provider, observed=observed), provider.uuid, provider.parent_uuid
    if observed.parent_uuid == parent:
        return place
    if why := _immovable(provider, observed, parents, view):
        return replace(place, held_back=HeldBack(provider_uuid=uuid, what="new parent", why=why))
    return replace(place, write=MoveProvider(provider_uuid=uuid, name=observed.name, parent_uuid=parent))


def _immovable(provider: DesiredProvider, observed: Provider, parents: _Parents, view: PlacementView) -> str | None:
    """Return why Placement would reject the move, None if it would not."""
    if provider.parent_uuid is not None and provider.parent_uuid not in parents:
        return f"the planned parent {provider.parent_uuid} does not exist"
    if observed.parent_uuid is not None and not view.reparents:
        return f"the provider is below {observed.parent_uuid}, and only Placement with microversion 1.37 can move it"
    if provider.uuid in ancestors(provider.uuid, {**parents, provider.uuid: provider.parent_uuid}):
        return f"the new parent {provider.parent_uuid} is still below this provider"
    return None
