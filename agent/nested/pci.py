"""PCI in Placement: a child provider for each device, or physical function, that ``[pci] device_spec`` hands out.

What is allocated stays offered: a device whose spec or whose hardware is gone keeps
its provider with as much as its consumers hold, because Placement refuses to take
away what is in use. A device for use once that was used keeps its provider, too: made
anew it would count as unused. Where specs and devices contradict each other, that one
provider stays as it is and findings/pci_spec_conflict.py says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import os_traits

from agent.model.owners import OURS
from agent.model.placement import Inventory, Provider, ProviderKey
from agent.model.settings import Settings
from agent.model.snapshot import LIBVIRT, Snapshot
from agent.nested.base import Nested, NotTold
from agent.nested.pci_names import MANAGED
from agent.nested.pci_offers import Offer
from agent.nested.pci_view import KIND, PciView, key_of, pci_view, taken_by, unknown_because
from agent.traits.base import Wish

# Placement answers 400 to a longer provider name.
NAME_LIMIT = 200
_ADDRESS_LENGTH = len("0000:00:00.0")
_ADDRESS = re.compile(r"[0-9A-F]{4}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7]")


class PciDevices:
    """Providers ``<node>_0000:81:0A.0`` (hypervisor-audit 7.5)."""

    name = KIND
    root_classes: frozenset[str] = frozenset()

    def is_asked_for(self, settings: Settings) -> bool:
        """``[pci] report_in_placement``."""
        return settings.pci.report_in_placement

    def is_configured(self, settings: Settings) -> bool:
        """``[pci] report_in_placement``; what was made before it was turned off stays, and is told as a finding."""
        return settings.pci.report_in_placement

    def flavor_classes(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """None: a flavor names an alias; who has which device is in rows (findings/pci_allocation_missing.py)."""
        return frozenset()

    def needs(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """Libvirt's devices."""
        return frozenset({LIBVIRT})

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:  # noqa: ARG002
        """Devices that could not be listed or read, or a node name that leaves no room for an address."""
        host, root = snapshot.host.value, snapshot.observed_root
        if host is None:
            return None
        return unknown_because(host) or _name_too_long(root.name if root else host.hostname)

    def knows(self, child: Provider, name: str, settings: Settings) -> bool:  # noqa: ARG002
        """Whether it has a PCI device's trait, or its name."""
        return MANAGED in child.traits or _ADDRESS.fullmatch(name) is not None

    def providers(self, snapshot: Snapshot, settings: Settings) -> tuple[Nested, ...]:
        """One for each device that nothing contradicts, and one for each that is gone but still held."""
        view = pci_view(snapshot, settings)
        return tuple(sorted((*_offered(view), *_kept(view)), key=lambda nested: nested.key))

    def withdrawn(self, snapshot: Snapshot, settings: Settings) -> frozenset[ProviderKey]:
        """Those of devices that are not handed out any more, that nobody holds, and that were not used up."""
        view = pci_view(snapshot, settings)
        return frozenset(
            ProviderKey(KIND, name)
            for name, provider in view.gone.items()
            if provider.uuid not in view.in_use and not view.spent(provider)
        )

    def belongs(
        self,
        consumer_uuid: str,
        resource_class: str,
        snapshot: Snapshot,
        settings: Settings,
    ) -> Mapping[ProviderKey, int] | NotTold:
        """By the functions that its guest takes (hypervisor-audit 7.5); none of those whose provider stays as it is."""
        host = snapshot.host.value
        guest = next((d for d in host.domains if d.uuid == consumer_uuid), None) if host else None
        if guest is None:
            return NotTold(why=f"no guest here is {consumer_uuid}, whose devices would say where it belongs")
        taken = taken_by(guest, pci_view(snapshot, settings))
        return {key: amount for (key, name), amount in taken.items() if name == resource_class}


def _name_too_long(node: str) -> str | None:
    room = NAME_LIMIT - len("_") - _ADDRESS_LENGTH
    if len(node) <= room:
        return None
    return (
        f"the node's name has {len(node)} characters: above {room}, a device's provider gets a name Placement refuses"
    )


def _offered(view: PciView) -> Iterable[Nested]:
    for address, offer in view.offers.items():
        if address not in view.frozen:
            observed = view.of(address)
            yield Nested(
                key=key_of(address), inventories=(_inventory(offer, view, observed),), traits=_wish(offer, observed)
            )


def _inventory(offer: Offer, view: PciView, observed: Provider | None) -> Inventory:
    """As many as there are, and never fewer than are held; ``reserved`` is what the operator set."""
    (resource_class,) = offer.classes
    held = view.held(observed).get(resource_class, 0)
    total = max(len(offer.matches), held)
    if offer.is_one_time_use and (held or _was_used(view, observed)):
        # It was given out: only the operator gives it back, by lowering ``reserved`` (hypervisor-audit 7.5).
        return _whole(resource_class, total, total)
    before = observed.inventory(resource_class) if observed else None
    return _whole(resource_class, total, before.reserved if before else 0)


def _was_used(view: PciView, observed: Provider | None) -> bool:
    """Whether all of it is reserved, under whatever class: a new name does not make a used device new."""
    return any(inventory.reserved >= inventory.total for inventory in view.inventories(observed))


def _whole(resource_class: str, total: int, reserved: int) -> Inventory:
    # Placement answers 400 where more is reserved than there is.
    return Inventory(resource_class=resource_class, total=total, max_unit=total, reserved=min(reserved, total))


def _wish(offer: Offer, observed: Provider | None) -> Wish:
    """Its traits replace what is there, but for the owner's, which provider_tree/desired.py decides."""
    before = observed.traits if observed else frozenset()
    return Wish(wanted=offer.traits, unwanted=before - offer.traits - {OURS})


def _kept(view: PciView) -> Iterable[Nested]:
    """Devices that are gone and still held: as much of each class as is held, traits as they are.

    One that was used up and is not held stays as it stands. Where only what a
    provider.yaml file added is held, nothing is offered but that.
    """
    for name, provider in view.gone.items():
        held = view.held(provider)
        if held or (provider.uuid in view.in_use and not view.spent(provider)):
            inventories = tuple(_remainder(provider, *one) for one in sorted(held.items()))
            yield Nested(key=ProviderKey(KIND, name), inventories=inventories)


def _remainder(provider: Provider, resource_class: str, held: int) -> Inventory:
    """What is held of a device that is gone; one that is for use once is used up by that."""
    if os_traits.HW_PCI_ONE_TIME_USE in provider.traits:
        return _whole(resource_class, held, held)
    before = provider.inventory(resource_class)
    return _whole(resource_class, held, before.reserved if before else 0)
