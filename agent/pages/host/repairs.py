"""Say which repairs of a finding are in the journal, and which of the repairs were undone.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.model.finding import SeenFinding
from agent.pages.host.facts import Change, HostFacts
from agent.pages.times import with_age

_DIGITS = 8
#: The maximum number of sentences about repairs in a block of findings. The page's section Journal lists all repairs.
MOST_SENTENCES = 5


def repairs_of(group: Sequence[SeenFinding], facts: HostFacts) -> tuple[str, ...]:
    """Return a sentence for each repair of one of these findings, the newest first."""
    changes = facts.changes or ()
    by_id = {change.id: change for change in changes}
    repairs = [change for change in changes if not change.undoes and any(_is_about(change, seen) for seen in group)]
    found = [_sentence(change, by_id, facts) for change in reversed(repairs)]
    return tuple(found[:MOST_SENTENCES])


def _is_about(change: Change, seen: SeenFinding) -> bool:
    finding = seen.finding
    return (
        bool(change.about)
        and change.code == finding.code
        and change.about == (finding.consumer_uuid or finding.provider_uuid)
    )


def _sentence(change: Change, by_id: dict[str, Change], facts: HostFacts) -> str:
    made = f"A repair made at {with_age(change.at, facts.now)} (entry {change.id[:_DIGITS]})"
    later = "This page shows an audit from before that repair." if facts.is_later(change) else ""
    if change.undone_by:
        undone = ", ".join(_undone(change.undone_by, by_id, facts.now))
        return f"{made} was undone by {undone}. {later or 'So the finding is here again.'}"
    if change.result == "done":
        after = (
            f"{later} The next audit shows if the finding is gone."
            if later
            else "This page shows an audit from after that repair, and the finding is still there."
        )
        return f"{made} is done, and was not undone. {after}"
    return f"{made} has the result {change.result}: {change.words}"


def _undone(entries: Sequence[str], by_id: dict[str, Change], now: str) -> Iterator[str]:
    for entry in entries:
        known = by_id.get(entry)
        when = f" at {with_age(known.at, now)}" if known else ""
        yield f"stocktake undo{when} (entry {entry[:_DIGITS]})"
