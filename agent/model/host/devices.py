"""Devices that libvirt lists: PCI functions, and mediated devices with the parents that can make them."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class PciKind(enum.Enum):
    """nova's dev_type: a whole device, a physical function with virtual ones, one of those, one that vDPA uses."""

    PCI = "type-PCI"
    PF = "type-PF"
    VF = "type-VF"
    VDPA = "vdpa"


@dataclass(frozen=True, slots=True, kw_only=True)
class PciDevice:
    """One PCI function.

    ``name`` is libvirt's (pci_0000_81_00_0); addresses are ``dddd:bb:ss.f`` in
    lower-case hex (five or more digits for a longer domain), ids four lower-case
    hex digits. ``parent_address`` is a VF's physical function. ``interface`` is
    the name of its own network device; ``parent_interface`` of its PF's.
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
    """Free PCI devices that are alike, at least one; ``address`` is their physical function's, or their own.

    ``tags`` are those of their spec, sorted; ``provider_uuid`` is the provider in Placement, where there is one.
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
    """A type of mediated device that a parent can make: how many more."""

    type_id: str
    available_instances: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MdevParent:
    """A device that can make mediated devices; ``address`` is None for one that is no PCI device (mtty)."""

    name: str
    address: str | None
    types: tuple[MdevType, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mdev:
    """A mediated device that exists; ``parent`` is the libvirt name of its parent."""

    name: str
    type_id: str
    parent: str
    uuid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OddDevice:
    """A device that is there but cannot be understood."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """All devices, each kind sorted by name."""

    pci: tuple[PciDevice, ...] = ()
    mdev_parents: tuple[MdevParent, ...] = ()
    mdevs: tuple[Mdev, ...] = ()
    odd: tuple[OddDevice, ...] = ()
