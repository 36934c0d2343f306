"""Decide the wanted provider tree from one snapshot.

A class whose facts are missing is frozen: its inventory in Placement stays as it is. Three rules depend on what
Placement records now. A ratio that the operator did not configure is kept. ``reserved`` is not lowered while unmanaged
use is unknown. A child provider that exists already is reused.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from agent.model.books import Books, DesiredProvider, DesiredTree, Frozen, ReserveTerms
from agent.model.owners import AGENT_OWNER, RIVAL
from agent.model.placement import ROOT, Inventory, Provider, ProviderKey
from agent.model.provider_config import Addition
from agent.model.settings import Role, Settings
from agent.model.snapshot import LIBVIRT, STATE, Snapshot
from agent.nested import BUILTIN as NESTED_FAMILIES
from agent.nested.base import Nested, NestedFamily, children, still_on_root
from agent.provider_tree.provider_files import with_provider_files
from agent.provider_tree.reserve import not_below, raised
from agent.resources import BUILTIN as RESOURCES
from agent.resources import OWNED_CLASSES, owned
from agent.resources.base import Resource
from agent.traits import BUILTIN as TRAIT_FAMILIES


def desired(
    snapshot: Snapshot,
    settings: Settings,
    written: Books,
    root_uuid: str,
    root_name: str | None,
    *,
    added: tuple[Addition, ...] = (),
) -> DesiredTree:
    """Return the wanted provider tree of this host.

    If ``root_name`` is unknown (libvirt was never read), the tree has only the root, which can be compared but not
    created. ``added`` is what provider.yaml files added in earlier audits.
    """
    root = _root(snapshot, settings, written, root_uuid, root_name or "")
    if root_name is None:
        return DesiredTree(providers=(root,), added=added)
    tree = _with_children(snapshot, settings, root)
    return with_provider_files(tree, settings.provider_entries, snapshot.placement.value, added)


def _root(snapshot: Snapshot, settings: Settings, written: Books, root_uuid: str, root_name: str) -> DesiredProvider:
    inventories: list[Inventory] = []
    frozen: list[Frozen] = []
    reserves: list[ReserveTerms] = []
    for resource in RESOURCES:
        why = _frozen_because(resource, snapshot, settings)
        if why is not None:
            frozen.extend(Frozen(name=name, why=why) for name in classes_of(resource, snapshot))
            continue
        for key, inventory in resource.inventory(snapshot, settings):
            if key != ROOT:
                raise AssertionError(f"{key}: a module of agent/resources may offer inventory only on the root")
            wanted, terms = _reserved(resource, inventory, snapshot, settings, written)
            inventories.append(wanted)
            reserves.append(terms)
    wished = [wish(snapshot, settings) for wish in TRAIT_FAMILIES]
    return DesiredProvider(
        key=ROOT,
        uuid=root_uuid,
        name=root_name,
        parent_uuid=None,
        inventories=tuple(sorted(inventories, key=lambda i: i.resource_class)),
        owned_classes=_owned_classes(snapshot, settings, inventories),
        frozen=tuple(sorted(frozen, key=lambda f: f.name)),
        traits_wanted=frozenset().union(*(wish.wanted for wish in wished)),
        traits_unwanted=frozenset().union(*(wish.unwanted for wish in wished)),
        reserves=tuple(sorted(reserves, key=lambda r: r.resource_class)),
    )


def _owned_classes(snapshot: Snapshot, settings: Settings, wanted: Iterable[Inventory]) -> frozenset[str]:
    """Return the resource classes whose inventories on the root provider the agent may change or remove.

    These are the classes of agent/resources. Some classes belong on a child provider today, but an older nova-compute
    put them on the root. The agent may remove these classes from the root.
    """
    known = {i.resource_class for i in wanted} | _observed_classes(snapshot.observed_root)
    moved = frozenset().union(*(f.root_classes for f in NESTED_FAMILIES if can_decide(f, snapshot, settings)))
    return OWNED_CLASSES | {name for name in known if owned(name)} | (moved & known)


def _observed_classes(provider: Provider | None) -> frozenset[str]:
    return frozenset(i.resource_class for i in (provider.inventories if provider else ()))


def classes_of(resource: Resource, snapshot: Snapshot) -> list[str]:
    """Return the names of the classes whose inventory ``resource`` (a module of agent/resources) computes.

    These are the classes in ``resource.classes``, and the root provider's classes for which ``resource.owns`` is true.
    If there is no such class, return the resource's name.
    """
    observed = _observed_classes(snapshot.observed_root)
    return sorted(resource.classes | {name for name in observed if resource.owns(name)}) or [resource.name]


def _frozen_because(part: Resource | NestedFamily, snapshot: Snapshot, settings: Settings) -> str | None:
    unread_sources = sorted(source for source in part.needs(settings) if not snapshot.fresh(source))
    if unread_sources:
        return f"{', '.join(unread_sources)} could not be read"
    return part.obstacle(snapshot, settings)


def can_decide(family: NestedFamily, snapshot: Snapshot, settings: Settings) -> bool:
    """Return whether the agent can now compute the child providers of this family, such as PCI devices.

    The family must be configured, and its sources must have been read. The function does not check the root's
    allocations (see ``_not_moved``).
    """
    return family.is_configured(settings) and _frozen_because(family, snapshot, settings) is None


def _with_children(snapshot: Snapshot, settings: Settings, root: DesiredProvider) -> DesiredTree:
    observed = children(snapshot.placement.value, root.name)
    wanted: list[DesiredProvider] = []
    obsolete: list[str] = []
    frozen: list[Frozen] = []
    for family in NESTED_FAMILIES:
        if not family.is_configured(settings):
            continue
        why = _frozen_because(family, snapshot, settings) or _not_moved(family, snapshot)
        if why is not None:
            if observed or family.is_asked_for(settings):
                frozen.append(Frozen(name=family.name, why=why))
            continue
        wanted.extend(
            _child(nested, observed.get(nested.key.name), root) for nested in family.providers(snapshot, settings)
        )
        gone = (observed.get(key.name) for key in family.withdrawn(snapshot, settings))
        obsolete.extend(child.uuid for child in gone if child)
    decided = {child.uuid for child in wanted} | set(obsolete)
    return DesiredTree(
        providers=(root, *sorted(wanted, key=lambda child: child.name)),
        obsolete=tuple(sorted(obsolete)),
        frozen_families=tuple(sorted(frozen, key=lambda family: family.name)),
        left_alone=_known(observed, settings) - decided,
    )


def _known(observed: Mapping[str, Provider], settings: Settings) -> frozenset[str]:
    """Return the uuids of the existing child providers that are of a configured family (such as PCI devices)."""
    families = [family for family in NESTED_FAMILIES if family.is_configured(settings)]
    return frozenset(
        child.uuid for name, child in observed.items() if any(f.knows(child, name, settings) for f in families)
    )


def _not_moved(family: NestedFamily, snapshot: Snapshot) -> str | None:
    """Return why the agent must not publish this family's child providers yet; None if it may publish them.

    While a class of the children still has allocations on the root, Placement keeps the root's inventory of this class.
    If the children offered the class too, the host would offer the same resources twice.
    """
    left = still_on_root(family, snapshot)
    return f"the root provider still has allocations of {', '.join(left)} (reshape-needed)" if left else None


def _child(nested: Nested, observed: Provider | None, root: DesiredProvider) -> DesiredProvider:
    mine = frozenset(i.resource_class for i in nested.inventories)
    return DesiredProvider(
        key=nested.key,
        uuid=observed.uuid if observed else child_uuid(root.uuid, nested.key),
        name=f"{root.name}_{nested.key.name}",
        parent_uuid=root.uuid,
        inventories=tuple(sorted(nested.inventories, key=lambda i: i.resource_class)),
        owned_classes=mine | _observed_classes(observed),
        traits_wanted=nested.traits.wanted | {AGENT_OWNER},
        traits_unwanted=(nested.traits.unwanted | {RIVAL}) - nested.traits.wanted,
    )


def child_uuid(root_uuid: str, key: ProviderKey) -> str:
    """Return the uuid of a child provider that the agent creates; the uuid is the same after every restart."""
    return str(uuid.uuid5(uuid.UUID(root_uuid), f"{key.kind}/{key.name}"))


def _reserved(
    resource: Resource, inventory: Inventory, snapshot: Snapshot, settings: Settings, written: Books
) -> tuple[Inventory, ReserveTerms]:
    own = resource.own_reserve(snapshot, settings)
    # In role companion, the agent has already allocated the use that nova does not know (provider_tree/companion.py). A
    # reserve for this use would make the scheduler subtract it twice.
    unmanaged = () if settings.role is Role.COMPANION else written.unmanaged.claims
    wanted, terms = raised(inventory, own, unmanaged, settings)
    if is_reserve_known(resource, snapshot, settings):
        return wanted, terms
    return not_below(wanted, terms, snapshot.recorded_inventory(inventory.resource_class))


def is_reserve_known(resource: Resource, snapshot: Snapshot, settings: Settings) -> bool:
    """Whether every source from which the agent computes this resource's ``reserved`` was read completely."""
    host = snapshot.host.value
    if not snapshot.fresh(STATE) or not snapshot.fresh(LIBVIRT) or host is None or host.odd_domains:
        return False
    state = snapshot.nova.value
    if state is not None and state.unreadable:
        return False
    return all(snapshot.fresh(source) for source in resource.reserve_needs(settings))
