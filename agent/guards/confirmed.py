"""confirmed: refuse an unconfirmed finding, because one audit may run in the middle of a build, a delete or a move."""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding


def _refuses(guarded: GuardedFinding) -> str | None:
    if guarded.seen.confirmed:
        return None
    audits = guarded.scene.settings.confirm_audits
    return f"not confirmed: {audits} audits in a row must report the finding with equal evidence"


GUARD = Guard(name="confirmed", refuses=_refuses)
