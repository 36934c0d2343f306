"""minimum-age: two audits may lie a second apart, and a build takes longer than that between its two writes.

Counted from when its evidence was first seen as it is now: a finding about the same
consumer from last week, kept because some source has not been read since, says nothing of this one.
"""

from __future__ import annotations

import datetime

from agent.guards.base import Case, Guard


def _refuses(case: Case) -> str | None:
    wanted = case.scene.settings.heal.min_age_s
    since = case.seen.stands_since or case.seen.first_seen_at
    now, first = (datetime.datetime.fromisoformat(text) for text in (case.scene.now, since))
    age_s = (now - first).total_seconds()
    # Negative after the clock was set back: then its age is not known.
    if age_s >= 0 and wanted <= age_s:
        return None
    return f"first seen {age_s:.0f} s ago; [heal] min_age is {wanted:.0f} s"


GUARD = Guard(name="minimum-age", refuses=_refuses)
