"""Decide the writes that turn the observed tree into the desired one.

Parents are written before their children. The writes of one provider are together: create or move, inventories, traits,
aggregates. Deletes are last, children before parents.

The plan changes only classes that the agent decides, and only traits and aggregates that the desired tree sets or
clears. A PUT replaces a whole set, so it repeats the rest of the set unchanged. Without a difference there is no write:
even an identical inventory PUT would raise the generation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from agent.model.books import DesiredProvider, DesiredTree
from agent.model.memo import for_the_same_arguments
from agent.model.placement import Allocation, Inventory, PlacementView, Provider
from agent.model.plan import (
    DeleteProvider,
    HeldBack,
    Plan,
    PutAggregates,
    PutInventories,
    PutTraits,
    Write,
)
from agent.provider_tree.tree_moves import Place, Places, depth, places


def diff(wanted: DesiredTree, view: PlacementView, unknown_traits: frozenset[str] = frozenset()) -> Plan:
    """Return the plan: the writes, and the generations in ``view`` of the existing providers that the plan updates.

    ``unknown_traits`` are traits that this Placement does not know. Placement rejects any set of traits that contains
    one of them.
    """
    writes: list[Write] = []
    held: list[HeldBack] = []
    generations: list[tuple[str, int]] = []
    placed = places(wanted, view)
    for place in placed.places:
        provider = _of_known_traits(place.provider, unknown_traits, held)
        held.extend(_frozen(provider))
        if place.held_back is not None:
            held.append(place.held_back)
        if not place.exists:
            continue
        own = _writes(provider, place, used_classes(view, provider.uuid), held)
        if own and place.observed is not None and place.observed.generation is not None:
            generations.append((provider.uuid, place.observed.generation))
        writes.extend(own)
    held.extend(_frozen_families(wanted))
    writes.extend(_deletes(wanted, view, placed, held))
    return Plan(writes=tuple(writes), held_back=tuple(held), generations=tuple(generations))


def _frozen_families(wanted: DesiredTree) -> list[HeldBack]:
    root = wanted.root.uuid
    return [HeldBack(provider_uuid=root, what=f"{f.name} providers", why=f.why) for f in wanted.frozen_families]


def _deletes(wanted: DesiredTree, view: PlacementView, placed: Places, held: list[HeldBack]) -> list[Write]:
    """Return the deletes of obsolete providers.

    The deletes come after all other writes. If another write moves a child to a new parent, the child does not prevent
    the delete of its old parent.
    """
    writes: list[Write] = []
    parents, known = dict(placed.parents), view.known
    names = {p.uuid: p.name for p in wanted.providers} | {p.uuid: p.name for p in known.values()}
    for uuid in sorted(wanted.obsolete, key=lambda uuid: -depth(uuid, parents)):
        if uuid not in known:
            continue
        going = {write.provider_uuid for write in writes}
        left = sorted(names[child] for child, parent in parents.items() if parent == uuid and child not in going)
        if why := _undeletable(sorted(used_classes(view, uuid)), left):
            held.append(HeldBack(provider_uuid=uuid, what="delete", why=why))
            continue
        writes.append(DeleteProvider(provider_uuid=uuid))
    return writes


def _undeletable(used: list[str], left: list[str]) -> str | None:
    # Placement rejects (409) the delete of a provider with allocations or children. ``left`` are children that stay.
    if used:
        return f"the provider must be deleted, but has allocations of {', '.join(used)}"
    return f"the provider must be deleted, but has children: {', '.join(left)}" if left else None


def used_classes(view: PlacementView, provider_uuid: str) -> frozenset[str]:
    """Return the resource classes that have allocations on the provider."""
    return _used(view).get(provider_uuid, frozenset())


@for_the_same_arguments
def _used(view: PlacementView) -> Mapping[str, frozenset[str]]:
    classes: dict[str, set[str]] = defaultdict(set)
    for allocation in _allocations(view):
        classes[allocation.provider_uuid].add(allocation.resource_class)
    return {uuid: frozenset(names) for uuid, names in classes.items()}


def _allocations(view: PlacementView) -> tuple[Allocation, ...]:
    return (*view.allocations, *(allocation for tree in view.beside for allocation in tree.allocations))


def _frozen(provider: DesiredProvider) -> list[HeldBack]:
    return [HeldBack(provider_uuid=provider.uuid, what=f.name, why=f.why) for f in provider.frozen]


def _of_known_traits(provider: DesiredProvider, unknown: frozenset[str], held: list[HeldBack]) -> DesiredProvider:
    if left_out := provider.traits_wanted & unknown:
        what = f"traits {', '.join(sorted(left_out))}"
        held.append(HeldBack(provider_uuid=provider.uuid, what=what, why="this Placement does not know these traits"))
    return replace(provider, traits_wanted=provider.traits_wanted - unknown) if left_out else provider


def _writes(provider: DesiredProvider, place: Place, used: frozenset[str], held: list[HeldBack]) -> list[Write]:
    uuid, before = provider.uuid, place.observed or _EMPTY
    writes: list[Write] = [] if place.write is None else [place.write]
    after = _inventories(provider, before.inventories, used, held)
    if set(after) != set(before.inventories):
        writes.append(PutInventories(provider_uuid=uuid, inventories=after))
    traits = (before.traits - provider.traits_unwanted) | provider.traits_wanted
    if traits != before.traits:
        writes.append(PutTraits(provider_uuid=uuid, traits=tuple(sorted(traits))))
    # Aggregates are written last. As soon as a sharing provider has its aggregates, other hosts can use the provider,
    # and by then its inventories and traits must be right.
    aggregates = (before.aggregates - provider.aggregates_unwanted) | provider.aggregates_wanted
    if aggregates != before.aggregates:
        writes.append(PutAggregates(provider_uuid=uuid, aggregates=tuple(sorted(aggregates))))
    return writes


_EMPTY = Provider(uuid="", name="", parent_uuid=None, generation=None)


def _inventories(
    provider: DesiredProvider, before: tuple[Inventory, ...], used: frozenset[str], held: list[HeldBack]
) -> tuple[Inventory, ...]:
    frozen = frozenset(f.name for f in provider.frozen)
    decided = provider.owned_classes - frozen
    after = {i.resource_class: i for i in before if i.resource_class not in decided}
    for inventory in before:
        name = inventory.resource_class
        if name in decided and provider.inventory(name) is None and name in used:
            # Placement would reject a PUT that leaves out a class with allocations (409 placement.inventory.inuse). So
            # the PUT keeps the class.
            after[name] = inventory
            why = "the class must be removed, but has allocations"
            held.append(HeldBack(provider_uuid=provider.uuid, what=name, why=why))
    after.update({i.resource_class: i for i in provider.inventories if i.resource_class in decided})
    return tuple(after[name] for name in sorted(after))
