"""Mediated devices (vGPU): a child provider for each device that can create mediated devices of its configured type.

The options ``[devices]`` and ``[mdev_TYPE]`` configure one type for each device. The child offers the existing
mediated devices of that type plus those that the device can still create. A device that libvirt no longer lists keeps
its provider, because the device may be bound to another driver for a moment. The agent deletes a provider only if
libvirt lists its device and the device offers no mediated devices.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from agent.model.host.devices import Devices, Mdev
from agent.model.placement import Inventory, Provider, ProviderKey
from agent.model.settings import Settings
from agent.model.snapshot import LIBVIRT, Snapshot
from agent.nested.base import Nested, NestedFamily, UnknownChildren

KIND = "mdev"
VGPU = "VGPU"
# Matches libvirt's name of a PCI device. Mediated devices name their parents in this form, so all look-ups use it.
_PCI_NAME = re.compile(r"pci_([0-9a-f]{4,8})_([0-9a-f]{2})_([0-9a-f]{2})_([0-9a-f])")
# A device with this prefix that cannot be read may be a mediated device of an unknown parent.
_MDEV_PREFIX = "mdev_"
# A libvirt older than 7.3 shows a mediated device's uuid only in the device's name. Newer versions append the parent's
# address to the name.
_MDEV_NAME = re.compile(r"mdev_([0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12})(?:_.*)?")


@dataclass(frozen=True, slots=True)
class Bound:
    """The configuration of one device: its mdev type, the type's resource class, and the type's maximum per host."""

    type_id: str
    resource_class: str
    max_instances: int | None


class MediatedDevices(NestedFamily):
    """Providers named ``<node>_<libvirt's name of the device>``."""

    name = KIND
    root_classes = frozenset({VGPU})

    def is_configured(self, settings: Settings) -> bool:
        """Whether an option enables a type of mediated device.

        If no option does, the agent does not change the providers of mediated devices.
        """
        return bool(settings.mdev_types)

    def flavor_classes(self, settings: Settings) -> frozenset[str]:
        """Return the classes of the enabled types; a type without a configured class has VGPU."""
        return frozenset(choice.resource_class for choice in settings.mdev_types)

    def needs(self, settings: Settings) -> frozenset[str]:  # noqa: ARG002
        """Return the source ``libvirt``, which lists the devices."""
        return frozenset({LIBVIRT})

    def obstacle(self, snapshot: Snapshot, settings: Settings) -> str | None:  # noqa: ARG002
        """Return the problem if libvirt could not list the devices, or if the agent cannot read a mediated device."""
        host = snapshot.host.value
        if host is None:
            return None
        if host.devices is None:
            return f"libvirt could not list the devices: {host.devices_unknown_because}"
        odd = sorted(one.name for one in host.devices.odd if one.name.startswith(_MDEV_PREFIX))
        return f"the agent cannot read these mediated devices: {', '.join(odd)}" if odd else None

    def knows(self, child: Provider, name: str, settings: Settings) -> bool:  # noqa: ARG002
        """Whether a type is configured for the device that libvirt calls ``name``."""
        return bound_to(name, settings) is not None

    def providers(self, snapshot: Snapshot, settings: Settings) -> tuple[Nested, ...]:
        """Return one child provider for each device that offers mediated devices; ``max_unit`` equals the total."""
        return tuple(
            Nested(
                key=ProviderKey(KIND, parent),
                inventories=(Inventory(resource_class=bound.resource_class, total=total, max_unit=total),),
            )
            for parent, total in sorted(_totals(snapshot, settings).items())
            if total > 0 and (bound := bound_to(parent, settings))
        )

    def withdrawn(self, snapshot: Snapshot, settings: Settings) -> frozenset[ProviderKey]:
        """Return the child providers of physical devices that offer no mediated devices.

        A device that would exceed the configured maximum of its type offers no mediated devices.
        """
        totals = _totals(snapshot, settings)
        return frozenset(ProviderKey(KIND, parent) for parent, total in totals.items() if total == 0)

    def belongs(
        self, consumer_uuid: str, resource_class: str, snapshot: Snapshot, settings: Settings
    ) -> Mapping[ProviderKey, int] | UnknownChildren:
        """Return how many mediated devices the consumer's guest has in its domain XML, by parent device."""
        host = snapshot.host.value
        guest = next((d for d in host.domains if d.uuid == consumer_uuid), None) if host else None
        if host is None or host.devices is None or guest is None:
            return UnknownChildren(
                f"this host has no guest {consumer_uuid}, so the guest's mediated devices are unknown"
            )
        devices = {uuid_of(mdev): mdev for mdev in host.devices.mdevs}
        parents: Counter[ProviderKey] = Counter()
        for uuid in guest.mdev_uuids:
            place = _place(devices.get(uuid), resource_class, settings)
            if isinstance(place, str):
                return UnknownChildren(f"mediated device {uuid} of guest {guest.uuid} ({guest.name}): {place}")
            if place is not None:
                parents[place] += 1
        return parents


