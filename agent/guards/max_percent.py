"""max-percent: limit the changes of one run to a small part of the host's consumers, but always allow one change.

A reshape counts as one change, as in max_consumers.py.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding, always, next_run


def _refuses(guarded: GuardedFinding) -> str | None:
    view, percent = guarded.scene.view, guarded.scene.settings.heal.max_percent
    count = len(view.consumer_uuids) if view else 0
    most = max(1, int(count * percent / 100))
    if len(guarded.chosen) < most:
        return None
    changed = f"{len(guarded.chosen)} of {count} consumers"
    limit = f"the most that [heal] max_percent={percent:g} permits (at least 1 consumer per run)"
    return f"this run has changed {changed}, {limit}; {next_run(guarded.scene.settings.heal)}"


GUARD = Guard(name="max-percent", refuses=_refuses, waits=always)
