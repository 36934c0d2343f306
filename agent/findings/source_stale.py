"""source-stale: the source of the cloud's state answered, but nothing proves that its answer is current."""

from __future__ import annotations

from agent.errors import SourceStale
from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_sources import consequence, frozen
from agent.model.finding import Severity


def _find(audit: AuditFacts) -> Findings:
    for reading in audit.snapshot.readings:
        if isinstance(reading.error, SourceStale):
            yield RULE.finding(
                audit,
                subject=reading.source,
                expected="an answer that is proven to be current",
                actual=f"{reading.error}; {consequence(reading.source, audit)}",
                facts=(("frozen", frozen(reading.source, audit)),),
            )


RULE = Rule(
    code="source-stale",
    severity=Severity.ERROR,
    remedy="check whether the database of [state] connection, or of nova-conductor, is a replica that lags or stopped; "
    "whether nova-conductor runs (`openstack compute service list`); and whether the clocks agree (`chronyc tracking`)",
    find=_find,
)
