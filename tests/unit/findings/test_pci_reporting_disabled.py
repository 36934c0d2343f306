"""pci-reporting-disabled: the option is off, but the providers exist."""

from __future__ import annotations

from agent.model.finding import Severity
from agent.model.snapshot import LIBVIRT, PLACEMENT
from tests.rigs.facts import NODE, ROOT_UUID, findings, inventory, without
from tests.rigs.pci import child, device, pci_settings, tree, world

CODE = "pci-reporting-disabled"
OFF = pci_settings({"vendor_id": "10de"}, report=False)
THERE = tree(*(child(f"0000:{bus}:00.0", inventory("CUSTOM_X", 1)) for bus in range(81, 92)))


def test_s124_pci_providers_that_remain_are_listed():
    """If report_in_placement is false and Placement has 11 PCI providers, the finding lists eight and "3 more"."""
    (found,) = findings(world(placement=THERE), CODE, OFF)
    assert (found.severity, found.provider_uuid) == (Severity.ERROR, ROOT_UUID)
    assert found.actual.startswith(
        f"report_in_placement is false, and the agent keeps 11 PCI providers in the tree: {NODE}_0000:81:00.0, "
    )
    assert found.actual.endswith(" and 3 more")
    assert dict(found.facts) == {"providers": 11}


def test_remaining_pci_providers_are_reported_without_libvirt():
    """If report_in_placement is false, PCI providers in Placement are reported even if libvirt could not be read."""
    assert findings(without(world(placement=THERE), LIBVIRT), CODE, OFF)


def test_no_finding_if_no_pci_providers_remain():
    """If Placement has no PCI providers of this host, report_in_placement = false causes no finding."""
    assert findings(world(device("0000:81:00.0"), placement=tree()), CODE, OFF) == ()
    assert findings(world(placement=THERE), CODE, pci_settings()) == ()
    assert findings(without(world(placement=THERE), PLACEMENT), CODE, OFF) == ()
    other = child("0000:81:00.0", traits=frozenset())
    assert findings(world(placement=tree(other)), CODE, OFF) == ()
