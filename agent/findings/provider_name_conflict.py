"""provider-name-conflict: another provider in Placement has this node's name, so the agent writes nothing."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.model.finding import Severity
from agent.model.settings import Role


def _find(audit: AuditFacts) -> Findings:
    holder = audit.view.name_holder if audit.view else None
    if holder is None:
        return
    yield RULE.finding(
        audit,
        provider_uuid=holder.uuid,
        expected=f"provider {holder.name} has the uuid of this host, {audit.root_uuid}",
        actual=f"provider {holder.name} has another uuid: {holder.uuid}",
        facts=(("provider_name", holder.name),),
        remedy=RULE.remedy if audit.settings.role is Role.OWNER else f"{_REINSTALLED}; {_SAME_NAME}",
    )


_REINSTALLED = "if this host was reinstalled, put the old uuid back into the compute_id file"
_SAME_NAME = "if another host has the same name, rename one of the two hosts"


RULE = Rule(
    code="provider-name-conflict",
    severity=Severity.ERROR,
    remedy=f"{_REINSTALLED} (stocktake adopt does this); {_SAME_NAME}",
    find=_find,
)
