"""max-consumers: limit the changes of one run, so that wrong findings do little harm.

A reshape counts as one change, whatever the number of its consumers. heal makes a reshape as a whole or not at all, so
the guard cannot permit only a part of the reshape. A reshape is less dangerous than
other changes, because it changes no consumer's total.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding, always, next_run


def _refuses(guarded: GuardedFinding) -> str | None:
    most = guarded.scene.settings.heal.max_consumers
    if len(guarded.chosen) < most:
        return None
    limit = f"the most that [heal] max_consumers={most} permits"
    return f"this run has changed {len(guarded.chosen)} consumers, {limit}; {next_run(guarded.scene.settings.heal)}"


GUARD = Guard(name="max-consumers", refuses=_refuses, waits=always)
