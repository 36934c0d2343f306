"""PCI functions as libvirt's node devices, for the test driver's XML file."""

from __future__ import annotations

from collections.abc import Sequence


def parts(address: str) -> list[int]:
    """Return domain, bus, slot and function of an address."""
    domain, bus, rest = address.split(":")
    return [int(part, 16) for part in (domain, bus, *rest.split("."))]


def address_xml(address: str) -> str:
    """Return an ``<address>`` with its parts in hexadecimal."""
    domain, bus, slot, function = parts(address)
    return f"<address domain='{domain:#06x}' bus='{bus:#04x}' slot='{slot:#04x}' function='{function:#x}'/>"


def device_xml(address: str, ids: str, more: str = "") -> str:
    """Return a node device as libvirt prints it: its own address in decimal parts. ``ids`` are vendor:product."""
    vendor, product = ids.split(":")
    numbers = zip(("domain", "bus", "slot", "function"), parts(address), strict=True)
    return (
        f"<device><name>pci_{address.replace(':', '_').replace('.', '_')}</name><parent>computer</parent>"
        f"<capability type='pci'>{''.join(f'<{name}>{number}</{name}>' for name, number in numbers)}"
        f"<product id='0x{product}'/><vendor id='0x{vendor}'/>{more}</capability></device>"
    )


def functions_xml(pf: str, virtual: Sequence[str], ids: str = "8086:1563", vf_ids: str = "8086:1515") -> list[str]:
    """Return a physical function and its virtual functions."""
    made = "".join(map(address_xml, virtual))
    own = device_xml(pf, ids, f"<capability type='virt_functions' maxCount='64'>{made}</capability>")
    parent = f"<capability type='phys_function'>{address_xml(pf)}</capability>"
    return [own, *(device_xml(address, vf_ids, parent) for address in virtual)]


def card_xml(name: str, **available: int) -> str:
    """Return a card as libvirt prints it, with its types of mediated devices; ``nvidia_11`` is nvidia-11."""
    _, domain, bus, slot, function = name.split("_")
    types = "".join(
        f"<type id='{key.replace('_', '-')}'><deviceAPI>vfio-pci</deviceAPI>"
        f"<availableInstances>{count}</availableInstances></type>"
        for key, count in available.items()
    )
    more = f"<capability type='mdev_types'>{types}</capability>"
    return device_xml(f"{domain}:{bus}:{slot}.{function}", "10de:1eb8", more)


def mdev_xml(uuid: str, parent: str, type_id: str) -> str:
    """Return an existing mediated device."""
    return (
        f"<device><name>mdev_{uuid.replace('-', '_')}</name><parent>{parent}</parent><capability type='mdev'>"
        f"<type id='{type_id}'/><uuid>{uuid}</uuid><iommuGroup number='1'/></capability></device>"
    )


def mdev_hostdev_xml(uuid: str) -> str:
    """Return the ``<hostdev>`` element of a guest that has a mediated device."""
    return (
        "<hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci'>"
        f"<source><address uuid='{uuid}'/></source></hostdev>"
    )
