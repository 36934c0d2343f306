"""role: an observer changes nothing, a companion only consumers of its own (design 2.1)."""

from __future__ import annotations

from agent.guards.base import Case, Guard
from agent.model.settings import Role
from agent.repairs.base import Whose


def _refuses(case: Case) -> str | None:
    role = case.scene.settings.role
    if role is Role.OBSERVER:
        return "role observer changes nothing"
    if role is Role.COMPANION and (case.repair is None or case.repair.whose is not Whose.OURS):
        return "role companion changes no consumer of the cloud's: nova-compute is at work beside it"
    return None


GUARD = Guard(name="role", refuses=_refuses)
