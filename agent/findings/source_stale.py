"""source-stale: the source of the cloud's state answered, but nothing proves that its answer is current."""

from __future__ import annotations

from agent.errors import SourceStale
from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import inspect, line, openstack, wait
from agent.findings.base_sources import consequence, frozen
from agent.model.finding import Severity


def _find(audit: AuditFacts) -> Findings:
    for reading in audit.snapshot.readings:
        if isinstance(reading.error, SourceStale):
            yield RULE.finding(
                audit,
                headline=f"{audit.host}: nothing proves that the answer of source {reading.source} is current",
                subject=reading.source,
                expected="an answer that is proven to be current",
                actual=f"{reading.error}; {consequence(reading.source, audit)}",
                facts=(("frozen", frozen(reading.source, audit)),),
                remedies=_REMEDIES,
            )


_REMEDIES = (
    inspect("see whether nova-conductor and the other nova services are up", openstack("compute", "service", "list")),
    inspect("see whether this host's clock is right", line("chronyc", "tracking")),
    inspect(
        "check whether the agent reads nova's database from a replica, and whether the replica's replication lags or "
        "stopped"
    ),
    wait("the agent reads the source again in each audit"),
)

# The rule does not use what a source answered, only whether the answer is proven to be current. So ``rests_on``, the
# sources that must have been read, is empty: the agent can check this finding in every audit.
RULE = Rule(code="source-stale", severity=Severity.ERROR, find=_find, rests_on=frozenset())
