"""minimum-age: refuse a finding whose evidence is younger than ``[heal] min_age``.

Two audits may be one second apart, and a build takes longer than that between its two writes. The age counts from the
first audit that saw the present evidence. If a source could not be read for a week, the agent has reported an older
finding about the same consumer all the time; the age of that finding proves nothing about the present evidence.
"""

from __future__ import annotations

import datetime

from agent.guards.base import Guard, GuardedFinding


def _refuses(guarded: GuardedFinding) -> str | None:
    wanted = guarded.scene.settings.heal.min_age_s
    since = guarded.seen.stands_since or guarded.seen.first_seen_at
    now, first = (datetime.datetime.fromisoformat(text) for text in (guarded.scene.now, since))
    age_s = (now - first).total_seconds()
    # The age is negative after the clock was set back; then the real age is unknown.
    if age_s >= 0 and wanted <= age_s:
        return None
    return f"first seen {age_s:.0f} s ago; [heal] min_age is {wanted:.0f} s"


GUARD = Guard(name="minimum-age", refuses=_refuses)
