"""Decide the provider tree as it should be, from one snapshot.

A class whose facts are missing is frozen: what Placement holds stays, whatever
that is. Nothing here asks what is in Placement now but for two rules: a ratio
that nobody configured is kept, and ``reserved`` is not lowered on doubt.
"""

from __future__ import annotations

from agent.model.books import Books, DesiredProvider, DesiredTree, FrozenClass, ReserveTerms
from agent.model.nova import StateKind
from agent.model.placement import ROOT, Inventory, ProviderKey
from agent.model.settings import Settings
from agent.model.snapshot import LIBVIRT, LVM, STATE, Snapshot
from agent.resources import BUILTIN as RESOURCES
from agent.resources import OWNED_CLASSES
from agent.resources.base import Resource
from agent.stages.reserve import not_below, raised
from agent.traits import BUILTIN as TRAIT_FAMILIES

_OWN_TERM = {
    "VCPU": "reserved_host_cpus",
    "MEMORY_MB": "reserved_host_memory_mb",
    "DISK_GB": "reserved_host_disk_mb",
}


def desired(
    snapshot: Snapshot, settings: Settings, written: Books, root_uuid: str, root_name: str | None
) -> DesiredTree:
    """The tree of this host. An unknown name (libvirt never read) gives a root that can be compared, not created."""
    inventories: list[Inventory] = []
    frozen: list[FrozenClass] = []
    reserves: list[ReserveTerms] = []
    for resource in RESOURCES:
        why = _frozen_because(resource, snapshot, settings)
        if why is not None:
            frozen.extend(FrozenClass(resource_class=name, why=why) for name in sorted(resource.classes))
            continue
        for key, inventory in resource.inventory(snapshot, settings):
            _only_root(key)
            wanted, terms = _reserved(inventory, snapshot, settings, written)
            inventories.append(wanted)
            reserves.append(terms)
    wished = [family.wish(snapshot, settings) for family in TRAIT_FAMILIES]
    root = DesiredProvider(
        key=ROOT,
        uuid=root_uuid,
        name=root_name or "",
        parent_uuid=None,
        inventories=tuple(sorted(inventories, key=lambda i: i.resource_class)),
        owned_classes=OWNED_CLASSES,
        frozen=tuple(sorted(frozen, key=lambda f: f.resource_class)),
        traits_wanted=frozenset().union(*(wish.wanted for wish in wished)),
        traits_unwanted=frozenset().union(*(wish.unwanted for wish in wished)),
        reserves=tuple(sorted(reserves, key=lambda r: r.resource_class)),
    )
    return DesiredTree(providers=(root,))


def _only_root(key: ProviderKey) -> None:
    if key != ROOT:
        raise AssertionError(f"no provider is built for {key}")


def _frozen_because(resource: Resource, snapshot: Snapshot, settings: Settings) -> str | None:
    missing = sorted(source for source in resource.needs(settings) if not snapshot.fresh(source))
    if missing:
        return f"{', '.join(missing)} could not be read"
    return resource.obstacle(snapshot, settings)


def _reserved(
    inventory: Inventory, snapshot: Snapshot, settings: Settings, written: Books
) -> tuple[Inventory, ReserveTerms]:
    own_term = _OWN_TERM.get(inventory.resource_class, "reserved")
    wanted, terms = raised(inventory, own_term, written.unmanaged.claims, settings)
    if _unmanaged_is_known(inventory.resource_class, snapshot, settings):
        return wanted, terms
    return not_below(wanted, terms, snapshot.recorded_inventory(inventory.resource_class))


def _unmanaged_is_known(resource_class: str, snapshot: Snapshot, settings: Settings) -> bool:
    """Whether everything that unmanaged use of this class rests on was read."""
    host = snapshot.host.value
    if not snapshot.fresh(STATE) or not snapshot.fresh(LIBVIRT) or host is None or host.odd_domains:
        return False
    state = snapshot.nova.value
    if state is not None and state.kind is not StateKind.NONE and state.unreadable:
        return False
    return resource_class != "DISK_GB" or settings.disk_group is None or snapshot.fresh(LVM)
