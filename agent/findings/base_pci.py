"""What findings on PCI share: the view that they look at."""

from __future__ import annotations

from agent.findings.base import World
from agent.model.snapshot import LIBVIRT
from agent.nested.pci_view import PciView, pci_view, unknown_because


def view_of(world: World) -> PciView | None:
    """PCI as the desired tree rests on it; None while the devices are not all known."""
    host = world.snapshot.host.value
    if host is None or not world.snapshot.fresh(LIBVIRT) or unknown_because(host):
        return None
    return pci_view(world.snapshot, world.settings)
