"""identity-changed: the provider uuid of this host, its hypervisor name and the cloud's records contradict each other.

agent/provider_tree/identity_doubt.py decides which contradictions stop all writes (``Doubt.stops_writes``).
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.model.finding import Severity
from agent.model.settings import Role


def _find(audit: AuditFacts) -> Findings:
    for doubt in audit.doubts:
        yield RULE.finding(
            audit, subject=doubt.actual, expected=doubt.expected, actual=doubt.actual, remedy=_remedy(audit)
        )


def _remedy(audit: AuditFacts) -> str:
    return RULE.remedy if audit.settings.role is Role.OWNER else f"{_RENAMED}; {_CLONED}; {_REINSTALLED}; {_OTHER}"


_RENAMED = "if the host was renamed, restore the old name"
_CLONED = "if its disk was cloned, remove the copied compute_id file"
_REINSTALLED = "if it was reinstalled, write the provider's old uuid into nova's compute_id file"
_OTHER = (
    "if [DEFAULT] host is misspelt, correct it, and remove a compute_id file made under that name; "
    "if [state] names a wrong database, correct [state]; if the database was restored, use a later backup"
)


RULE = Rule(
    code="identity-changed",
    severity=Severity.ERROR,
    remedy=f"{_RENAMED}, or see what stocktake adopt would do; {_CLONED}; if it was reinstalled, run stocktake adopt; "
    f"{_OTHER}",
    find=_find,
)
