"""Build the servers that monitoring systems query; without an address the daemon loads no HTTP module."""

from __future__ import annotations

from collections.abc import Callable

from agent.config.build import agent_options_from
from agent.config.loaded import Loaded
from agent.config.options.healthcheck import health_options_from
from agent.config.options.rabbit import bus_options_from
from agent.daemon.service import LoopControl, Monitoring, NoMonitoring


def monitoring_from(loaded: Loaded, now: Callable[[], str]) -> Callable[[LoopControl], Monitoring]:
    """Return a function that builds the servers from the daemon's ``LoopControl``, which the daemon builds later."""
    options, run_dir = health_options_from(loaded), agent_options_from(loaded).run_dir
    if not options.addresses:
        return lambda _control: NoMonitoring()
    from agent.monitoring.health import BusState, Loop
    from agent.monitoring.service import Monitor, MonitorControl

    has_bus = bus_options_from(loaded) is not None

    def built(control: LoopControl) -> Monitoring:
        seen = MonitorControl(
            loop=lambda: Loop(is_alive=control.is_alive(), running_s=control.running_s()),
            bus=lambda: BusState(failures=control.bus_failures()) if has_bus else None,
            interval_s=control.interval_s,
            now=now,
        )
        return Monitor(options, seen, run_dir, {})

    return built
