"""Count the requests to Placement by status and duration, since the start of the process.

Only one thread at a time sends requests. Any other thread may read ``counts``, because each change replaces the whole
object.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from agent.timing.histogram import REQUEST_BUCKETS, Histogram

_SINGLE = frozenset({401, 403, 404, 409, 429, 503})


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCounts:
    """Numbers and durations of the requests to Placement.

    ``codes``: (status, number of requests); the status is ``none`` if no answer came. ``reads`` (GET) and ``writes``:
    the durations in seconds. ``paused_s``: the sum of all pauses, in seconds.
    """

    codes: tuple[tuple[str, int], ...] = ()
    reads: Histogram = field(default_factory=lambda: Histogram(bounds=REQUEST_BUCKETS))
    writes: Histogram = field(default_factory=lambda: Histogram(bounds=REQUEST_BUCKETS))
    paused_s: float = 0.0

    def answered(self, method: str, status: int | None, duration_s: float) -> RequestCounts:
        """Return the counts with one more request; ``status`` is None if no answer came."""
        label = code_label(status)
        codes = dict(self.codes)
        codes[label] = codes.get(label, 0) + 1
        counted = replace(self, codes=tuple(sorted(codes.items())))
        if method == "GET":
            return replace(counted, reads=self.reads.plus(duration_s))
        return replace(counted, writes=self.writes.plus(duration_s))

    def paused(self, seconds: float) -> RequestCounts:
        """Return the counts with ``seconds`` added to ``paused_s``, the sum of all pauses."""
        return replace(self, paused_s=self.paused_s + seconds)


def code_label(status: int | None) -> str:
    """Return the label of a status: ``404`` if the metrics count it by itself, else ``4xx``; ``none`` for None."""
    if status is None:
        return "none"
    return str(status) if status in _SINGLE else f"{status // 100}xx"
