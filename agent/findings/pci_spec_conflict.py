"""pci-spec-conflict: entries of ``[pci] device_spec`` and this host's devices contradict each other.

nova-compute does not start in this case. The agent leaves the device's provider as it is and publishes the rest of
the host. The finding names the device's address. The finding is about the root provider, because the device's own
provider is not always known.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_pci import listed, view_of
from agent.findings.base_remedies import by_hand, inspect, reload_agent, virsh
from agent.model.finding import Severity
from agent.model.snapshot import LIBVIRT, PLACEMENT
from agent.nested.pci_offers import Conflict


def _find(audit: AuditFacts) -> Findings:
    view = view_of(audit)
    if view is None or not audit.settings.pci.report_in_placement:
        return
    for conflict in view.conflicts:
        provider = view.of(conflict.address) if conflict.address else None
        yield RULE.finding(
            audit,
            headline=f"{audit.host}: [pci] device_spec and the PCI devices contradict each other: {conflict.reason}",
            subject=f"{conflict.address or ''} {conflict.reason}",
            expected="no contradiction between this host's devices and [pci] device_spec = "
            + "; ".join(conflict.specs),
            actual=f"{conflict.reason}: {listed(conflict.devices)}; {_consequence(conflict)}",
            facts=(
                ("address", conflict.address),
                ("device_specs", len(conflict.specs)),
                ("device_provider_uuid", provider.uuid if provider else None),
            ),
            remedies=(
                inspect("see the host's PCI devices", virsh(audit, "nodedev-list", "--cap", "pci")),
                by_hand(_CHANGE),
                reload_agent("then let the agent read the option again"),
            ),
        )


def _consequence(conflict: Conflict) -> str:
    if conflict.address is None:
        return "the agent writes no provider of virtual functions and removes no provider of PCI devices"
    return f"the provider of {conflict.address} is left as it is"


_CHANGE = (
    "move away the instances that use these PCI devices, then change [pci] device_spec: for each device, list the "
    "physical function or the virtual functions, never both; give all virtual functions of a device the same resource "
    "class and traits"
)

RULE = Rule(code="pci-spec-conflict", severity=Severity.ERROR, find=_find, rests_on=frozenset({PLACEMENT, LIBVIRT}))
