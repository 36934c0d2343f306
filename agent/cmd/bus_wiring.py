"""Build the broker connection if one is configured; a host without a broker never loads oslo.messaging (9 MiB)."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable

from agent.bus.control import Inside
from agent.config.load import Loaded
from agent.config.reading.bus import bus_options_from
from agent.config.reading.notifications import telling_options_from
from agent.daemon.service import Nobody, Telling


def telling_from(loaded: Loaded, now: Callable[[], str]) -> Callable[[Inside], Telling]:
    """Return a factory that builds the broker connection from the daemon's ``Inside``.

    The factory exists because the daemon builds ``Inside`` later. If no broker is configured or nothing is to be sent
    or answered, the factory returns ``Nobody``. Raises ConfigError if transport_url cannot be parsed.
    """
    bus_options, told = bus_options_from(loaded), telling_options_from(loaded)
    if bus_options is None or not (told.topics or told.interval_s or told.answers):
        return lambda _inside: Nobody()
    from agent.bus.service import Telling as BusTelling
    from agent.bus.service import Told, checked_bus

    bus = checked_bus(bus_options)
    what = Told(
        host=loaded.value("DEFAULT", "host"),
        agent_version=_version(),
        topics=told.topics,
        interval_s=told.interval_s,
        answers=told.answers,
        now=now,
    )
    return lambda inside: BusTelling(bus, what, inside)


def _version() -> str:
    try:
        return importlib.metadata.version("stocktake")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
