"""Add what provider.yaml files say to the desired tree, as far as nothing of ours stands against it.

What a newcomer would get wrong: an entry for $COMPUTE_NODE does not hold where
another entry names the root itself; a class or trait that an earlier audit wrote
for the same entry is no conflict (scenario 135); what a file no longer names goes
again, which has to be remembered, since Placement does not say who made it; and a provider whose entries
contradict each other or us is left alone with them, the rest goes out.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Mapping

from agent.model.books import DesiredProvider, DesiredTree, EntryProblem
from agent.model.placement import Inventory, PlacementView, Provider, ProviderKey
from agent.model.provider_config import COMPUTE_NODE, Added, Addition, ProviderEntry
from agent.resources import owned
from agent.resources.base import storable

_Named = Mapping[str, tuple[ProviderEntry, ...]]


def with_provider_files(
    tree: DesiredTree, entries: Iterable[ProviderEntry], view: PlacementView | None, before: Iterable[Addition]
) -> DesiredTree:
    """The tree with the additions of the entries that fit, and the problems of those that do not.

    ``before`` is what files added in earlier audits: what no entry names any more is to go.
    """
    known = {provider.uuid: provider for provider in tree.providers}
    others = {p.uuid: p for p in (view.providers if view else ()) if p.uuid not in known}
    named, problems = _named(tuple(entries), tree, others, view)
    targets = {uuid: known.get(uuid) or _foreign(others[uuid]) for uuid in named}
    changed: dict[str, DesiredProvider] = {}
    for uuid, found in named.items():
        problem = _contradiction(targets[uuid], found)
        if problem:
            problems.append(problem)
        else:
            changed[uuid] = _with(targets[uuid], found[0])
    now = {addition for uuid, found in named.items() if uuid in changed for addition in _additions(uuid, found[0])}
    # Of entries that contradict each other nothing is added, and nothing taken away.
    retired = {
        addition
        for addition in before
        if addition not in now and addition.provider_uuid not in targets.keys() - changed
    }
    for uuid in sorted({addition.provider_uuid for addition in retired} & (known.keys() | others.keys())):
        target = changed.get(uuid) or known.get(uuid) or _foreign(others[uuid])
        changed[uuid] = _without(target, [addition for addition in retired if addition.provider_uuid == uuid])
    providers = [changed.pop(provider.uuid, provider) for provider in tree.providers]
    return dataclasses.replace(
        tree,
        providers=(*providers, *(changed[uuid] for uuid in sorted(changed))),
        entry_problems=tuple(sorted(problems, key=lambda problem: problem.origins)),
        added=tuple(sorted(now | {addition for addition in before if _is_there(addition, view)})),
    )


def _additions(uuid: str, entry: ProviderEntry) -> set[Addition]:
    classes = {Addition(uuid, Added.RESOURCE_CLASS, i.resource_class) for i in entry.inventories}
    return classes | {Addition(uuid, Added.TRAIT, trait) for trait in entry.traits}


def _is_there(addition: Addition, view: PlacementView | None) -> bool:
    """Whether Placement still has it, as far as is known: until then it is remembered."""
    if view is None:
        return True
    provider = view.provider(addition.provider_uuid)
    if provider is None:
        return False
    names = provider.traits if addition.kind is Added.TRAIT else {i.resource_class for i in provider.inventories}
    return addition.name in names


def _without(target: DesiredProvider, retired: Iterable[Addition]) -> DesiredProvider:
    classes = frozenset(one.name for one in retired if one.kind is Added.RESOURCE_CLASS)
    traits = frozenset(one.name for one in retired if one.kind is Added.TRAIT)
    return dataclasses.replace(
        target,
        owned_classes=target.owned_classes | classes,
        traits_unwanted=target.traits_unwanted | (traits - target.traits_wanted),
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
