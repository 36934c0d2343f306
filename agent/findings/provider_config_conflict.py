"""provider-config-conflict: an entry of a provider.yaml file cannot be applied.

If the files alone show an error, the agent does not start (exit code 78). This finding reports the errors that only an
audit can find: two entries for the same provider, or an entry for a resource class whose inventory the agent itself
decides (scenarios 130, 132). With such entries, each resource audit of nova-compute would fail.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import by_hand, reload_agent
from agent.model.finding import Severity
from agent.model.snapshot import LIBVIRT, PLACEMENT


def _find(audit: AuditFacts) -> Findings:
    for problem in audit.tree.entry_problems if audit.tree else ():
        if problem.is_absent:
            continue
        yield RULE.finding(
            audit,
            headline=f"{audit.host}: the agent cannot apply {' and '.join(problem.origins)}: {problem.why}",
            provider_uuid=problem.provider_uuid,
            subject=" ".join(problem.origins),
            expected="each provider has at most one provider.yaml entry, and no entry has a resource class that the "
            "agent itself reports",
            actual=f"{' and '.join(problem.origins)}: {problem.why}; the agent applies nothing from this entry",
            remedies=(
                by_hand(f"correct {' or '.join(problem.origins)}"),
                reload_agent("then let the agent read the file again"),
            ),
        )


RULE = Rule(
    code="provider-config-conflict", severity=Severity.ERROR, find=_find, rests_on=frozenset({PLACEMENT, LIBVIRT})
)
