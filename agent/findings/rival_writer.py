"""rival-writer: another program owns this host's root provider, so the agent does not change the provider."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import inspect, line, openstack
from agent.model.finding import OVERWROTE, Remedy, Severity
from agent.model.settings import Role
from agent.model.snapshot import PLACEMENT, STATE
from agent.provider_tree.rival import Rival


def _find(audit: AuditFacts) -> Findings:
    # In role observer the agent writes nothing, so another writer causes no conflict, and there is no finding. For the
    # same reason some remedies propose this role.
    if audit.rival is None or audit.settings.role is Role.OBSERVER:
        return
    yield RULE.finding(
        audit,
        headline=f"{audit.host}: the agent does not change this host's root provider: {audit.rival.why}",
        expected="only this agent writes the root provider",
        actual=audit.rival.why,
        facts=((OVERWROTE, audit.rival.overwrote),),
        remedies=_remedies(audit, audit.rival),
    )


def _remedies(audit: AuditFacts, rival: Rival) -> tuple[Remedy, ...]:
    services = openstack("compute", "service", "list", "--host", audit.host, "--service", "nova-compute")
    return (
        inspect(
            "see whether nova-compute runs on this host", line("systemctl", "list-units", "--all", "*nova-compute*")
        ),
        inspect("see whether nova has a recent heartbeat of this nova-compute", services),
        Remedy(kind=rival.kind, words=rival.remedy),
    )


RULE = Rule(code="rival-writer", severity=Severity.ERROR, find=_find, rests_on=frozenset({PLACEMENT, STATE}))
