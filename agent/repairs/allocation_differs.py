"""allocation-differs: set the allocation of an instance on this host to the amounts of its flavor (scenario 159).

Only an operator starts this repair: a wrong amount can be a decision that the agent does not know. The repair changes
VCPU, PCPU, MEMORY_MB and DISK_GB on this host's root provider. All other allocations of the consumer stay, because
ports, devices and other services decide about them.
"""

from __future__ import annotations

from agent.model.compared import Row
from agent.model.finding import SeenFinding
from agent.model.heal import HealAction
from agent.model.nova import Instance, NovaState
from agent.model.placement import ROOT, ConsumerRecord
from agent.model.report import Verdict
from agent.repairs.base import (
    AT_REST,
    THREE_BOOKS,
    BesideNova,
    Declined,
    Repair,
    Scene,
    StartedBy,
    allocations_of,
    healing,
    not_offered,
    rewritten,
)
from agent.repairs.base_cpus import cpus_unclear, guest_differs
from agent.text.amounts import with_class

#: The classes that a flavor's vcpus, ram and disk determine (nova/scheduler/utils.py:ResourceRequest).
OF_FLAVOR = frozenset({"VCPU", "PCPU", "MEMORY_MB", "DISK_GB"})


def _propose(scene: Scene, seen: SeenFinding, record: ConsumerRecord) -> HealAction | Declined:
    rows = scene.rows_of(record.consumer_uuid, Verdict.ALLOCATION_DIFFERS)
    instance = rows[0].instance if rows else None
    if instance is None:
        return Declined(why="the instance's allocation matches its flavor by now, or nova is changing the instance")
    problem = _problem(scene, instance, rows) or _not_only_here(scene, record)
    if problem is not None:
        return Declined(why=problem)
    root_uuid = scene.subject.root_uuid or ""
    amounts = {(a.provider_uuid, a.resource_class): a.amount for a in record.allocations}
    wanted = {(root_uuid, row.resource_class): row.promised or 0 for row in rows}
    changed = ", ".join(_change(amounts.get(place, 0), place[1], amount) for place, amount in sorted(wanted.items()))
    after = {place: amount for place, amount in (amounts | wanted).items() if amount}
    why = f"instance {instance.uuid} ({instance.name}) gets what its flavor says: {changed}; its other allocations stay"
    return healing(seen, record, rewritten(record, allocations_of(record, after)), why)


def _problem(scene: Scene, instance: Instance, rows: tuple[Row, ...]) -> str | None:
    state = scene.snapshot.nova.value
    if state is None or not state.kind.has_cloud or instance.flavor is None or instance.problem is not None:
        return "the instance's own flavor could not be read from nova's database"
    if instance.task_state is not None or instance.vm_state not in AT_REST:
        return (
            f"nova may be changing the instance now: vm_state {instance.vm_state}, task {instance.task_state or 'none'}"
        )
    if _moves(state, instance):
        return "a migration or a resize of the instance is in progress or has failed"
    others = sorted({row.resource_class for row in rows} - OF_FLAVOR)
    if others:
        return f"{', '.join(others)} differs too, and this amount does not follow from the flavor's vcpus, ram and disk"
    if any(row.provider_key != ROOT for row in rows):
        return "a child provider has part of the allocation"
    every = [row for row in scene.rows if row.key == rows[0].key]
    return cpus_unclear(scene, instance, every) or guest_differs(rows) or not_offered(scene, rows)


def _moves(state: NovaState, instance: Instance) -> bool:
    is_resized = instance.old_flavor is not None or instance.new_flavor is not None
    return is_resized or any(m.instance_uuid == instance.uuid and m.in_progress for m in state.migrations)


def _not_only_here(scene: Scene, record: ConsumerRecord) -> str | None:
    """Return why the repair must be declined; None if it need not be.

    There are two reasons. Placement reports no project or no user for the consumer. Or the consumer also has an
    allocation on another provider, of a class that flavors request.
    """
    elsewhere = sorted(
        {
            a.provider_uuid
            for a in record.allocations
            if a.resource_class in OF_FLAVOR and a.provider_uuid != scene.subject.root_uuid
        }
    )
    if record.project_id is None or record.user_id is None:
        return "Placement reports no project or no user for this consumer, and a change must contain both"
    if not elsewhere:
        return None
    return f"the instance also has an allocation on provider {', '.join(elsewhere)}, so this host's amount is not known"


def _change(before: int, resource_class: str, after: int) -> str:
    return f"{with_class(resource_class, after)} instead of {before}"


REPAIR = Repair(
    code="allocation-differs",
    beside_nova=BesideNova.AGENT,
    started_by=StartedBy.OPERATOR,
    needs=THREE_BOOKS,
    propose=_propose,
)
