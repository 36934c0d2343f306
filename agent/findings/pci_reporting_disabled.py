"""pci-reporting-disabled: ``[pci] report_in_placement`` is off, and Placement still has providers of PCI devices.

nova-compute does not start in this case. The agent does not change these providers, because instances may have
allocations on them and the scheduler still uses them. The agent publishes everything else.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_pci import listed
from agent.findings.base_remedies import by_hand, reload_agent
from agent.model.finding import Severity
from agent.model.snapshot import PLACEMENT
from agent.nested.pci_view import managed


def _find(audit: AuditFacts) -> Findings:
    left = managed(audit.view)
    if audit.settings.pci.report_in_placement or not left:
        return
    yield RULE.finding(
        audit,
        headline=f"{audit.host}: [pci] report_in_placement is off, but Placement has {len(left)} providers of its "
        "PCI devices",
        expected="either [pci] report_in_placement = true, "
        "or no provider with trait COMPUTE_MANAGED_PCI_DEVICE in this host's tree",
        actual=f"report_in_placement is false, and the agent keeps {len(left)} PCI providers in the tree: "
        f"{listed(sorted(provider.name for provider in left))}",
        facts=(("providers", len(left)),),
        remedies=(
            by_hand("set [pci] report_in_placement = true again"),
            reload_agent("let the agent read the option again"),
            by_hand(
                "to remove the providers: keep report_in_placement = true, take the devices out of [pci] device_spec, "
                "wait until the providers are gone, then set report_in_placement = false"
            ),
        ),
    )


RULE = Rule(code="pci-reporting-disabled", severity=Severity.ERROR, find=_find, rests_on=frozenset({PLACEMENT}))
