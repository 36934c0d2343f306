"""role: refuse in role observer, and in role companion refuse a repair that nova-compute makes itself.

In role companion, nova-compute writes this host's providers. The agent repairs allocations that nova-compute leaves
wrong, but makes no reshape and allocates no PCI devices.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding
from agent.model.settings import Role
from agent.repairs.base import BesideNova


def _refuses(guarded: GuardedFinding) -> str | None:
    role = guarded.scene.settings.role
    if role is Role.OBSERVER:
        return "role observer changes nothing; [agent] role = companion or owner permits repairs"
    if role is Role.COMPANION and guarded.repair is not None and guarded.repair.beside_nova is BesideNova.NOVA_REPAIRS:
        return "heal leaves this repair to nova-compute; the finding's remedy says how to start nova-compute's repair"
    return None


GUARD = Guard(name="role", refuses=_refuses)
