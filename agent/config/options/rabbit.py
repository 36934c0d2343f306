"""[oslo_messaging_rabbit]: oslo.messaging's own options, which exist only if a broker is configured (dynamic.py).

Importing oslo.messaging costs 9 MiB of memory, which a host without a broker saves. So
Stocktake loads its options only if ``transport_url`` is set or if one of Stocktake's own
files contains the group.
"""

from __future__ import annotations

import importlib.metadata

from oslo_config import cfg

from agent.backend import choose_threads

GROUP = "oslo_messaging_rabbit"


def rabbit_opts() -> list[cfg.Opt]:
    """Return the group's options, from oslo.messaging's own entry point."""
    choose_threads()
    (point,) = importlib.metadata.entry_points(group="oslo.config.opts", name="oslo.messaging")
    return [opt for group, found in point.load()() if group == GROUP for opt in found]
