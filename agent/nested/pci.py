"""PCI in Placement: a child provider for each device, or physical function, that ``[pci] device_spec`` offers.

The agent continues to offer what is allocated. If the spec or the hardware of a device is gone, the device's provider
keeps the amount that consumers have allocated, because Placement refuses to remove what is in use. A used one-time-use
device keeps its provider too: a new provider would count the device as unused. If specs contradict devices, the
provider of these devices stays as it is, and findings/pci_spec_conflict.py reports the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from agent.model.owners import AGENT_OWNER
from agent.model.placement import Inventory, Provider, ProviderKey
from agent.model.settings import Settings
from agent.model.snapshot import LIBVIRT, Snapshot
from agent.nested.base import Nested, NestedFamily, UnknownChildren
from agent.nested.pci_names import MANAGED
from agent.nested.pci_offers import Offer
from agent.nested.pci_view import KIND, PciView, key_of, pci_view, taken_by, unknown_because
from agent.traits.base import Wish
from agent.traits.standard_names import ONE_TIME_USE

# The maximum length of a provider's name: Placement answers 400 to a longer name.
NAME_LIMIT = 200
_ADDRESS_LENGTH = len("0000:00:00.0")
_ADDRESS = re.compile(r"[0-9A-F]{4}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7]")


class PciDevices(NestedFamily):
    """Providers named ``<node>_0000:81:0A.0``."""

    name = KIND
    root_classes: frozenset[str] = frozenset()

    def is_configured(self, settings: Settings) -> bool:
        """Whether ``[pci] report_in_placement`` is on.

        If the option is off, existing providers stay, and findings/pci_reporting_disabled.py reports them.
        """
        return settings.pci.report_in_placement

    def flavor_classes(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """Return no class: a flavor requests PCI devices by an alias, and not by a resource class.

        So a flavor does not say which PCI allocations its guest needs. findings/pci_allocation_missing.py compares the
        allocations with the guest's devices instead.
        """
        return frozenset()

    def needs(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """Return the source ``libvirt``, which lists the devices."""
        return frozenset({LIBVIRT})

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:  # noqa: ARG002
        """Return the problem if devices could not be listed or read, or if the providers' names would be too long."""
        host, root = snapshot.host.value, snapshot.observed_root
        if host is None:
            return None
        return unknown_because(host) or _name_too_long(root.name if root else host.hostname)

    def knows(self, child: Provider, name: str, settings: Settings) -> bool:  # noqa: ARG002
        """Whether the child has the trait of PCI devices, or is named after a PCI address."""
        return MANAGED in child.traits or _ADDRESS.fullmatch(name) is not None

    def providers(self, snapshot: Snapshot, settings: Settings) -> tuple[Nested, ...]:
        """Return one child for each offered device, and one for each device that is gone but allocated.

        A device gets no child here if entries of device_spec contradict each other about the device.
        """
        view = pci_view(snapshot, settings)
        return tuple(sorted((*_offered(view), *_kept(view)), key=lambda nested: nested.key))

    def withdrawn(self, snapshot: Snapshot, settings: Settings) -> frozenset[ProviderKey]:
        """Return the children to delete: their devices are no longer offered, and nothing is allocated on them.

        The child of a used one-time-use device is not deleted.
        """
        view = pci_view(snapshot, settings)
        return frozenset(
            ProviderKey(KIND, name)
            for name, provider in view.gone.items()
            if provider.uuid not in view.in_use and not view.spent(provider)
        )

    def belongs(
        self, consumer_uuid: str, resource_class: str, snapshot: Snapshot, settings: Settings
    ) -> Mapping[ProviderKey, int] | UnknownChildren:
        """Count the guest's PCI devices that are offered as ``resource_class``, and return the count for each provider.

        Devices whose provider the agent does not change (``PciView.frozen``) are not counted.
        """
        host = snapshot.host.value
        guest = next((d for d in host.domains if d.uuid == consumer_uuid), None) if host else None
        if guest is None:
            return UnknownChildren(f"this host has no guest {consumer_uuid}, so the guest's PCI devices are unknown")
        taken = taken_by(guest, pci_view(snapshot, settings))
        return {key: amount for (key, name), amount in taken.items() if name == resource_class}


def _name_too_long(node: str) -> str | None:
    room = NAME_LIMIT - len("_") - _ADDRESS_LENGTH
    if len(node) <= room:
        return None
    return f"a PCI provider's name begins with the node's name, which has {len(node)} characters; the limit is {room}"


def _offered(view: PciView) -> Iterable[Nested]:
    for address, offer in view.offers.items():
        if address not in view.frozen:
            observed = view.of(address)
            yield Nested(
                key=key_of(address), inventories=(_inventory(offer, view, observed),), traits=_wish(offer, observed)
            )


def _inventory(offer: Offer, view: PciView, observed: Provider | None) -> Inventory:
    """Return the inventory: the total is the number of devices or, if greater, the allocated amount.

    ``reserved`` stays as the operator set it.
    """
    (resource_class,) = offer.classes
    held = view.held(observed).get(resource_class, 0)
    total = max(len(offer.matches), held)
    # A fully reserved inventory means that the device was used. Inventories of all classes are checked, because the
    # spec may give the device another class now than at the time of its use.
    if offer.is_one_time_use and (held or any(i.reserved >= i.total for i in view.inventories(observed))):
        # The device was used: only the operator makes it available again, by lowering ``reserved``.
        return _whole(resource_class, total, total)
    return _whole(resource_class, total, _reserved(observed, resource_class))


def _reserved(observed: Provider | None, resource_class: str) -> int:
    before = observed.inventory(resource_class) if observed else None
    return before.reserved if before else 0


def _whole(resource_class: str, total: int, reserved: int) -> Inventory:
    # Placement answers 400 if ``reserved`` is greater than ``total``.
    return Inventory(resource_class=resource_class, total=total, max_unit=total, reserved=min(reserved, total))


def _wish(offer: Offer, observed: Provider | None) -> Wish:
    """Return the traits to set and to clear: set the devices' traits, clear every other trait of the provider.

    The trait AGENT_OWNER is never cleared here: provider_tree/desired.py decides about it.
    """
    before = observed.traits if observed else frozenset()
    return Wish(wanted=offer.traits, unwanted=before - offer.traits - {AGENT_OWNER})


def _kept(view: PciView) -> Iterable[Nested]:
    """Yield a child for each device that is gone but allocated, with the allocated amounts and unchanged traits.

    If a one-time-use device is used up but not allocated, no child is yielded, and the provider stays as it is. A child
    has no inventory if all its allocations are of classes that provider.yaml files added.
    """
    for name, provider in view.gone.items():
        held = view.held(provider)
        if held or (provider.uuid in view.in_use and not view.spent(provider)):
            # The provider has allocations, so a one-time-use device counts as used up: its inventory is fully reserved.
            is_used_up = ONE_TIME_USE in provider.traits
            inventories = tuple(
                _whole(resource_class, amount, amount if is_used_up else _reserved(provider, resource_class))
                for resource_class, amount in sorted(held.items())
            )
            yield Nested(key=ProviderKey(KIND, name), inventories=inventories)
