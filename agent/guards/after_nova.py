"""after-nova: in role companion, wait until nova-compute has had time to repair the finding itself.

nova-compute removes the allocations of deleted instances that it finds in its cell's database
(nova/compute/resource_tracker.py:_remove_deleted_instances_allocations). The guard refuses for ``nova_audits_s``
seconds after the evidence was first seen (0 means no wait). In this time nova-compute makes three audits. If the
allocation still exists afterwards, the removal failed, or nova-compute does not see the deleted instance (its row is
archived or in another cell).
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding, Wait, beside_nova
from agent.repairs.base import BesideNova


@beside_nova
def _refuses(guarded: GuardedFinding) -> str | None:
    if guarded.repair is None or guarded.repair.beside_nova is not BesideNova.AFTER_NOVA:
        return None
    wanted = guarded.scene.settings.heal.nova_audits_s
    if wanted == 0 or wanted <= guarded.age_s:
        return None
    return (
        f"nova-compute may repair this itself within {wanted:.0f} s (three of its audits); the evidence was first seen "
        f"{guarded.age_s:.0f} s ago"
    )


def _waits(guarded: GuardedFinding) -> Wait | None:
    return Wait(guarded.scene.settings.heal.nova_audits_s - guarded.age_s)


GUARD = Guard(name="after-nova", refuses=_refuses, waits=_waits)
