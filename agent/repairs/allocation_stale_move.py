"""allocation-stale-move: remove a consumer's allocations on this host if its instance has moved away.

The repair does not change the migration's row, because the row belongs to nova, and heal changes only Placement
(scenarios 57 and 58).
"""

from __future__ import annotations

from agent.model.compared import Row
from agent.model.finding import SeenFinding
from agent.model.heal import HealAction
from agent.model.placement import ConsumerRecord
from agent.model.report import Verdict
from agent.repairs.base import THREE_BOOKS, BesideNova, Declined, Repair, Scene, without_own_part


def _propose(scene: Scene, seen: SeenFinding, record: ConsumerRecord) -> HealAction | Declined:
    rows = scene.rows_of(record.consumer_uuid, Verdict.ALLOCATION_STALE_MOVE)
    if not rows:
        return Declined(why="the consumer's allocation is not left over from a finished move")
    return without_own_part(scene, seen, record, _because(rows[0]))


def _because(row: Row) -> str:
    if row.migration is not None:
        return f"migration {row.key} has the status {row.migration.status}"
    where = row.instance.host if row.instance else None
    name = f" ({row.consumer_name})" if row.consumer_name else ""
    return f"instance {row.key}{name} lives on {where}" if where else f"instance {row.key}{name} is on no host"


REPAIR = Repair(code="allocation-stale-move", beside_nova=BesideNova.AGENT, needs=THREE_BOOKS, propose=_propose)
