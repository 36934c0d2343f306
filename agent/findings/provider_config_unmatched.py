"""provider-config-unmatched: an entry of a provider.yaml file is for a provider that does not exist (scenario 136).

Another service may create a child provider later. Then the agent applies the entry, and the finding ends.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import by_hand, inspect, openstack, reload_agent, wait
from agent.model.finding import Severity
from agent.model.snapshot import LIBVIRT, PLACEMENT


def _find(audit: AuditFacts) -> Findings:
    for problem in audit.tree.entry_problems if audit.tree else ():
        if problem.is_absent:
            yield RULE.finding(
                audit,
                headline=f"{audit.host}: {' and '.join(problem.origins)}: {problem.why}",
                subject=" ".join(problem.origins),
                expected="each entry of a provider.yaml file names a provider of this host",
                actual=f"{' and '.join(problem.origins)}: {problem.why}; "
                "the agent applies the entry once the provider exists",
                remedies=(
                    inspect("see which providers this host has", _providers(audit)),
                    by_hand(f"correct the uuid or the name in {' or '.join(problem.origins)}"),
                    reload_agent("then let the agent read the file again"),
                    wait("if another service creates the provider later, no action is needed"),
                ),
            )


def _providers(audit: AuditFacts) -> str | None:
    return openstack("resource", "provider", "list", "--in-tree", audit.root_uuid)


RULE = Rule(
    code="provider-config-unmatched", severity=Severity.WARNING, find=_find, rests_on=frozenset({PLACEMENT, LIBVIRT})
)
