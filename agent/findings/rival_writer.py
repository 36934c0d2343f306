"""rival-writer: another program owns this host's root provider, so the agent does not change the provider."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.model.finding import OVERWROTE, Severity
from agent.model.settings import Role


def _find(audit: AuditFacts) -> Findings:
    # In role observer the agent writes nothing, so no other writer disturbs it. The remedy below may propose this role.
    if audit.rival is None or audit.settings.role is Role.OBSERVER:
        return
    yield RULE.finding(
        audit,
        expected="this agent alone writes the root provider",
        actual=audit.rival.why,
        facts=((OVERWROTE, audit.rival.overwrote),),
        remedy=audit.rival.remedy,
    )


RULE = Rule(
    code="rival-writer",
    severity=Severity.ERROR,
    remedy="stop the other program that writes the provider, or set [agent] role = observer for this agent",
    find=_find,
)
