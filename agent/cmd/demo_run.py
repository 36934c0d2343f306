"""Run the demo: audit the demo's cloud with the agent's own code, and collect the results.

The agent's own wiring and ``run_audit`` do the work. The demo only simulates the cloud that this code audits. The agent
audits the first host before the demo schedules guests there, because this audit writes the host's inventory, and
Placement allocates nothing without an inventory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from agent.cmd.demo_agent import agent_of, lvm_sees
from agent.demo import cast, cloud, story_world
from agent.demo.cast import HOSTS
from agent.demo.cloud import DemoCloud
from agent.demo.outcome import DemoRun, HostRun
from agent.demo.recorded_group import RecordedGroup
from agent.demo.stories import Seen, stories
from agent.model.report import AuditReport

# The demo prints this text, because most real hosts are different: they run nova-compute, and the agent has role
# companion.
_NO_NOVA_COMPUTE = (
    "nova-compute: not in the demo, so both agents have role owner and write the inventories themselves. "
    "Beside a running nova-compute, the role is companion, and nova-compute writes the inventory."
)


def run(built: DemoCloud, progress: Callable[[str], None]) -> DemoRun:
    """Audit both hosts until each finding is confirmed; return what the demo prints.

    The demo also repairs the fault of its first story, and then undoes the repair.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(lvm_sees(built))
        agents = {host.name: stack.enter_context(agent_of(built, host)) for host in HOSTS}
        first, second = (agents[host.name] for host in HOSTS)
        progress(f"the agent on {cast.FIRST.name} runs its first audit and writes its inventory to Placement")
        first.audit()
        story_world.schedule_first_host(built)
        for host in HOSTS:
            progress(f"the agent on {host.name} runs two more audits, so that its findings are confirmed")
            agents[host.name].audit()
            agents[host.name].audit()
        progress(
            f"the agent on {cast.FIRST.name} removes the leaked allocation of story 1, and the operator undoes this "
            "repair"
        )
        runs = tuple(HostRun(name=h.name, report=agents[h.name].last(), holds=agents[h.name].holds()) for h in HOSTS)
        seen = Seen(
            first=first.last(),
            second=second.last(),
            first_holds=runs[0].holds,
            second_holds=runs[1].holds,
            offered_for_asked=cloud.candidates(built, cast.ASKED_VCPUS),
            offered_for_max_unit=cloud.candidates(built, cast.FIRST.cpus),
            answer=first.answer(cast.ASKED_VCPUS),
            repair=first.repaired("allocation-stale-move", cast.EVACUATED.uuid),
        )
    return DemoRun(stories=stories(seen), hosts=runs, simulated=_simulated(built, seen.first))


def _simulated(built: DemoCloud, report: AuditReport) -> tuple[str, ...]:
    recorded = (f"volume group {g.name}: {g.description}" for g in built.groups if isinstance(g, RecordedGroup))
    return (*report.simulated, _NO_NOVA_COMPUTE, *recorded)
