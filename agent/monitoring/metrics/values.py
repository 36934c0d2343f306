"""The values of metrics: samples, histograms, and the limits on the number of series."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

Labels = tuple[str, ...]


class Sample(NamedTuple):
    """One value of a metric; ``labels`` has the label values in the order of the catalog."""

    labels: Labels
    value: float


#: Samples by the name of their metric.
Samples = Mapping[str, tuple[Sample, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Numbers of values up to each of ``bounds`` and above them (not cumulated), and the sum of the values."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...] = ()
    total: float = 0.0

    def plus(self, value: float) -> Histogram:
        """Return the histogram with one more value."""
        counts = list(self.counts or (0,) * (len(self.bounds) + 1))
        counts[bisect_left(self.bounds, value)] += 1
        return Histogram(bounds=self.bounds, counts=tuple(counts), total=self.total + value)


def capped(samples: Iterable[Sample], most: int, position: int, first: tuple[str, ...] = ()) -> tuple[Sample, ...]:
    """Return the samples of at most ``most`` values of the label at ``position``: those in ``first``, then by name."""
    found = tuple(samples)
    names = {sample.labels[position] for sample in found}
    kept = sorted(names, key=lambda name: (first.index(name) if name in first else len(first), name))[:most]
    return tuple(sample for sample in found if sample.labels[position] in kept)
