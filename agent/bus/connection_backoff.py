"""Decide when to log that the broker is lost (at the 1st, 2nd, 4th … failure) and when to try again. Pure."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0


@dataclass(frozen=True, slots=True)
class Reach:
    """The number of ``failures`` in a row; 0: the broker accepted the last message."""

    failures: int = 0

    def after_failure(self) -> Reach:
        """Return the value after one more failure."""
        return Reach(self.failures + 1)

    @property
    def is_lost(self) -> bool:
        """Whether the broker did not accept the last message."""
        return self.failures > 0

    @property
    def is_worth_logging(self) -> bool:
        """True at the 1st, 2nd, 4th, 8th, … failure in a row."""
        return self.is_lost and self.failures & (self.failures - 1) == 0

    @property
    def pause_s(self) -> float:
        """Seconds to wait before the next try; the duration of a try is not included."""
        if not self.failures:
            return 0.0
        return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(self.failures - 1, 10))
