"""allocation-stale-move: take this host's part from a consumer whose instance has moved away.

The migration's row stays as it is: it is nova's, and what heal changes is Placement's
alone (scenarios 57 and 58).
"""

from __future__ import annotations

from agent.model.compared import Row
from agent.model.finding import SeenFinding
from agent.model.heal import HealAction
from agent.model.placement import ConsumerRecord
from agent.model.report import Verdict
from agent.repairs.base import THREE_BOOKS, Declined, Repair, Scene, without_our_part


def _propose(scene: Scene, seen: SeenFinding, record: ConsumerRecord) -> HealAction | Declined:
    rows = scene.rows_of(record.consumer_uuid, Verdict.ALLOCATION_STALE_MOVE)
    if not rows:
        return Declined(why="no move that is over stands behind it")
    return without_our_part(scene, seen, record, _because(rows[0]))


def _because(row: Row) -> str:
    if row.migration is not None:
        return f"migration {row.key} is {row.migration.status}"
    where = row.instance.host if row.instance else None
    name = f" ({row.consumer_name})" if row.consumer_name else ""
    return f"instance {row.key}{name} " + (f"lives on {where}" if where else "is on no host")


REPAIR = Repair(code="allocation-stale-move", needs=THREE_BOOKS, propose=_propose)
