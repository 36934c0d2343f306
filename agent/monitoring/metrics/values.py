"""The values of metrics: samples, and the limits on the number of series."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

Labels = tuple[str, ...]


class Sample(NamedTuple):
    """One value of a metric; ``labels`` has the label values in the order of the catalog."""

    labels: Labels
    value: float


#: Samples by the name of their metric.
Samples = Mapping[str, tuple[Sample, ...]]


def capped(samples: Iterable[Sample], most: int, position: int, first: tuple[str, ...] = ()) -> tuple[Sample, ...]:
    """Keep at most ``most`` values of the label at ``position``; return the samples with these values.

    Keep the values in ``first`` before other values, and the other values in alphabetical order.
    """
    found = tuple(samples)
    names = {sample.labels[position] for sample in found}
    kept = sorted(names, key=lambda name: (first.index(name) if name in first else len(first), name))[:most]
    return tuple(sample for sample in found if sample.labels[position] in kept)
