"""Decide the writes that turn the observed tree into the desired one.

Order: create (parents first), then inventories, traits per provider, each
provider's writes together; deletes last, children first. Only owned classes and
traits that somebody wishes set or cleared are touched: the rest of a
whole-document PUT is carried through as observed. No difference, no write: an
identical inventory PUT would still raise the generation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from agent.model.books import DesiredProvider, DesiredTree
from agent.model.last_answer import for_the_same_arguments
from agent.model.placement import Inventory, PlacementView, Provider
from agent.model.plan import (
    CreateProvider,
    DeleteProvider,
    HeldBack,
    Plan,
    PutInventories,
    PutTraits,
    Write,
)


def diff(wanted: DesiredTree, view: PlacementView, unknown_traits: frozenset[str] = frozenset()) -> Plan:
    """The plan, with the generation of each provider that it writes.

    ``unknown_traits`` are those that this Placement does not know: with one of them it refuses a whole set.
    """
    writes: list[Write] = []
    held: list[HeldBack] = []
    generations: list[tuple[str, int]] = []
    for whole in wanted.providers:
        observed = view.provider(whole.uuid)
        provider = _of_known_traits(whole, unknown_traits, held)
        held.extend(_frozen(provider))
        if observed is None and not provider.name:
            held.append(HeldBack(provider_uuid=provider.uuid, what="create", why="the node's name is not known"))
            continue
        own = _writes(provider, observed, used_classes(view, provider.uuid), held)
        if own and observed is not None and observed.generation is not None:
            generations.append((provider.uuid, observed.generation))
        writes.extend(own)
    held.extend(_frozen_families(wanted))
    writes.extend(_deletes(wanted, view, held))
    return Plan(writes=tuple(writes), held_back=tuple(held), generations=tuple(generations))


def _frozen_families(wanted: DesiredTree) -> list[HeldBack]:
    root = wanted.root.uuid
    return [HeldBack(provider_uuid=root, what=f"{f.name} providers", why=f.why) for f in wanted.frozen_families]


def _deletes(wanted: DesiredTree, view: PlacementView, held: list[HeldBack]) -> list[Write]:
    writes: list[Write] = []
    for uuid in wanted.obsolete:
        if view.provider(uuid) is None:
            continue
        if used := sorted(used_classes(view, uuid)):
            # Placement answers 409 to the removal of a provider that is allocated from.
            why = f"it is to go, but {', '.join(used)} has allocations"
            held.append(HeldBack(provider_uuid=uuid, what="delete", why=why))
            continue
        going = {write.provider_uuid for write in writes}
        if left := sorted(p.name for p in view.providers if p.parent_uuid == uuid and p.uuid not in going):
            # Placement answers 409 here too, and they are somebody else's.
            why = f"it is to go, but has children: {', '.join(left)}"
            held.append(HeldBack(provider_uuid=uuid, what="delete", why=why))
            continue
        writes.append(DeleteProvider(provider_uuid=uuid))
    return writes


def used_classes(view: PlacementView, provider_uuid: str) -> frozenset[str]:
    """Classes of that provider that have allocations."""
    return _used(view).get(provider_uuid, frozenset())


@for_the_same_arguments
def _used(view: PlacementView) -> Mapping[str, frozenset[str]]:
    classes: dict[str, set[str]] = defaultdict(set)
    for allocation in view.allocations:
        classes[allocation.provider_uuid].add(allocation.resource_class)
    return {uuid: frozenset(names) for uuid, names in classes.items()}


def _frozen(provider: DesiredProvider) -> list[HeldBack]:
    return [HeldBack(provider_uuid=provider.uuid, what=f.resource_class, why=f.why) for f in provider.frozen]


def _of_known_traits(provider: DesiredProvider, unknown: frozenset[str], held: list[HeldBack]) -> DesiredProvider:
    if left_out := provider.traits_wanted & unknown:
        what = f"traits {', '.join(sorted(left_out))}"
        held.append(HeldBack(provider_uuid=provider.uuid, what=what, why="this Placement does not know them"))
    return replace(provider, traits_wanted=provider.traits_wanted - unknown) if left_out else provider


def _writes(
    provider: DesiredProvider, observed: Provider | None, used: frozenset[str], held: list[HeldBack]
) -> list[Write]:
    writes: list[Write] = []
    if observed is None:
        writes.append(CreateProvider(provider_uuid=provider.uuid, name=provider.name, parent_uuid=provider.parent_uuid))
    before = observed.inventories if observed else ()
    after = _inventories(provider, before, used, held)
    if set(after) != set(before):
        writes.append(PutInventories(provider_uuid=provider.uuid, inventories=after))
    traits_before = observed.traits if observed else frozenset()
    traits_after = (traits_before - provider.traits_unwanted) | provider.traits_wanted
    if traits_after != traits_before:
        writes.append(PutTraits(provider_uuid=provider.uuid, traits=tuple(sorted(traits_after))))
    return writes


def _inventories(
    provider: DesiredProvider, before: tuple[Inventory, ...], used: frozenset[str], held: list[HeldBack]
) -> tuple[Inventory, ...]:
    frozen = frozenset(f.resource_class for f in provider.frozen)
    decided = provider.owned_classes - frozen
    after = {i.resource_class: i for i in before if i.resource_class not in decided}
    for inventory in before:
        name = inventory.resource_class
        if name in decided and provider.inventory(name) is None and name in used:
            # Placement answers 409 placement.inventory.inuse: it would fail every audit.
            after[name] = inventory
            held.append(HeldBack(provider_uuid=provider.uuid, what=name, why="it is to go, but has allocations"))
    after.update({i.resource_class: i for i in provider.inventories if i.resource_class in decided})
    return tuple(after[name] for name in sorted(after))
