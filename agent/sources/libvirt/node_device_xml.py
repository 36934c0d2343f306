"""Parse one device from ``virNodeDeviceGetXMLDesc``: a PCI function, a network device, a vDPA or a mediated device.

The XML of a device says little about its relations to other devices. A virtual function names the address of its
physical function, but not its own VF number. A network device names its parent, but a PCI function does not name its
network device. node_devices.py combines the devices.

``<domain>``, ``<bus>``, ``<slot>`` and ``<function>`` are decimal; the attributes of ``<address>`` and the ids of
``<vendor>`` and ``<product>`` are hexadecimal. Pure: no I/O.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

from agent.model.host.devices import Mdev, MdevType
from agent.sources.libvirt.xml_values import attribute, document, hexadecimal, number, odd, optional_text, text_of

_HIGHEST_ID = 0xFFFF
# The highest PCI domain, bus, slot and function. Hyper-V and VMD have domains above 0xffff.
_HIGHEST_PARTS = (0xFFFFFFFF, 0xFF, 0x1F, 0x7)
_PCI_ADDRESS = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")


@dataclass(frozen=True, slots=True, kw_only=True)
class PciFunction:
    """The facts in a PCI function's own XML.

    ``virtual_functions`` are the addresses of its VFs in the order of their numbers, or None if the function is not a
    physical function. ``physical_function`` is the address of a VF's physical function. ``card_serial`` is from the
    function's own VPD.
    """

    address: str
    vendor_id: str
    product_id: str
    numa_node: int | None = None
    virtual_functions: tuple[str, ...] | None = None
    physical_function: str | None = None
    card_serial: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkDevice:
    """A network device: its name, its MAC address if it has one, and the features that its driver reports."""

    interface: str
    mac_address: str | None
    features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDevice:
    """One device as libvirt lists it. A field for a capability (such as ``pci``) is None if the device lacks it.

    ``parent`` is the libvirt name of the parent device. ``mdev_types`` is None for a device that cannot create mediated
    devices.
    """

    name: str
    parent: str | None = None
    pci: PciFunction | None = None
    network: NetworkDevice | None = None
    mdev_types: tuple[MdevType, ...] | None = None
    mdev: Mdev | None = None
    vdpa: bool = False


def parse_node_device(xml: str) -> NodeDevice:
    """Parse the XML of one device. Raises SourceInconsistent."""
    root = document(xml, "device", "device")
    name = text_of(root, "name", "device")
    where = f"device {name}"
    parent = optional_text(root, "parent")
    return NodeDevice(
        name=name,
        parent=parent,
        pci=_pci(root.find("capability[@type='pci']"), where),
        network=_network(root.find("capability[@type='net']"), where),
        mdev_types=_mdev_types(root, where),
        mdev=_mdev(root.find("capability[@type='mdev']"), name, parent, where),
        vdpa=root.find("capability[@type='vdpa']") is not None,
    )


def pci_name(address: str) -> str:
    """Return libvirt's name of the PCI function at an address, such as ``pci_0000_84_00_0``."""
    return "pci_" + address.lower().replace(":", "_").replace(".", "_")


def address_of(element: ET.Element, where: str) -> str:
    """Return the PCI address in the attributes of an ``<address>``. Raises SourceInconsistent."""
    place = f"{where}: <address>"
    parts = (element.get(part) for part in ("domain", "bus", "slot", "function"))
    return _address(tuple(hexadecimal(part, place) for part in parts), place)


def _pci(capability: ET.Element | None, where: str) -> PciFunction | None:
    if capability is None:
        return None
    parts = tuple(number(capability.findtext(tag), f"{where}: {tag}") for tag in ("domain", "bus", "slot", "function"))
    physical = capability.find(".//capability[@type='phys_function']")
    virtual = capability.find(".//capability[@type='virt_functions']")
    return PciFunction(
        address=_address(parts, where),
        vendor_id=_pci_id(capability, "vendor", where),
        product_id=_pci_id(capability, "product", where),
        numa_node=_numa_node(capability, where),
        virtual_functions=None if virtual is None else _addresses(virtual, where),
        physical_function=None if physical is None else next(iter(_addresses(physical, where)), None),
        card_serial=optional_text(capability, ".//capability[@type='vpd']/fields[@access='readonly']/serial_number"),
    )


def _address(parts: tuple[int, ...], where: str) -> str:
    if any(part > highest for part, highest in zip(parts, _HIGHEST_PARTS, strict=True)):
        raise odd(where, f"(domain, bus, slot, function) {parts} is not a PCI address")
    domain, bus, slot, function = parts
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"


def _addresses(capability: ET.Element, where: str) -> tuple[str, ...]:
    return tuple(address_of(found, where) for found in capability.iterfind("address"))


def _pci_id(capability: ET.Element, tag: str, where: str) -> str:
    found = capability.find(tag)
    value = hexadecimal(None if found is None else found.get("id"), f"{where}: {tag} id")
    if value > _HIGHEST_ID:
        raise odd(where, f"the {tag} id {value:#x} is above 0xffff")
    return f"{value:04x}"


def _numa_node(capability: ET.Element, where: str) -> int | None:
    numa = capability.find("numa")
    # The kernel reports -1 if the firmware does not name the NUMA node: the node is unknown.
    if numa is None or numa.get("node") == "-1":
        return None
    return number(numa.get("node"), f"{where}: numa node")


def _network(capability: ET.Element | None, where: str) -> NetworkDevice | None:
    if capability is None:
        return None
    return NetworkDevice(
        interface=text_of(capability, "interface", where),
        mac_address=optional_text(capability, "address"),
        features=tuple(attribute(found, "name", where) for found in capability.iterfind("feature")),
    )


def _mdev_types(root: ET.Element, where: str) -> tuple[MdevType, ...] | None:
    """Return the types of mediated devices that the device can create; None if it can create none.

    The capability ``mdev_types`` is at different depths in the XML of different devices: it is searched at any depth.
    """
    found = root.find(".//capability[@type='mdev_types']")
    if found is None:
        return None
    types = (_mdev_type(element, f"{where}: mdev type") for element in found.iterfind("type"))
    return tuple(sorted(types, key=lambda one: one.type_id))


def _mdev_type(element: ET.Element, where: str) -> MdevType:
    type_id = attribute(element, "id", where)
    available = number(element.findtext("availableInstances"), f"{where} {type_id}: availableInstances")
    return MdevType(type_id=type_id, available_instances=available)


def _mdev(capability: ET.Element | None, name: str, parent: str | None, where: str) -> Mdev | None:
    if capability is None:
        return None
    kind = capability.find("type")
    if kind is None:
        raise odd(where, "no <type>")
    return Mdev(
        name=name,
        type_id=attribute(kind, "id", where),
        parent=_mdev_parent(capability, parent, where),
        uuid=optional_text(capability, "uuid"),
    )


def _mdev_parent(capability: ET.Element, parent: str | None, where: str) -> str:
    """Return the libvirt name of an mdev's parent device.

    In the XML of a new mdev, ``<parent_addr>`` is right and ``<parent>`` is wrong.
    """
    address = optional_text(capability, "parent_addr")
    if address is not None and _PCI_ADDRESS.fullmatch(address):
        return pci_name(address)
    if parent is None:
        raise odd(where, "no <parent>")
    return parent
