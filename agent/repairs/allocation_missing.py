"""allocation-missing: allocate the promised amounts to an instance of this host that has no allocation (scenario 161).

The instance must have no task and no move in progress. The repair allocates only what the flavor alone determines. The
repair cannot know what the scheduler chose: child providers, device profiles and ports. nova's own command
heal_allocations cannot restore all of these choices either. Placement rejects an allocation that exceeds the free
capacity.
"""

from __future__ import annotations

import re
from dataclasses import replace

from agent.model.compared import Row
from agent.model.finding import SeenFinding
from agent.model.heal import HealAction
from agent.model.nova import Instance
from agent.model.placement import ROOT, ConsumerRecord
from agent.model.report import Verdict
from agent.repairs.base import (
    AT_REST,
    THREE_BOOKS,
    BesideNova,
    Declined,
    Repair,
    Scene,
    allocations_of,
    amounts_text,
    healing,
    not_offered,
    rewritten,
)
from agent.repairs.base_cpus import cpus_unclear

# Extra specs that ask for more than the flavor's vcpus, ram and disk (nova/scheduler/utils.py:ResourceRequest).
_BEYOND_NUMBERS = re.compile(
    r"resources(?!:(VCPU|PCPU|MEMORY_MB|DISK_GB)\Z).+|accel:.*|pci_passthrough:alias|hw:mem_encryption"
)


def _propose(scene: Scene, seen: SeenFinding, record: ConsumerRecord) -> HealAction | Declined:
    rows = scene.rows_of(record.consumer_uuid, Verdict.ALLOCATION_MISSING)
    problem = _problem(scene, rows, record)
    if problem is not None:
        return Declined(why=problem)
    instance, root_uuid = rows[0].instance, scene.subject.root_uuid or ""
    if instance is None or instance.project_id is None or instance.user_id is None:
        return Declined(why="the agent did not find the instance's project and user in nova's database")
    promised = allocations_of(record, {(root_uuid, row.resource_class): row.promised for row in rows if row.promised})
    write = replace(rewritten(record, promised), project_id=instance.project_id, user_id=instance.user_id)
    who = f"instance {instance.uuid} ({instance.name})"
    why = f"{who} is on this host without an allocation, so {amounts_text(promised)} are added"
    return healing(seen, record, write, why)


def _problem(scene: Scene, rows: tuple[Row, ...], record: ConsumerRecord) -> str | None:
    state = scene.snapshot.nova.value
    if state is None or not state.kind.has_cloud:
        return "the agent works without a cloud, so no flavor says what to allocate"
    if record.allocations:
        return f"the instance has {amounts_text(record.allocations)} allocated now, on this or another host"
    if not rows or rows[0].instance is None:
        return "the consumer is not an instance on this host, or nova is changing the instance"
    instance = rows[0].instance
    if any(m.instance_uuid == instance.uuid and m.in_progress for m in state.migrations):
        return "a migration of the instance is in progress or has failed"
    return _unfit(instance) or cpus_unclear(scene, instance, rows) or _unclear(scene, rows)


def _unfit(instance: Instance) -> str | None:
    if instance.task_state is not None or instance.vm_state not in AT_REST:
        return (
            f"nova may be changing the instance now: vm_state {instance.vm_state}, task {instance.task_state or 'none'}"
        )
    specs = instance.flavor.extra_specs if instance.flavor else ()
    beyond = sorted(name for name, _ in specs if _BEYOND_NUMBERS.fullmatch(name))
    return f"the flavor asks for more than VCPU, PCPU, MEMORY_MB and DISK_GB ({', '.join(beyond)})" if beyond else None


def _unclear(scene: Scene, rows: tuple[Row, ...]) -> str | None:
    """Return a reason to decline, or None. The repair may allocate only if three conditions hold.

    First, Placement has none of the amounts that the instance was promised. Second, none of these amounts belongs on a
    child provider. Third, the root provider offers the class of every amount.
    """
    others = [row for row in scene.rows if row.key == rows[0].key and row not in rows]
    if others:
        classes = ", ".join(row.resource_class for row in others)
        return f"perhaps only a part of the allocation is missing: the verdict for {classes} is not allocation-missing"
    if any(row.provider_key != ROOT for row in rows):
        return "part of the allocation belongs on a child provider"
    return not_offered(scene, rows)


REPAIR = Repair(code="allocation-missing", beside_nova=BesideNova.AGENT, needs=THREE_BOOKS, propose=_propose)
