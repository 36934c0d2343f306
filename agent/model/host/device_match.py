"""Decide which entry of ``[pci] device_spec`` applies to each PCI device.

The first entry that matches a device applies to it. An entry that names one physical function also matches its
virtual functions. No entry applies to a device whose PCI domain number has more than 16 bits (Intel VMD), because
nova-compute cannot store such an address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agent.model.host.device_spec import DeviceSpec
from agent.model.host.devices import PciDevice, PciKind
from agent.model.memo import for_equal_arguments

ANY = "*"
_LONGEST_DOMAIN = 4
_ANYTHING = ".*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A device and the spec that applies to it; ``position`` is the index of the spec in the configuration."""

    device: PciDevice
    spec: DeviceSpec
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleSpec:
    """A spec that applies to no device.

    ``taken`` has the addresses of the devices that the spec matches. An earlier spec applies to each of these devices.
    """

    spec: DeviceSpec
    position: int
    taken: tuple[str, ...]


# The result is cached: several parts of each audit call this function, and the devices seldom change. Without the
# cache, each call would take 10 ms for 512 PCI functions and 36 specs.
@for_equal_arguments
def matched(devices: tuple[PciDevice, ...], specs: tuple[DeviceSpec, ...]) -> tuple[Match, ...]:
    """Return the devices to which a spec applies, sorted by address."""
    candidates = _writable(devices)
    places = _places(candidates)
    found = []
    for device in candidates:
        position = next((i for i, spec in enumerate(specs) if _matches(spec, device, places)), None)
        if position is not None:
            found.append(Match(device=device, spec=specs[position], position=position))
    return tuple(found)


def idle(devices: tuple[PciDevice, ...], specs: tuple[DeviceSpec, ...]) -> tuple[IdleSpec, ...]:
    """Return the specs that apply to no device, in the order of the configuration."""
    candidates = _writable(devices)
    places = _places(candidates)
    busy = {match.position for match in matched(devices, specs)}
    return tuple(
        IdleSpec(
            spec=spec,
            position=position,
            taken=tuple(device.address for device in candidates if _matches(spec, device, places)),
        )
        for position, spec in enumerate(specs)
        if position not in busy
    )


def _writable(devices: Iterable[PciDevice]) -> list[PciDevice]:
    """Return the devices whose address nova-compute can store, sorted by address."""
    writable = [d for d in devices if len(d.address.partition(":")[0]) <= _LONGEST_DOMAIN]
    return sorted(writable, key=lambda device: device.address)


def _places(devices: Iterable[PciDevice]) -> Mapping[str, str]:
    """Map the names of network devices to their PCI addresses.

    A virtual function in ``devices`` adds the name and address of its physical function.
    """
    places: dict[str, str] = {}
    for device in devices:
        if device.parent_interface and device.parent_address:
            places.setdefault(device.parent_interface, device.parent_address)
        if device.interface:
            places[device.interface] = device.address
    return places


def _matches(spec: DeviceSpec, device: PciDevice, places: Mapping[str, str]) -> bool:
    return (
        spec.vendor_id in (ANY, device.vendor_id)
        and spec.product_id in (ANY, device.product_id)
        and _is_there(spec, device, places)
        and _may_be_remote(spec, device)
    )


def _is_there(spec: DeviceSpec, device: PciDevice, places: Mapping[str, str]) -> bool:
    single = spec.single_address if spec.devname is None else places.get(spec.devname)
    if single is not None:
        return single in (device.address, device.parent_address)
    if spec.devname is not None:
        return False
    domain, bus, rest = device.address.split(":")
    parts = (domain, bus, *rest.split("."))
    pairs = zip(spec.address_parts, parts, strict=True)
    return all(pattern == _ANYTHING or re.fullmatch(pattern, part) for pattern, part in pairs)


def _may_be_remote(spec: DeviceSpec, device: PciDevice) -> bool:
    """Whether the spec's ``remote_managed`` allows the device.

    A remotely managed device needs a card serial number and cannot be a physical function.
    """
    if spec.tag("remote_managed") != "true":
        return True
    return bool(device.card_serial) and device.kind is not PciKind.PF
