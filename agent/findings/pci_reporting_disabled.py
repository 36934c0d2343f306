"""pci-reporting-disabled: ``[pci] report_in_placement`` is off, and Placement still has providers of PCI devices.

Turning the option off cannot remove these providers: instances have allocations on them, and the scheduler keeps
placing by them. nova-compute does not start in this case. The agent leaves these providers alone and publishes
everything else.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.findings.base import AuditFacts, Rule
from agent.model.finding import Finding, Severity
from agent.nested.pci_view import managed

_SHOWN = 8


def _find(audit: AuditFacts) -> Iterable[Finding]:
    left = managed(audit.view)
    if audit.settings.pci.report_in_placement or not left:
        return
    names = sorted(provider.name for provider in left)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    yield RULE.finding(
        audit,
        expected="[pci] report_in_placement = true, as when these providers were made; "
        "or no provider with COMPUTE_MANAGED_PCI_DEVICE in this host's tree",
        actual=f"report_in_placement is false, and {len(names)} such providers are left as they are: "
        f"{', '.join(names[:_SHOWN])}{more}",
        facts=(("providers", len(names)),),
    )


RULE = Rule(
    code="pci-reporting-disabled",
    severity=Severity.ERROR,
    remedy="set [pci] report_in_placement = true again; to remove the providers, take the devices out of [pci] "
    "device_spec while it is true, and turn it off when they are gone",
    find=_find,
)
