"""A histogram of durations, as monitoring systems read it. Pure: no I/O."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

#: Upper bounds of the buckets in seconds, for audits and for requests to Placement.
AUDIT_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
REQUEST_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """The number of values in each bucket, and the sum of all values.

    The numbers are not cumulative. The last bucket counts the values above all ``bounds``.
    """

    bounds: tuple[float, ...]
    counts: tuple[int, ...] = ()
    total: float = 0.0

    def plus(self, value: float) -> Histogram:
        """Return the histogram with one more value."""
        counts = list(self.counts or (0,) * (len(self.bounds) + 1))
        counts[bisect_left(self.bounds, value)] += 1
        return Histogram(bounds=self.bounds, counts=tuple(counts), total=self.total + value)
