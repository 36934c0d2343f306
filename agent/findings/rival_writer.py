"""rival-writer: another program owns this host's root provider, so the agent does not write it."""

from __future__ import annotations

from collections.abc import Iterable

from agent.findings.base import AuditFacts, Rule
from agent.model.finding import Finding, Severity
from agent.model.settings import Role


def _find(world: AuditFacts) -> Iterable[Finding]:
    # An observer writes nothing, so it has no rival. Role observer is the remedy beside a nova-compute.
    if world.rival is None or world.settings.role is Role.OBSERVER:
        return
    yield RULE.finding(
        world,
        expected="this agent alone writes the root provider",
        actual=world.rival.why,
        remedy=world.rival.remedy,
    )


RULE = Rule(
    code="rival-writer",
    severity=Severity.ERROR,
    remedy="stop the other writer, or leave the provider to it: [agent] role = observer",
    find=_find,
)
