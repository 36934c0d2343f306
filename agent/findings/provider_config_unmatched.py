"""provider-config-unmatched: an entry of a provider.yaml file is for a provider that does not exist (scenario 136).

Another service may create a child provider later. Then the agent applies the entry, and the finding ends.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.model.finding import Severity


def _find(audit: AuditFacts) -> Findings:
    for problem in audit.tree.entry_problems if audit.tree else ():
        if problem.is_absent:
            yield RULE.finding(
                audit,
                subject=" ".join(problem.origins),
                expected="each entry of a provider.yaml file names a provider of this host",
                actual=f"{' and '.join(problem.origins)}: {problem.why}; "
                "the agent applies the entry once the provider exists",
            )


RULE = Rule(
    code="provider-config-unmatched",
    severity=Severity.WARNING,
    remedy="correct the uuid or name in the file and reload the agent (SIGHUP); "
    "no action if another service creates the provider later",
    find=_find,
)
