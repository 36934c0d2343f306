"""One view of PCI devices, their specs and their providers in Placement, for pci.py and for the findings about PCI.

The agent recognises the provider of a PCI device by its trait COMPUTE_MANAGED_PCI_DEVICE and its name, whichever
program created the provider. Allocations come from Placement: this module does not read nova's ``pci_devices`` rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agent.model.host.facts import Domain, HostFacts
from agent.model.memo import for_the_same_arguments
from agent.model.placement import Allocation, Inventory, PlacementView, Provider, ProviderKey
from agent.model.provider_config import ProviderEntry
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.nested.base import children
from agent.nested.pci_names import MANAGED
from agent.nested.pci_offers import Conflict, Offer, conflicts, offers, undecided
from agent.traits.standard_names import ONE_TIME_USE

KIND = "pci"
_PCI_PREFIX = "pci_"


@dataclass(frozen=True, slots=True, kw_only=True)
class PciView:
    """What the host's PCI devices offer, and the providers of PCI devices in Placement.

    - ``offers``: what each provider should offer, by PCI address.
    - ``observed``: the providers below the root with a name ``<node>_<suffix>``, by suffix.
    - ``gone``: the observed providers that have the trait COMPUTE_MANAGED_PCI_DEVICE, but whose device is not offered
      now, by suffix.
    - ``frozen``: the PCI addresses of the devices whose provider the agent does not change.
    - ``from_files``: the resource classes that provider.yaml files add, by provider uuid.
    - ``allocations``: the allocations by provider uuid, without allocations of classes in ``from_files``.
    - ``in_use``: the uuids of the providers with an allocation of any class.
    """

    offers: Mapping[str, Offer]
    conflicts: tuple[Conflict, ...]
    frozen: frozenset[str]
    observed: Mapping[str, Provider]
    gone: Mapping[str, Provider]
    allocations: Mapping[str, tuple[Allocation, ...]]
    from_files: Mapping[str, frozenset[str]]
    in_use: frozenset[str]

    def of(self, address: str) -> Provider | None:
        """Return the provider of the device at that address as Placement records it; None if there is no provider."""
        return self.observed.get(key_of(address).name)

    def held(self, provider: Provider | None) -> Mapping[str, int]:
        """Return the allocated amounts of the provider's devices, by class."""
        return _held(self.allocations, provider)

    def inventories(self, provider: Provider | None) -> tuple[Inventory, ...]:
        """Return the provider's inventories of devices, without what provider.yaml files added."""
        if provider is None:
            return ()
        added = self.from_files.get(provider.uuid, frozenset())
        return tuple(i for i in provider.inventories if i.resource_class not in added)

    def spent(self, provider: Provider) -> Inventory | None:
        """Return the inventory of a one-time-use device that a guest has used; None for any other device.

        Only the operator can make such a device available again.
        """
        if ONE_TIME_USE not in provider.traits:
            return None
        return next((i for i in self.inventories(provider) if i.reserved), None)


def key_of(address: str) -> ProviderKey:
    """Return the key of the provider of the device at that address."""
    return ProviderKey(KIND, address.upper())


def taken_by(guest: Domain, view: PciView) -> Mapping[tuple[ProviderKey, str], int]:
    """Return how many PCI functions the guest has, by provider and class.

    Providers with an address in ``view.frozen`` are left out.
    """
    taken = Counter(
        (key_of(address), offer.classes[0])
        for address, offer in view.offers.items()
        if address not in view.frozen
        for match in offer.matches
        if match.device.address in guest.pci_addresses
    )
    return dict(sorted(taken.items()))


def unknown_because(host: HostFacts) -> str | None:
    """Return why the PCI devices of this host are not all known, None if all are known."""
    if host.devices is None:
        return f"libvirt could not list the devices: {host.devices_unknown_because}"
    odd = sorted(one.name for one in host.devices.odd if one.name.startswith(_PCI_PREFIX))
    return f"the agent cannot read these PCI devices: {', '.join(odd)}" if odd else None


