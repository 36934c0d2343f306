"""consumer-project-differs: give the consumer its instance's project and user, and keep its amounts (scenario 162)."""

from __future__ import annotations

import dataclasses

from agent.model.finding import SeenFinding
from agent.model.heal import HealAction
from agent.model.nova import Instance
from agent.model.placement import ConsumerRecord
from agent.repairs.base import THREE_BOOKS, BesideNova, Declined, Repair, Scene, healing, rewritten


def _propose(scene: Scene, seen: SeenFinding, record: ConsumerRecord) -> HealAction | Declined:
    instance = _instance(scene, record.consumer_uuid)
    if instance is None or instance.project_id is None or instance.user_id is None:
        return Declined(why="the agent did not find the instance's project and user in nova's database")
    if instance.deleted or instance.host != scene.settings.host or instance.task_state is not None:
        return Declined(why="the instance is deleted, is on another host, or has a task in nova")
    if not record.allocations:
        return Declined(why="the consumer has no allocation any more")
    if (record.project_id, record.user_id) == (instance.project_id, instance.user_id):
        return Declined(why="the consumer has the instance's own project and user by now")
    write = dataclasses.replace(
        rewritten(record, record.allocations), project_id=instance.project_id, user_id=instance.user_id
    )
    why = (
        f"instance {instance.uuid} ({instance.name}) belongs to project {instance.project_id} and user "
        f"{instance.user_id}, but Placement has project {record.project_id} and user {record.user_id}; the allocated "
        "amounts stay"
    )
    return healing(seen, record, write, why)


def _instance(scene: Scene, consumer_uuid: str) -> Instance | None:
    """Return the instance with this uuid, or the instance of the migration with this uuid; None if there is neither."""
    state = scene.snapshot.nova.value
    if state is None:
        return None
    moves = {m.uuid: m.instance_uuid for m in state.migrations}
    wanted = moves.get(consumer_uuid, consumer_uuid)
    return next((i for i in state.instances if i.uuid == wanted), None)


REPAIR = Repair(code="consumer-project-differs", beside_nova=BesideNova.AGENT, needs=THREE_BOOKS, propose=_propose)
