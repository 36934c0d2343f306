"""The devices that libvirt lists: PCI functions, and mediated devices with the parents that can create them."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class PciKind(enum.Enum):
    """The values of nova's ``dev_type``.

    PCI: a device without virtual functions. PF: a physical function. VF: a virtual function. VDPA: a vDPA device.
    """

    PCI = "type-PCI"
    PF = "type-PF"
    VF = "type-VF"
    VDPA = "vdpa"


@dataclass(frozen=True, slots=True, kw_only=True)
class PciDevice:
    """One PCI function.

    ``name`` is libvirt's name (pci_0000_81_00_0). Addresses are ``dddd:bb:ss.f`` in lower-case hex, with five or more
    digits for a longer domain. Ids are four lower-case hex digits. ``parent_address`` is the address of a VF's
    physical function (PF). ``interface`` is the name of the function's own network device, ``parent_interface`` the
    name of the PF's network device.
    """

    name: str
    address: str
    vendor_id: str
    product_id: str
    kind: PciKind
    numa_node: int | None = None
    parent_address: str | None = None
    interface: str | None = None
    parent_interface: str | None = None
    mac_address: str | None = None
    pf_mac_address: str | None = None
    vf_number: int | None = None
    network_features: tuple[str, ...] = ()
    card_serial: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PciPool:
    """One or more free PCI devices with the same properties.

    ``address`` is the address of the devices' physical function, or of the device itself if it is not a virtual
    function. ``tags`` are the sorted tags of their ``device_spec``. ``provider_uuid`` is the uuid of the devices'
    provider in Placement.
    """

    address: str
    vendor_id: str
    product_id: str
    kind: str
    numa_node: int | None
    count: int
    tags: tuple[tuple[str, str | None], ...] = ()
    parent_interface: str | None = None
    provider_uuid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MdevType:
    """A type of mediated device that a parent supports, and how many more devices the parent can create."""

    type_id: str
    available_instances: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MdevParent:
    """A device that can create mediated devices; ``address`` is None if it is not a PCI device (such as mtty)."""

    name: str
    address: str | None
    types: tuple[MdevType, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mdev:
    """An existing mediated device; ``parent`` is libvirt's name of the parent."""

    name: str
    type_id: str
    parent: str
    uuid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OddDevice:
    """A device whose description the agent cannot parse."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """All devices, each kind sorted by name."""

    pci: tuple[PciDevice, ...] = ()
    mdev_parents: tuple[MdevParent, ...] = ()
    mdevs: tuple[Mdev, ...] = ()
    odd: tuple[OddDevice, ...] = ()
