"""Limit the total time that a command's requests wait for a server that does not answer.

Once the limit is used up, the command sends no further request, because an operator waits for the command. The daemon
has no such limit: it tries again in every audit.
"""

from __future__ import annotations

import math

# No request is sent if at most this many seconds are left, because the request could only fail. A time-out may come a
# little early, and then a little time is left.
_TOO_SHORT_S = 0.25


class UnansweredTime:
    """Limits the total time of all requests that get no answer.

    The default ``limit_s`` sets no limit. Then only the time-out of each single request applies.
    """

    def __init__(self, limit_s: float = math.inf) -> None:
        self.limit_s = limit_s
        self._used_s = 0.0

    @property
    def left_s(self) -> float:
        """The seconds that the next request may wait, never negative."""
        return max(0.0, self.limit_s - self._used_s)

    @property
    def is_over(self) -> bool:
        """Whether requests without an answer have used up the limit, so that no further request may be sent."""
        return self.left_s <= min(_TOO_SHORT_S, self.limit_s / 10)

    def used(self, seconds: float) -> None:
        """Count a request that ended after ``seconds`` without an answer."""
        self._used_s += seconds
