"""[oslo_messaging_rabbit]: oslo.messaging's own options, there only where a broker is named (dynamic.py).

The library costs 9 MiB, which a host without a broker need not carry; so its options are
asked for where ``transport_url`` is set, or where one of our files has the group.
"""

from __future__ import annotations

import importlib.metadata

from oslo_config import cfg

from agent.backend import choose_threads

GROUP = "oslo_messaging_rabbit"


def rabbit_opts() -> list[cfg.Opt]:
    """The group's options, by the library's own entry point."""
    choose_threads()
    (point,) = importlib.metadata.entry_points(group="oslo.config.opts", name="oslo.messaging")
    return [opt for group, found in point.load()() if group == GROUP for opt in found]
