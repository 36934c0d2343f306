"""Combine the devices that libvirt lists: physical and virtual functions, their network devices, vDPA, mdevs.

The result (PciDevice) for a virtual function (VF) also has facts of its physical function (PF). The rules are nova's:

- The VF's result has the PF's interface only while the VF has a network device of its own.
- The VF's result has the PF's MAC address and the VF's index (``vf_number``) only if the PF has a MAC address.
- The VF's result has the PF's card serial if the VF's own VPD has no serial.
- A virtual function that vDPA uses has the kind vDPA, not VF.

Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agent.model.host.devices import Devices, MdevParent, OddDevice, PciDevice, PciKind
from agent.sources.libvirt.node_device_xml import NetworkDevice, NodeDevice, PciFunction


def devices_from(nodes: Iterable[NodeDevice], odd: Iterable[OddDevice]) -> Devices:
    """Return all devices, each kind sorted by name."""
    listed = sorted(nodes, key=lambda node: node.name)
    functions = {node.pci.address: node for node in listed if node.pci}
    networks = _networks(listed)
    vdpa = frozenset(node.parent for node in listed if node.vdpa)
    return Devices(
        pci=tuple(_device(node, node.pci, functions, networks, vdpa) for node in listed if node.pci),
        mdev_parents=tuple(
            MdevParent(name=node.name, address=node.pci.address if node.pci else None, types=node.mdev_types)
            for node in listed
            if node.mdev_types is not None
        ),
        mdevs=tuple(node.mdev for node in listed if node.mdev),
        odd=tuple(sorted(odd, key=lambda one: one.name)),
    )


def _networks(nodes: Iterable[NodeDevice]) -> dict[str, NetworkDevice]:
    """Return one network device for each parent device, by the parent's name.

    A parent may have several network devices (switch ports). The one with the shortest name counts. Of equally short
    names, the first in the alphabet counts.
    """
    named = [(node.network.interface, node.parent, node.network) for node in nodes if node.network and node.parent]
    # In the dictionary, a later device of the same parent replaces an earlier one. The order is reversed, so that the
    # device with the shortest name comes last and stays.
    named.sort(key=lambda each: (len(each[0]), each[0]), reverse=True)
    return {parent: network for _, parent, network in named}


def _device(
    node: NodeDevice,
    function: PciFunction,
    functions: Mapping[str, NodeDevice],
    networks: Mapping[str, NetworkDevice],
    vdpa: frozenset[str | None],
) -> PciDevice:
    kind = _kind(node, function, vdpa)
    own = networks.get(node.name)
    parent = functions.get(function.physical_function or "") if kind in (PciKind.VF, PciKind.VDPA) else None
    of_parent = networks.get(parent.name) if parent else None
    is_virtual = kind is PciKind.VF
    pf_mac = of_parent.mac_address if of_parent and is_virtual else None
    return PciDevice(
        name=node.name,
        address=function.address,
        vendor_id=function.vendor_id,
        product_id=function.product_id,
        kind=kind,
        numa_node=function.numa_node,
        parent_address=function.physical_function if kind in (PciKind.VF, PciKind.VDPA) else None,
        interface=own.interface if own else None,
        parent_interface=of_parent.interface if own and of_parent else None,
        mac_address=own.mac_address if own and kind is PciKind.PF else None,
        pf_mac_address=pf_mac,
        vf_number=_number_of(function, parent) if pf_mac else None,
        network_features=own.features if own and is_virtual else (),
        card_serial=function.card_serial or (_serial_of(parent) if is_virtual else None),
    )


def _kind(node: NodeDevice, function: PciFunction, vdpa: frozenset[str | None]) -> PciKind:
    if function.virtual_functions is not None:
        return PciKind.PF
    if function.physical_function is None:
        return PciKind.PCI
    return PciKind.VDPA if node.name in vdpa else PciKind.VF


def _number_of(function: PciFunction, parent: NodeDevice | None) -> int | None:
    """Return a VF's number: its position in the PF's list, which libvirt sorts by number."""
    siblings = parent.pci.virtual_functions if parent and parent.pci else None
    return siblings.index(function.address) if siblings and function.address in siblings else None


def _serial_of(parent: NodeDevice | None) -> str | None:
    return parent.pci.card_serial if parent and parent.pci else None
