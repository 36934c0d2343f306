"""usage-unlisted: Placement's usage of a class on a provider exceeds the sum of the allocations on that provider."""

from __future__ import annotations

from agent.books.ledger import provider_key
from agent.findings.base import AuditFacts, Findings, Rule, amount_text, claims_of
from agent.findings.base_remedies import by_hand, inspect, line, openstack
from agent.model.finding import Remedy, Severity
from agent.model.report import Verdict
from agent.model.snapshot import PLACEMENT
from agent.text.amounts import with_unit


def _find(audit: AuditFacts) -> Findings:
    view = audit.view
    for usage in view.unlisted if view else ():
        name = usage.resource_class
        used = view.used[usage.provider_uuid, name] if view else 0
        key = provider_key(view, usage.provider_uuid) if view else None
        rows = [
            row
            for row in audit.rows
            if row.verdict is Verdict.USAGE_UNLISTED and (row.provider_key, row.resource_class) == (key, name)
        ]
        yield RULE.finding(
            audit,
            headline=f"{audit.host}: Placement counts {with_unit(name, usage.amount)} as used, and lists no "
            "allocation of this amount",
            provider_uuid=usage.provider_uuid,
            resource_class=name,
            expected=f"the allocations that Placement lists add up to Placement's usage: {amount_text(name, used)}",
            actual=f"the listed allocations add up to {amount_text(name, used - usage.amount)}; "
            f"no listed consumer has the other {amount_text(name, usage.amount)}",
            evidence=claims_of(rows),
            facts=(("used", used), ("listed", used - usage.amount), ("unlisted", usage.amount)),
            rests_on_recorded=True,
            remedies=_remedies(usage.provider_uuid),
        )


def _remedies(provider: str) -> tuple[Remedy, ...]:
    return (
        inspect("see the usage that Placement counts", openstack("resource", "provider", "usage", "show", provider)),
        by_hand(_CREATE, line("placement-manage", "db", "online_data_migrations")),
    )


_CREATE = (
    "on a host with placement.conf, create the missing consumer records; Placement then lists the allocations with "
    "their consumers"
)

RULE = Rule(code="usage-unlisted", severity=Severity.WARNING, find=_find, rests_on=frozenset({PLACEMENT}))
