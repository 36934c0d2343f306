"""cpu-offline: a configured CPU set names CPUs that are not online, or that the host does not have.

These are scenarios 77 and 79 of docs/contributor/scenarios.md. In both, nova-compute's whole resource update fails.
This agent leaves VCPU and PCPU unchanged and publishes everything else.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import by_hand, inspect, line, reload_agent
from agent.model.finding import Remedy, Severity
from agent.model.host.cpuset import render_cpu_list
from agent.model.snapshot import LIBVIRT
from agent.resources.cpus import MissingCpus, missing_cpus, what_is_missing


def _find(audit: AuditFacts) -> Findings:
    host = audit.snapshot.host.value
    if host is None:
        return
    for missing in missing_cpus(host, audit.settings):
        offline, absent = render_cpu_list(missing.offline), render_cpu_list(missing.absent)
        yield RULE.finding(
            audit,
            headline=f"{audit.host}: {missing.option} lists {what_is_missing(missing, host)}; VCPU and PCPU stay "
            "unchanged",
            subject=missing.option,
            expected=f"all CPUs of {missing.option} are online",
            actual=f"{missing.option} lists {what_is_missing(missing, host)}; the agent leaves VCPU and PCPU unchanged",
            facts=(("option", missing.option), ("offline", offline), ("absent", absent)),
            remedies=_remedies(missing, offline, absent),
        )


def _remedies(missing: MissingCpus, offline: str, absent: str) -> tuple[Remedy, ...]:
    """Return the remedies. Absent CPUs cannot be brought online, so the operator must remove them from the option."""
    look = inspect("see which CPUs the host has", line("lscpu", "--all", "--extended=CPU,NODE,ONLINE"))
    bring = (by_hand("bring the CPUs online", line("chcpu", "-e", offline)),) if offline else ()
    named = f"CPUs {absent}" if absent else f"CPUs {offline}"
    otherwise = "" if absent else "or "
    change = by_hand(f"{otherwise}take {named} out of {missing.option}")
    return (look, *bring, change, reload_agent("then let the agent read the option again"))


RULE = Rule(code="cpu-offline", severity=Severity.ERROR, find=_find, rests_on=frozenset({LIBVIRT}))