def managed(view: PlacementView | None) -> tuple[Provider, ...]:
    """Return the providers in the tree that stand for PCI devices, whether the agent or nova-compute made them."""
    return tuple(provider for provider in (view.providers if view else ()) if MANAGED in provider.traits)


@for_the_same_arguments
def pci_view(snapshot: Snapshot, settings: Settings) -> PciView:
    """Return the facts about PCI devices that all decisions about PCI are based on.

    If the host was not read, the view contains no devices of the host.
    """
    host, placement, root = snapshot.host.value, snapshot.placement.value, snapshot.observed_root
    offered = offers(host.devices.pci if host and host.devices else (), settings.pci.specs)
    observed = children(placement, root.name) if root else {}
    from_files = _from_files(settings.provider_entries, observed.values())
    allocated = _by_provider(placement, from_files)
    found = conflicts(host, settings.pci.specs) if host else ()
    found = (*found, *_used_otherwise(offered, observed, allocated))
    frozen = _frozen(found, offered) | (undecided(host, offered) if host else frozenset())
    claimed = {key_of(address).name for address in (*offered, *frozen)}
    gone = {name: p for name, p in sorted(observed.items()) if MANAGED in p.traits and name not in claimed}
    return PciView(
        offers=offered,
        conflicts=found,
        frozen=frozen,
        observed=observed,
        # If a virtual function does not name its parent device, any device that seems gone may be the parent. The
        # parent's provider must stay, so no device counts as gone.
        gone={} if any(conflict.address is None for conflict in found) else gone,
        allocations=allocated,
        from_files=from_files,
        in_use=frozenset(a.provider_uuid for a in placement.allocations) if placement else frozenset(),
    )


def _from_files(entries: Iterable[ProviderEntry], observed: Iterable[Provider]) -> Mapping[str, frozenset[str]]:
    by_name = {provider.name: provider.uuid for provider in observed}
    added: dict[str, frozenset[str]] = {}
    for entry in entries:
        uuid = entry.uuid or by_name.get(entry.name or "")
        if uuid is not None:
            added[uuid] = added.get(uuid, frozenset()) | {i.resource_class for i in entry.inventories}
    return added


def _by_provider(
    view: PlacementView | None, from_files: Mapping[str, frozenset[str]]
) -> Mapping[str, tuple[Allocation, ...]]:
    grouped: dict[str, list[Allocation]] = {}
    for allocation in view.allocations if view else ():
        if allocation.resource_class not in from_files.get(allocation.provider_uuid, ()):
            grouped.setdefault(allocation.provider_uuid, []).append(allocation)
    return {uuid: tuple(some) for uuid, some in grouped.items()}


def _held(allocations: Mapping[str, tuple[Allocation, ...]], provider: Provider | None) -> Mapping[str, int]:
    amounts: Counter[str] = Counter()
    for allocation in allocations.get(provider.uuid, ()) if provider else ():
        amounts[allocation.resource_class] += allocation.amount
    return amounts


def _used_otherwise(
    offered: Mapping[str, Offer], observed: Mapping[str, Provider], allocated: Mapping[str, tuple[Allocation, ...]]
) -> Iterable[Conflict]:
    """Yield a conflict for each PCI device whose resource class changed while the old class has allocations.

    Placement refuses to remove a class that is in use.
    """
    for address, offer in offered.items():
        others = sorted(set(_held(allocated, observed.get(key_of(address).name))) - set(offer.classes))
        if others:
            yield Conflict(
                address=address,
                reason=f"the devices' provider has allocations of {', '.join(others)}, but the devices' class is now "
                f"{', '.join(offer.classes)}",
                specs=offer.specs,
                devices=offer.devices,
            )


def _frozen(found: Iterable[Conflict], offered: Mapping[str, Offer]) -> frozenset[str]:
    named = {conflict.address for conflict in found}
    if None in named:
        named |= {offer.address for offer in offered.values() if offer.is_of_virtual_functions}
    return frozenset(address for address in named if address is not None)
