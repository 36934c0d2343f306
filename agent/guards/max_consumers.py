"""max-consumers: a fault that makes many look wrong stays small.

A reshape counts as one, whatever the number of its consumers: it can be done as a whole
or not at all, and frees and takes nothing of anybody's.
"""

from __future__ import annotations

from agent.guards.base import Case, Guard


def _refuses(case: Case) -> str | None:
    most = case.scene.settings.heal.max_consumers
    if len(case.chosen) < most:
        return None
    return f"{most} in this run already, which [heal] max_consumers allows; the rest in a later run"


GUARD = Guard(name="max-consumers", refuses=_refuses)
