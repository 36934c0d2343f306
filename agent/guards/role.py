"""role: refuse in every role but owner.

In role companion, the audits maintain the agent's own consumers; nova maintains all other consumers.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding
from agent.model.settings import Role


def _refuses(guarded: GuardedFinding) -> str | None:
    role = guarded.scene.settings.role
    if role is Role.OBSERVER:
        return "role observer changes nothing"
    if role is Role.COMPANION:
        return "role companion heals nothing, because nova-compute runs beside the agent"
    return None


GUARD = Guard(name="role", refuses=_refuses)
