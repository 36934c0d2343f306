"""provider-name-conflict: another provider in Placement has this node's name, so the agent writes nothing."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import by_hand, inspect, line, show_provider
from agent.model.finding import Remedy, Severity
from agent.model.placement import Provider
from agent.model.settings import Role
from agent.model.snapshot import PLACEMENT
from agent.text.headline import short_name


def _find(audit: AuditFacts) -> Findings:
    holder = audit.view.name_holder if audit.view else None
    if holder is None:
        return
    yield RULE.finding(
        audit,
        headline=f"{short_name(holder.name)}: provider {holder.uuid} has this name already; the agent writes nothing",
        provider_uuid=holder.uuid,
        expected=f"provider {holder.name} has the uuid of this host, {audit.root_uuid}",
        actual=f"provider {holder.name} has another uuid: {holder.uuid}",
        facts=(("provider_name", holder.name),),
        remedies=_remedies(audit, holder),
    )


def _remedies(audit: AuditFacts, holder: Provider) -> tuple[Remedy, ...]:
    old_uuid = f"if this host was reinstalled, put the old uuid {holder.uuid} back into the compute_id file"
    adopt = inspect(f"{old_uuid}; this command prints the steps", line("stocktake", "adopt"))
    return (
        adopt if audit.settings.role is Role.OWNER else by_hand(old_uuid),
        inspect("see which allocations the other provider has", show_provider(holder.uuid)),
        by_hand("if another host has the same name, rename one of the two hosts"),
    )


RULE = Rule(code="provider-name-conflict", severity=Severity.ERROR, find=_find, rests_on=frozenset({PLACEMENT}))
