"""Add what provider.yaml files say to the desired tree, as far as nothing of ours stands against it.

What a newcomer would get wrong: an entry for $COMPUTE_NODE does not hold where
another entry names the root itself; a class or trait that an earlier audit wrote
for the same entry is no conflict (scenario 135); and a provider whose entries
contradict each other or us is left alone with them, the rest goes out.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Mapping

from agent.model.books import DesiredProvider, DesiredTree, EntryProblem
from agent.model.placement import Inventory, PlacementView, Provider, ProviderKey
from agent.model.provider_config import COMPUTE_NODE, ProviderEntry
from agent.resources import owned
from agent.resources.base import storable

_Named = Mapping[str, tuple[ProviderEntry, ...]]


def with_provider_files(tree: DesiredTree, entries: Iterable[ProviderEntry], view: PlacementView | None) -> DesiredTree:
    """The tree with the additions of the entries that fit, and the problems of those that do not."""
    known = {provider.uuid: provider for provider in tree.providers}
    others = {p.uuid: p for p in (view.providers if view else ()) if p.uuid not in known}
    named, problems = _named(tuple(entries), tree, others, view)
    added: dict[str, DesiredProvider] = {}
    for uuid, found in named.items():
        target = known.get(uuid) or _foreign(others[uuid])
        problem = _contradiction(target, found)
        if problem:
            problems.append(problem)
            continue
        added[uuid] = _with(target, found[0])
    providers = [added.pop(provider.uuid, provider) for provider in tree.providers]
    return dataclasses.replace(
        tree,
        providers=(*providers, *(added[uuid] for uuid in sorted(added))),
        entry_problems=tuple(sorted(problems, key=lambda problem: problem.origins)),
    )


def _named(
    entries: tuple[ProviderEntry, ...],
    tree: DesiredTree,
    others: Mapping[str, Provider],
    view: PlacementView | None,
) -> tuple[_Named, list[EntryProblem]]:
    """Entries by the uuid of the provider that they mean; an entry that means none is a problem."""
    by_name = {p.name: p.uuid for p in others.values()} | {p.name: p.uuid for p in tree.providers}
    uuids = {*others, *(p.uuid for p in tree.providers)}
    found: dict[str, list[ProviderEntry]] = defaultdict(list)
    problems: list[EntryProblem] = []
    for entry in entries:
        uuid = entry.uuid if entry.uuid in uuids else by_name.get(entry.name or "")
        if entry.uuid == COMPUTE_NODE:
            continue
        if uuid is not None:
            found[uuid].append(entry)
        elif view is not None:
            problems.append(_absent(entry))
    for entry in entries:
        if entry.uuid == COMPUTE_NODE and tree.root.uuid not in found:
            found[tree.root.uuid].append(entry)
    return {uuid: tuple(named) for uuid, named in found.items()}, problems


def _absent(entry: ProviderEntry) -> EntryProblem:
    return EntryProblem(
        origins=(entry.origin,),
        provider_uuid=None,
        why=f"there is no provider {entry.uuid or entry.name} in this host's tree",
        is_absent=True,
    )


def _foreign(provider: Provider) -> DesiredProvider:
    """A provider of the tree that somebody else made: nothing of it is ours but what the file adds."""
    return DesiredProvider(
        key=ProviderKey("provider", provider.uuid),
        uuid=provider.uuid,
        name=provider.name,
        parent_uuid=provider.parent_uuid,
        inventories=(),
        owned_classes=frozenset(),
    )


def _contradiction(target: DesiredProvider, entries: tuple[ProviderEntry, ...]) -> EntryProblem | None:
    origins = tuple(entry.origin for entry in entries)
    if len(entries) > 1:
        why = f"provider {target.name} ({target.uuid}) is named by its uuid and by its name"
        return EntryProblem(origins=origins, provider_uuid=target.uuid, why=why)
    decided = {i.resource_class for i in target.inventories} | {f.resource_class for f in target.frozen}
    if target.parent_uuid is None:
        decided |= {i.resource_class for i in entries[0].inventories if owned(i.resource_class)}
    if taken := sorted(decided & {i.resource_class for i in entries[0].inventories}):
        why = f"{', '.join(taken)} of provider {target.name} ({target.uuid}) is decided by the host itself"
        return EntryProblem(origins=origins, provider_uuid=target.uuid, why=why)
    return None


def _with(target: DesiredProvider, entry: ProviderEntry) -> DesiredProvider:
    added = tuple(_storable(inventory) for inventory in entry.inventories)
    return dataclasses.replace(
        target,
        inventories=tuple(sorted((*target.inventories, *added), key=lambda i: i.resource_class)),
        owned_classes=target.owned_classes | {i.resource_class for i in added},
        traits_wanted=target.traits_wanted | entry.traits,
        traits_unwanted=target.traits_unwanted - entry.traits,
    )


def _storable(inventory: Inventory) -> Inventory:
    return dataclasses.replace(inventory, allocation_ratio=storable(inventory.allocation_ratio))
