"""The result of one change; ``refused`` and ``out_of_reach`` return the result of a change that was not made."""

from __future__ import annotations

from dataclasses import dataclass

from agent.host_files.journal import Result

NO_ACCESS = "this run has no access to the allocations in Placement"
DONE_WORDS = "changed as planned"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteAttempt:
    """The result of one change. ``words`` has the reason. ``entry_id`` is None if the journal does not have the change.

    - ``unread``: a service, the journal or the lock was unavailable, so nothing was tried or the result is unknown.
    - ``moved``: nothing was changed, because Placement's state changed since the decision. The caller may decide again.
    - ``unproven``: the change was not tried, because the rows of nova's database may be older than the plan.
    """

    result: Result
    words: str
    entry_id: str | None = None
    unread: bool = False
    moved: bool = False
    unproven: bool = False


def refused(words: str) -> WriteAttempt:
    """Return the result of a change that must not be made."""
    return WriteAttempt(result=Result.REFUSED, words=words)


def out_of_reach(error: Exception) -> WriteAttempt:
    """Return the result of a change that was not tried because of this error; a later run may make the change."""
    return WriteAttempt(result=Result.REFUSED, words=f"nothing was changed: {error}", unread=True)
