"""Build the servers that monitoring systems query. The daemon loads no HTTP module if no address is configured."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agent.config.agent_options import agent_options_from
from agent.config.loaded import Loaded
from agent.config.options.healthcheck import health_options_from
from agent.config.options.metrics import metrics_options_from
from agent.config.options.rabbit import bus_options_from
from agent.daemon.service import LoopControl, Monitoring, NoMonitoring

if TYPE_CHECKING:
    from agent.monitoring.metrics.page import MetricsPage
    from agent.placement.http.request_counts import RequestCounts


def monitoring_from(
    loaded: Loaded, now: Callable[[], str], requests: Callable[[], RequestCounts]
) -> Callable[[LoopControl], Monitoring]:
    """Return a function that builds the health and metrics servers; the daemon calls it with its ``LoopControl``.

    ``requests`` returns the counts of requests to Placement.
    """
    options, metrics_options = health_options_from(loaded), metrics_options_from(loaded)
    if not (options.addresses or metrics_options.is_on):
        return lambda _control: NoMonitoring()
    from agent.monitoring.health import BusState, Loop
    from agent.monitoring.service import Monitor, MonitorControl

    has_bus, run_dir = bus_options_from(loaded) is not None, agent_options_from(loaded).run_dir

    def built(control: LoopControl) -> Monitoring:
        seen = MonitorControl(
            loop=lambda: Loop(is_alive=control.is_alive(), running_s=control.running_s()),
            bus=lambda: BusState(failures=control.bus()[0]) if has_bus else None,
            interval_s=control.interval_s,
            now=now,
        )
        metrics = _metrics(loaded, control, requests) if metrics_options.is_on else None
        return Monitor(options, seen, run_dir, metrics, metrics_options.addresses)

    return built


def _metrics(loaded: Loaded, control: LoopControl, requests: Callable[[], RequestCounts]) -> MetricsPage:
    """Return the page of metrics; only this function imports prometheus-client (2 MiB)."""
    from agent.host_files.installed import installed_version
    from agent.host_files.journal_tail import JournalTail
    from agent.monitoring.metrics.page import MetricsControl, MetricsPage
    from agent.monitoring.metrics.text import BusCounts

    has_bus = bus_options_from(loaded) is not None

    def bus() -> BusCounts | None:
        failures, waiting, dropped = control.bus()
        return BusCounts(failures=failures, waiting=waiting, dropped=dropped) if has_bus else None

    seen = MetricsControl(
        requests=requests,
        bus=bus,
        interval_s=control.interval_s,
        running_s=control.running_s,
        version=installed_version() or "unknown",
        state_source=str(loaded.value("state", "source") or ""),
    )
    journal = JournalTail(agent_options_from(loaded).state_dir)
    return MetricsPage(seen, journal, metrics_options_from(loaded).textfile)
