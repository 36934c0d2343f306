"""Decide when the log says that the broker is lost (at the 1st, 2nd, 4th … failure), and when to try again. Pure."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0


@dataclass(frozen=True, slots=True)
class Reach:
    """``failures`` in a row; 0: the last message was taken."""

    failures: int = 0

    def after_failure(self) -> Reach:
        """One more."""
        return Reach(self.failures + 1)

    @property
    def is_lost(self) -> bool:
        """Whether the last message was not taken."""
        return self.failures > 0

    @property
    def is_worth_telling(self) -> bool:
        """True at the 1st, 2nd, 4th, 8th, … failure in a row."""
        return self.is_lost and self.failures & (self.failures - 1) == 0

    @property
    def pause_s(self) -> float:
        """Seconds before the next try; beside the seconds that a try takes."""
        if not self.failures:
            return 0.0
        return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(self.failures - 1, 10))
