"""pci-spec-unmatched: an entry of ``[pci] device_spec`` matches no device.

nova-compute does not report this mistake. Usually a card moved to another slot and its address changed, or the virtual
functions were not created after a boot. Another cause: a device belongs to the first entry that matches it, so earlier
entries can take all devices that a later entry matches.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_pci import listed, view_of
from agent.findings.base_remedies import by_hand, inspect, reload_agent, virsh
from agent.model.finding import Severity
from agent.model.host.device_match import IdleSpec, idle
from agent.model.snapshot import LIBVIRT


def _find(audit: AuditFacts) -> Findings:
    host = audit.snapshot.host.value
    if host is None or host.devices is None or view_of(audit) is None:
        return
    for one in idle(host.devices.pci, audit.settings.pci.specs):
        yield RULE.finding(
            audit,
            headline=f"{audit.host}: entry {one.position} of [pci] device_spec selects no PCI device: {one.spec.text}",
            subject=f"{one.position}: {one.spec.text}",
            expected=f"at least one device of this host matches [pci] device_spec = {one.spec.text}",
            actual=_actual(one, len(host.devices.pci)),
            facts=(("device_spec", one.spec.text), ("devices_taken", len(one.taken))),
            remedies=(
                inspect("compare the entry with the host's PCI devices", virsh(audit, "nodedev-list", "--cap", "pci")),
                by_hand(_CORRECT),
                reload_agent("then let the agent read the option again"),
            ),
        )


def _actual(one: IdleSpec, devices: int) -> str:
    if not one.taken:
        return f"none of the {devices} PCI devices that libvirt lists matches this entry"
    return f"all devices that match this entry belong to earlier entries: {listed(one.taken)}"


_CORRECT = (
    "if the card moved to another slot, correct the entry; if the card's virtual functions are missing, create them; "
    "if an earlier entry matches the same devices, put this entry before the earlier entry"
)

RULE = Rule(code="pci-spec-unmatched", severity=Severity.WARNING, find=_find, rests_on=frozenset({LIBVIRT}))
