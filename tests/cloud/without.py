"""Leave out one guard of heal, so that a run shows what the guard prevents.

Most guards protect against what a cloud or an operator does, and lives contain that. ``own-part`` protects against a
mistake in a repair, so a run without this guard has such a mistake: with the guard it does no harm.
"""

from __future__ import annotations

import dataclasses

from agent.healing import daemon_heal, plan
from agent.model.finding import SeenFinding
from agent.model.heal import HealAction
from agent.model.placement import ConsumerRecord
from agent.model.settings import Role
from agent.repairs.base import Declined, Repair, Scene
from tests.cloud import episode

GUARDS = tuple(guard.name for guard in plan.BEFORE + plan.AFTER)
# These guards judge in one role only; in the other role they can refuse nothing.
IDLE = {
    Role.OWNER: frozenset({"after-nova", "allocation-steady", "nova-at-work", "nova-started"}),
    Role.COMPANION: frozenset({"no-rival"}),
}
OWN_PART = "own-part"
CONFIRMED = "confirmed"


def leave_out(names: str) -> None:
    """Leave out that guard, or several guards with commas between their names, in this process."""
    left_out = frozenset(names.split(","))
    if unknown := left_out.difference(GUARDS):
        raise SystemExit(f"no guard of heal is named {', '.join(unknown)}; the guards: {', '.join(GUARDS)}")
    if OWN_PART in left_out:
        mistake()
    if CONFIRMED in left_out:
        # A shortcut of the daemon that has the guard's condition.
        daemon_heal.may_change = lambda _found, _settings: True
    plan.BEFORE = tuple(guard for guard in plan.BEFORE if guard.name not in left_out)
    plan.AFTER = tuple(guard for guard in plan.AFTER if guard.name not in left_out)


def mistake() -> None:
    """Make each repair also remove what the consumer has on other hosts, in this process."""
    plan.BY_CODE = {
        code: dataclasses.replace(repair, propose=_greedy(repair)) if isinstance(repair, Repair) else repair
        for code, repair in plan.BY_CODE.items()
    }
    # The guard refuses these repairs, so leaks stay.
    episode.check_healed = lambda _cloud, _host, _findings: None


def _greedy(repair: Repair):
    def propose(scene: Scene, seen: SeenFinding, record: ConsumerRecord) -> HealAction | Declined:
        found = repair.propose(scene, seen, record)
        if isinstance(found, Declined):
            return found
        kept = tuple(each for each in found.write.allocations if each.provider_uuid in scene.tree)
        return dataclasses.replace(found, write=dataclasses.replace(found.write, allocations=kept))

    return propose
