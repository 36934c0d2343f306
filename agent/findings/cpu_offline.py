"""cpu-offline: a configured CPU set names CPUs that are not online (scenarios 77, 79).

nova-compute's whole audit fails then; here VCPU and PCPU alone stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.findings.base import Rule, World
from agent.model.cpuset import render_cpu_list
from agent.model.finding import Finding, Severity
from agent.resources.cpus import OfflineCpus, offline_cpus


def _find(world: World) -> Iterable[Finding]:
    host = world.snapshot.host.value
    for missing in offline_cpus(host, world.settings) if host else ():
        yield _finding(world, missing)


def _finding(world: World, missing: OfflineCpus) -> Finding:
    listed = render_cpu_list(missing.cpu_ids)
    return RULE.finding(
        world,
        subject=missing.option,
        expected=f"all CPUs of {missing.option} are online",
        actual=f"CPUs {listed} are not; VCPU and PCPU stay at what Placement holds",
        facts=(("option", missing.option), ("cpus", listed)),
        remedy=RULE.remedy.replace("CPUS", listed),
    )


RULE = Rule(
    code="cpu-offline",
    severity=Severity.ERROR,
    remedy="bring the CPUs online (chcpu -e CPUS), or take them out of the option and reload the agent (SIGHUP)",
    find=_find,
)
