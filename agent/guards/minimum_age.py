"""minimum-age: refuse a finding whose evidence is younger than ``[heal] min_age``.

When nova builds an instance, it writes first to Placement and more than a second later to its database. Two audits may
be only a second apart, so both may see the state between these writes.

The age counts from the first audit that saw the present evidence. A finding may be much older than its evidence,
because the agent keeps the finding while a source cannot be read.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding, Wait


def _refuses(guarded: GuardedFinding) -> str | None:
    wanted = guarded.scene.settings.heal.min_age_s
    age_s = guarded.age_s
    # The age is negative if the host's clock was set back. The real age is then unknown, so the guard refuses.
    if age_s >= 0 and wanted <= age_s:
        return None
    return f"the evidence was first seen {age_s:.0f} s ago; [heal] min_age is {wanted:.0f} s"


def _waits(guarded: GuardedFinding) -> Wait | None:
    age_s = guarded.age_s
    return Wait(guarded.scene.settings.heal.min_age_s - age_s) if age_s >= 0 else Wait()


GUARD = Guard(name="minimum-age", refuses=_refuses, waits=_waits)