def uuid_of(mdev: Mdev) -> str | None:
    """Return the uuid by which guests name the mediated device; None if libvirt does not report it."""
    named = _MDEV_NAME.fullmatch(mdev.name)
    return (mdev.uuid or (named[1].replace("_", "-") if named else "")).lower() or None


def _place(mdev: Mdev | None, resource_class: str, settings: Settings) -> ProviderKey | str | None:
    """Return the key of the child provider that counts this device in this resource class.

    Return None if the device counts in another class. If the child is unknown, return a text that says why.
    """
    if mdev is None:
        return "libvirt does not list the device, so its parent is not known"
    bound = bound_to(mdev.parent, settings)
    if bound is None or bound.type_id != mdev.type_id:
        configured = f"only type {bound.type_id}" if bound else "no type"
        return f"the device is of type {mdev.type_id}, but [devices] enables {configured} for {mdev.parent}"
    return ProviderKey(KIND, mdev.parent) if bound.resource_class == resource_class else None


def bound_to(parent: str, settings: Settings) -> Bound | None:
    """Return the mdev type that the configuration enables for a device; None if it enables no type for the device.

    ``parent`` is libvirt's name of the device. A type that lists the device's address takes precedence. Any other PCI
    device gets the default type, which is the first type without addresses. The agent ignores further types without
    addresses. The class of the default type is VGPU, whatever class is configured.
    """
    place = place_of(parent)
    for choice in settings.mdev_types:
        if place in {address.lower() for address in choice.addresses}:
            return Bound(choice.type_id, choice.resource_class, choice.max_instances)
    default = next((choice for choice in settings.mdev_types if not choice.addresses), None)
    if default is None or _PCI_NAME.fullmatch(parent) is None:
        return None
    return Bound(default.type_id, VGPU, default.max_instances)


def place_of(parent: str) -> str:
    """Return the PCI address (``0000:84:00.0``) that libvirt's name of the device contains.

    If the name contains no PCI address, return the name in lower case.
    """
    found = _PCI_NAME.fullmatch(parent)
    return "{}:{}:{}.{}".format(*found.groups()) if found else parent.lower()


def _totals(snapshot: Snapshot, settings: Settings) -> Mapping[str, int]:
    """Return how many mediated devices each parent offers, by the parent's name; unknown totals are left out."""
    devices = snapshot.host.value.devices if snapshot.host.value else None
    if devices is None:
        return {}
    # Leave out mediated devices whose type is not the type configured for their parent: the cloud ignores them.
    totals = Counter(mdev.parent for mdev in devices.mdevs if mdev.type_id == _type_of(mdev.parent, settings))
    used: Counter[str] = Counter()
    for parent, count in totals.items():
        used[_type_of(parent, settings)] += count
    # A device that would exceed the maximum of its type gets the total 0. libvirt's order is arbitrary. So sort by
    # name: then every audit chooses the same devices.
    for device in sorted(devices.mdev_parents, key=lambda parent: parent.name):
        bound = bound_to(device.name, settings)
        offered = [one.available_instances for one in device.types if bound and one.type_id == bound.type_id]
        if bound is None or not offered:
            continue
        available = sum(offered)
        if bound.max_instances and used[bound.type_id] + available > bound.max_instances:
            totals[device.name] = 0
        else:
            used[bound.type_id] += available
            totals[device.name] += available
    unsure = _unsure(devices, settings)
    return {parent: total for parent, total in totals.items() if parent not in unsure}


def _type_of(parent: str, settings: Settings) -> str:
    bound = bound_to(parent, settings)
    return bound.type_id if bound else ""


def _unsure(devices: Devices, settings: Settings) -> frozenset[str]:
    """Return the names of the devices whose total is unknown.

    The total of a device that the agent cannot read is unknown. If the type of such a device has a maximum per host,
    the totals of all devices of this type are unknown, because the devices share the maximum.
    """
    odd = {one.name for one in devices.odd}
    if not odd:
        return frozenset()
    capped = {b.type_id for name in odd if (b := bound_to(name, settings)) and b.max_instances}
    known = {p.name for p in devices.mdev_parents} | {m.parent for m in devices.mdevs}
    return frozenset(odd | {name for name in known if _type_of(name, settings) in capped})
