"""confirmed: refuse an unconfirmed finding; one audit may read in the middle of a build, a delete or a move."""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding


def _refuses(guarded: GuardedFinding) -> str | None:
    if guarded.seen.confirmed:
        return None
    return f"not confirmed: {guarded.scene.settings.confirm_audits} audits in a row must see it with equal evidence"


GUARD = Guard(name="confirmed", refuses=_refuses)
