"""allocation-leaked: remove a consumer's allocations on this host if the consumer's instance is deleted."""

from __future__ import annotations

from agent.model.finding import SeenFinding
from agent.model.heal import HealAction
from agent.model.placement import ConsumerRecord
from agent.model.report import Verdict
from agent.repairs.base import THREE_BOOKS, BesideNova, Declined, Repair, Scene, without_own_part


def _propose(scene: Scene, seen: SeenFinding, record: ConsumerRecord) -> HealAction | Declined:
    rows = scene.rows_of(record.consumer_uuid, Verdict.ALLOCATION_LEAKED)
    instance = rows[0].instance if rows else None
    if instance is None or not instance.deleted or instance.hidden:
        return Declined(why="the consumer's instance is not known to be deleted")
    return without_own_part(scene, seen, record, f"instance {instance.uuid} ({instance.name}) is deleted")


REPAIR = Repair(code="allocation-leaked", beside_nova=BesideNova.AFTER_NOVA, needs=THREE_BOOKS, propose=_propose)
