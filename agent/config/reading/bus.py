"""Decide how the message broker is reached: its URL, and the options of its group that a file sets."""

from __future__ import annotations

from agent.bus.options import BusOptions
from agent.config.load import Loaded
from agent.config.rabbit import GROUP


def bus_options_from(loaded: Loaded) -> BusOptions | None:
    """How to reach the broker; None where no transport_url is set."""
    url = loaded.value("DEFAULT", "transport_url")
    if not url:
        return None
    set_ones = ((opt, loaded.value(GROUP, opt.dest)) for group, opt in loaded.options if group == GROUP)
    return BusOptions(
        url=url,
        rabbit=tuple((opt.dest, value) for opt, value in set_ones if loaded.origin(GROUP, opt.dest) != "default"),
        response_timeout_s=float(loaded.value("DEFAULT", "rpc_response_timeout")),
    )
