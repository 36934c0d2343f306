"""Render the metrics in Prometheus' text format or in OpenMetrics. No other module imports prometheus-client."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client import exposition as text_format
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from agent.monitoring.metrics.catalog import CATALOG, PREFIX
from agent.monitoring.metrics.counters import CODES
from agent.monitoring.metrics.state import MetricState
from agent.monitoring.metrics.values import Sample
from agent.placement.http.request_counts import RequestCounts
from agent.timing.histogram import Histogram

TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class BusCounts:
    """Counts of the message bus: consecutive failed sends, waiting notifications, dropped notifications."""

    failures: int
    waiting: int
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything that the text of one report shows; ``bus`` is None without a message bus."""

    state: MetricState
    requests: RequestCounts
    version: str
    bus: BusCounts | None = None


class _Families(Collector):
    """A collector of prometheus-client that returns the metric families that the caller passed."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = tuple(families)

    def collect(self) -> Iterable[Metric]:
        """Return the families."""
        return self._families


def rendered(scene: Scene, *, as_openmetrics: bool) -> bytes:
    """Return the text of all metric families whose values come from the last report."""
    return _text(families(scene), as_openmetrics=as_openmetrics)


def of_now(running_s: float, *, as_openmetrics: bool) -> bytes:
    """Return the text of the metrics about the running audit and the process. They change between two audits."""
    registry = CollectorRegistry()
    registry.register(_Families([_gauge("audit_running_seconds", [Sample((), running_s)])]))
    ProcessCollector(registry=registry)
    return _of_registry(registry, as_openmetrics=as_openmetrics)


def joined(fixed: bytes, now: bytes, *, as_openmetrics: bool) -> bytes:
    """Return ``fixed`` and ``now`` as one text. OpenMetrics allows only one end mark, so ``fixed`` loses its mark."""
    return (fixed.removesuffix(b"# EOF\n") if as_openmetrics else fixed) + now


def _text(found: Iterable[Metric], *, as_openmetrics: bool) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Families(found))
    return _of_registry(registry, as_openmetrics=as_openmetrics)


def _of_registry(registry: CollectorRegistry, *, as_openmetrics: bool) -> bytes:
    generate = openmetrics.generate_latest if as_openmetrics else text_format.generate_latest
    text: bytes = generate(registry)
    return text


def families(scene: Scene) -> Iterator[Metric]:
    """Yield all metric families whose values come from the last report, in the order of the catalog."""
    found = {metric.name.removeprefix(PREFIX): metric for metric in _unordered(scene)}
    yield from (found[name] for name in CATALOG if name in found)


def _unordered(scene: Scene) -> Iterator[Metric]:
    state = scene.state
    yield _gauge("build_info", [Sample((scene.version, platform.python_version()), 1)])
    yield _gauge("config_last_reload_successful", [Sample((), state.reload_ok)])
    yield _gauge("config_last_reload_success_timestamp_seconds", [Sample((), state.reloaded_at)])
    yield _gauge("metrics_left_out", [Sample((), state.left_out)])
    for name, samples in state.gauges.items():
        yield _gauge(name, samples)
    by_name: dict[str, list[Sample]] = {}
    for (name, labels), value in sorted(state.counters.sums.items()):
        by_name.setdefault(name, []).append(Sample(labels, value))
    for name, sums in by_name.items():
        yield _counter(name, sums)
    yield _histogram("audit_duration_seconds", [((), state.counters.audits)])
    yield _reads(state)
    yield from _of_requests(scene.requests)
    if scene.bus is not None:
        yield _gauge("bus_up", [Sample((), not scene.bus.failures)])
        yield _gauge("bus_notices_waiting", [Sample((), scene.bus.waiting)])
        yield _counter("bus_notices_dropped", [Sample((), scene.bus.dropped)])


def _reads(state: MetricState) -> Metric:
    name = "source_read_duration_seconds"
    family = SummaryMetricFamily(*_head(name), labels=CATALOG[name].labels)
    for source, (number, seconds) in sorted(state.counters.reads.items()):
        family.add_metric([source], count_value=number, sum_value=seconds)
    return family


def _of_requests(requests: RequestCounts) -> Iterator[Metric]:
    codes = dict.fromkeys(CODES, 0) | dict(requests.codes)
    yield _counter("placement_requests", [Sample((code,), number) for code, number in codes.items()])
    yield _counter("placement_pause_seconds", [Sample((), requests.paused_s)])
    both = [(("read",), requests.reads), (("write",), requests.writes)]
    yield _histogram("placement_request_duration_seconds", both)


def _gauge(name: str, samples: Iterable[Sample]) -> Metric:
    family = GaugeMetricFamily(*_head(name), labels=CATALOG[name].labels)
    for labels, value in samples:
        family.add_metric(labels, float(value))
    return family


def _counter(name: str, samples: Iterable[Sample]) -> Metric:
    family = CounterMetricFamily(*_head(name), labels=CATALOG[name].labels)
    for labels, value in samples:
        family.add_metric(labels, float(value))
    return family


def _histogram(name: str, histograms: Iterable[tuple[tuple[str, ...], Histogram]]) -> Metric:
    family = HistogramMetricFamily(*_head(name), labels=CATALOG[name].labels)
    for labels, histogram in histograms:
        total, buckets = 0, []
        counts = histogram.counts or (0,) * (len(histogram.bounds) + 1)
        for bound, count in zip((*histogram.bounds, float("inf")), counts, strict=True):
            total += count
            buckets.append((str(floatToGoString(bound)), total))  # type: ignore[no-untyped-call]
        family.add_metric(labels, buckets=buckets, sum_value=histogram.total)
    return family


def _head(name: str) -> tuple[str, str]:
    return PREFIX + name, CATALOG[name].help
