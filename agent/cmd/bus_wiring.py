"""Build the connection to the message broker. If no broker is configured, oslo.messaging (9 MiB) is never loaded."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable

from agent.bus.options import DaemonControl
from agent.config.loaded import Loaded
from agent.config.options.notifications import publishing_options_from
from agent.config.options.rabbit import bus_options_from
from agent.daemon.service import BusService, NoBus


def bus_service_from(loaded: Loaded, now: Callable[[], str]) -> Callable[[DaemonControl], BusService]:
    """Return a function that builds the broker connection from the daemon's ``DaemonControl``.

    The result is a function because the daemon builds ``DaemonControl`` later. The function returns ``NoBus`` if no
    broker is configured, or if the configuration tells the agent neither to send messages nor to answer calls. Raises
    ConfigError if transport_url cannot be parsed.
    """
    bus_options, options = bus_options_from(loaded), publishing_options_from(loaded)
    if bus_options is None or not (options.topics or options.interval_s or options.answers):
        return lambda _control: NoBus()
    from agent.bus.service import BusConnection, checked_bus

    bus, host, version = checked_bus(bus_options), loaded.value("DEFAULT", "host"), _version()
    return lambda control: BusConnection(bus, options, control, host=host, agent_version=version, now=now)


def _version() -> str:
    try:
        return importlib.metadata.version("stocktake")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
