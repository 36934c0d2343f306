"""companion-leftover: empty a consumer that role companion made here and no longer keeps.

Ours by its uuid, which follows from our root's; its type is named in the write, since
it was made with one.
"""

from __future__ import annotations

import dataclasses

from agent.model.finding import SeenFinding
from agent.model.heal import HealAction
from agent.model.own_consumers import OWN_TYPE, own_consumers
from agent.model.placement import ConsumerRecord
from agent.model.snapshot import PLACEMENT
from agent.repairs.base import Declined, Repair, Scene, Whose, without_our_part


def _propose(scene: Scene, seen: SeenFinding, record: ConsumerRecord) -> HealAction | Declined:
    if record.consumer_uuid not in own_consumers(scene.subject.root_uuid):
        return Declined(why="its uuid is none that this host's agent gives")
    if record.consumer_type not in (OWN_TYPE, None):
        return Declined(why=f"its type is {record.consumer_type}, not {OWN_TYPE}")
    action = without_our_part(scene, seen, record, "this host's agent keeps it no longer")
    if isinstance(action, Declined) or record.consumer_type is None:
        return action
    return dataclasses.replace(action, write=dataclasses.replace(action.write, consumer_type=OWN_TYPE))


REPAIR = Repair(code="companion-leftover", whose=Whose.OURS, needs=frozenset({PLACEMENT}), propose=_propose)
