"""Functions for the findings about PCI devices: one finds the devices with their providers, one shortens lists."""

from __future__ import annotations

import functools

from agent.findings.base import AuditFacts
from agent.model.snapshot import LIBVIRT
from agent.nested.pci_view import PciView, pci_view, unknown_because
from agent.text.wording import some_of

listed = functools.partial(some_of, most=8)


def view_of(audit: AuditFacts) -> PciView | None:
    """Return the PCI devices that [pci] device_spec offers on this host, with their providers in Placement.

    Return None if this audit could not read all PCI devices from libvirt.
    """
    host = audit.snapshot.host.value
    if host is None or not audit.snapshot.fresh(LIBVIRT) or unknown_because(host):
        return None
    return pci_view(audit.snapshot, audit.settings)
