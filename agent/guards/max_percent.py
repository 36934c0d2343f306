"""max-percent: limit the changes of one run to a small part of the host's consumers, but always allow one change.

A reshape counts as one change for this limit too (max_consumers.py).
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding


def _refuses(guarded: GuardedFinding) -> str | None:
    view, percent = guarded.scene.view, guarded.scene.settings.heal.max_percent
    count = len(view.consumer_uuids) if view else 0
    most = max(1, int(count * percent / 100))
    if len(guarded.chosen) < most:
        return None
    return (
        f"this run already makes {most} changes, the most that [heal] max_percent ({percent:g}) allows on a host with "
        f"{count} consumers"
    )


GUARD = Guard(name="max-percent", refuses=_refuses)
