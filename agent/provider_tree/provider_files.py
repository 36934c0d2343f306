"""Add the entries of provider.yaml files to the desired tree, unless they contradict the agent's own decisions.

- An entry for $COMPUTE_NODE is ignored if another entry names the root itself.
- A class or trait that an earlier audit wrote for the same entry is not a conflict (scenario 135).
- A class or trait that no file names any more is removed. Placement does not record who added a class or trait, so the
  agent remembers what files added. The agent forgets an addition once Placement no longer has it, or once the agent
  itself wants the class or trait.
- If the entries for a provider contradict each other or the agent, the agent applies none of them. Nor does the agent
  remove what earlier entries added to this provider. All other entries are applied.
- A child provider does not change if a fact about it is unknown now, or if the agent will delete the child provider.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Mapping

from agent.model.books import DesiredProvider, DesiredTree, EntryProblem
from agent.model.placement import PlacementView, Provider, ProviderKey
from agent.model.provider_config import COMPUTE_NODE, Added, Addition, ProviderEntry
from agent.resources import owned
from agent.resources.base import storable

_Named = Mapping[str, tuple[ProviderEntry, ...]]


def with_provider_files(
    tree: DesiredTree, entries: Iterable[ProviderEntry], view: PlacementView | None, before: Iterable[Addition]
) -> DesiredTree:
    """Return the tree with the classes and traits that the entries of provider files add.

    ``before`` has the additions of earlier audits. An addition that no entry names any more is removed. In the result,
    ``entry_problems`` has the unusable entries.
    """
    known = {provider.uuid: provider for provider in tree.providers}
    others = {p.uuid: p for p in (view.providers if view else ()) if p.uuid not in known}
    waiting = tree.left_alone | frozenset(tree.obsolete)
    named, problems = _named(tuple(entries), tree, others, view)
    targets = {uuid: known.get(uuid) or _foreign(others[uuid]) for uuid in named if uuid not in waiting}
    contradictions = {uuid: found for uuid, target in targets.items() if (found := _contradiction(target, named[uuid]))}
    fitting = {uuid: named[uuid][0] for uuid in targets if uuid not in contradictions}
    remembered = frozenset(one for one in before if not _is_wanted(one, known))
    now = frozenset(
        one for uuid, entry in fitting.items() for one in _additions(uuid, entry) if not _is_wanted(one, known)
    )
    changed = {uuid: _with(targets[uuid], entry) for uuid, entry in fitting.items()}
    for uuid, some in _by_provider(remembered - now).items():
        if uuid in waiting or uuid not in known.keys() | others.keys():
            continue
        target = changed.get(uuid) or known.get(uuid) or _foreign(others[uuid])
        changed[uuid] = _spared(target, some) if uuid in contradictions else _without(target, some)
    providers = [changed.pop(provider.uuid, provider) for provider in tree.providers]
    return dataclasses.replace(
        tree,
        providers=(*providers, *(changed[uuid] for uuid in sorted(changed))),
        entry_problems=tuple(sorted((*problems, *contradictions.values()), key=lambda problem: problem.origins)),
        added=tuple(sorted(now | {addition for addition in remembered if _is_there(addition, view)})),
    )


def _is_wanted(addition: Addition, known: Mapping[str, DesiredProvider]) -> bool:
    """Whether the agent itself wants the class or trait, so that it stays when no file names it any more."""
    provider = known.get(addition.provider_uuid)
    if provider is None:
        return False
    if addition.kind is Added.TRAIT:
        return addition.name in provider.traits_wanted
    return provider.inventory(addition.name) is not None


def _by_provider(additions: Iterable[Addition]) -> Mapping[str, list[Addition]]:
    grouped: dict[str, list[Addition]] = defaultdict(list)
    for addition in sorted(additions):
        grouped[addition.provider_uuid].append(addition)
    return grouped


def _additions(uuid: str, entry: ProviderEntry) -> set[Addition]:
    classes = {Addition(uuid, Added.RESOURCE_CLASS, i.resource_class) for i in entry.inventories}
    return classes | {Addition(uuid, Added.TRAIT, trait) for trait in entry.traits}


def _is_there(addition: Addition, view: PlacementView | None) -> bool:
    """Whether the agent must remember the class or trait: Placement still has it, or Placement was not read."""
    if view is None:
        return True
    provider = view.provider(addition.provider_uuid)
    if provider is None:
        return False
    names = provider.traits if addition.kind is Added.TRAIT else {i.resource_class for i in provider.inventories}
    return addition.name in names


def _without(target: DesiredProvider, retired: Iterable[Addition]) -> DesiredProvider:
    classes, traits = _names(retired, Added.RESOURCE_CLASS), _names(retired, Added.TRAIT)
    return dataclasses.replace(
        target,
        owned_classes=target.owned_classes | classes,
        traits_unwanted=target.traits_unwanted | (traits - target.traits_wanted),
    )


def _spared(target: DesiredProvider, remembered: Iterable[Addition]) -> DesiredProvider:
    """Return the provider, changed so that the agent leaves the classes and traits in ``remembered`` as they are.

    Earlier audits added them from provider.yaml files. Now the entries for this provider contradict each other, or
    contradict the agent. The agent neither adds nor removes what these entries name until an operator
    corrects them.
    """
    return dataclasses.replace(
        target,
        owned_classes=target.owned_classes - _names(remembered, Added.RESOURCE_CLASS),
        traits_unwanted=target.traits_unwanted - _names(remembered, Added.TRAIT),
    )


def _names(additions: Iterable[Addition], kind: Added) -> frozenset[str]:
    return frozenset(one.name for one in additions if one.kind is kind)


def _named(
    entries: tuple[ProviderEntry, ...],
    tree: DesiredTree,
    others: Mapping[str, Provider],
    view: PlacementView | None,
) -> tuple[_Named, list[EntryProblem]]:
    """Return the entries by the uuid of their provider, and a problem for each entry that matches no provider."""
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
    """Return another service's provider. The agent changes only what provider.yaml files add to this provider."""
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
        why = f"one entry names provider {target.name} ({target.uuid}) by its uuid, another entry by its name"
        return EntryProblem(origins=origins, provider_uuid=target.uuid, why=why)
    decided = {i.resource_class for i in target.inventories} | {f.name for f in target.frozen}
    if target.parent_uuid is None:
        decided |= {i.resource_class for i in entries[0].inventories if owned(i.resource_class)}
    if taken := sorted(decided & {i.resource_class for i in entries[0].inventories}):
        why = f"{', '.join(taken)} of provider {target.name} ({target.uuid}) is decided by the agent itself"
        return EntryProblem(origins=origins, provider_uuid=target.uuid, why=why)
    return None


def _with(target: DesiredProvider, entry: ProviderEntry) -> DesiredProvider:
    added = tuple(dataclasses.replace(i, allocation_ratio=storable(i.allocation_ratio)) for i in entry.inventories)
    return dataclasses.replace(
        target,
        inventories=tuple(sorted((*target.inventories, *added), key=lambda i: i.resource_class)),
        owned_classes=target.owned_classes | {i.resource_class for i in added},
        traits_wanted=target.traits_wanted | entry.traits,
        traits_unwanted=target.traits_unwanted - entry.traits,
    )
