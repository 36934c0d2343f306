"""cpu-offline: a configured CPU set names CPUs that are not online, or that the host does not have (scenarios 77, 79).

In this case nova-compute's whole audit fails. This agent leaves VCPU and PCPU unchanged and publishes everything else.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.model.finding import Severity
from agent.model.host.cpuset import render_cpu_list
from agent.resources.cpus import MissingCpus, missing_cpus, what_is_missing


def _find(audit: AuditFacts) -> Findings:
    host = audit.snapshot.host.value
    if host is None:
        return
    for missing in missing_cpus(host, audit.settings):
        offline, absent = render_cpu_list(missing.offline), render_cpu_list(missing.absent)
        yield RULE.finding(
            audit,
            subject=missing.option,
            expected=f"all CPUs of {missing.option} are online",
            actual=f"the option names {what_is_missing(missing, host)}; the agent leaves VCPU and PCPU as they are",
            facts=(("option", missing.option), ("offline", offline), ("absent", absent)),
            remedy=_remedy(missing, offline, absent),
        )


def _remedy(missing: MissingCpus, offline: str, absent: str) -> str:
    """Return the remedy. The operator cannot bring absent CPUs online, and must remove them from the option."""
    if not missing.absent:
        return RULE.remedy.replace("CPUS", offline)
    corrected = f"correct {missing.option}: take out CPUs {absent}, and reload the agent (SIGHUP)"
    return (
        f"{corrected}; bring CPUs {offline} online (chcpu -e {offline}) or take them out, too" if offline else corrected
    )


RULE = Rule(
    code="cpu-offline",
    severity=Severity.ERROR,
    remedy="bring the CPUs online (chcpu -e CPUS), or take them out of the option and reload the agent (SIGHUP)",
    find=_find,
)
