"""identity-changed: the provider uuid of this host, its hypervisor name and the cloud's records contradict each other.

agent/provider_tree/identity_doubt.py decides which contradictions stop all writes (``Doubt.stops_writes``).
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.model.finding import Severity


def _find(audit: AuditFacts) -> Findings:
    for doubt in audit.doubts:
        yield RULE.finding(audit, subject=doubt.actual, expected=doubt.expected, actual=doubt.actual)


RULE = Rule(
    code="identity-changed",
    severity=Severity.ERROR,
    remedy="if the host was renamed, restore the old name, or see what stocktake adopt would do; "
    "if its disk was cloned, remove the copied compute_id file; if it was reinstalled, run stocktake adopt; "
    "if [DEFAULT] host is misspelt, correct it, and remove a compute_id file made under that name; "
    "if [state] names a wrong database, correct [state]; if the database was restored, use a later backup",
    find=_find,
)
