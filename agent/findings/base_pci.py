"""What findings on PCI share: the view that they look at, and the uuid of a device's provider."""

from __future__ import annotations

from agent.findings.base import World
from agent.model.snapshot import LIBVIRT
from agent.nested.pci_view import PciView, key_of, pci_view, unknown_because
from agent.stages.desired import child_uuid


def view_of(world: World) -> PciView | None:
    """PCI as the desired tree rests on it; None while the devices are not all known."""
    host = world.snapshot.host.value
    if host is None or not world.snapshot.fresh(LIBVIRT) or unknown_because(host):
        return None
    return pci_view(world.snapshot, world.settings)


def provider_uuid(world: World, view: PciView, address: str | None) -> str | None:
    """The provider of that device, made or not; the root's (None) where no device is known."""
    if address is None or world.root_uuid is None:
        return None
    observed = view.of(address)
    return observed.uuid if observed else child_uuid(world.root_uuid, key_of(address))
