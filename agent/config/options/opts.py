"""List all options of Stocktake, for oslo-config-generator and for load.py.

To add a group, write a module and add it to GROUPS, or to WITH_NOVA if nova.conf may set its options too.
"""

from __future__ import annotations

import importlib.metadata

from oslo_config import cfg

from agent.config.options import (
    agent,
    compute,
    default,
    devices,
    heal,
    healthcheck,
    image_cache,
    libvirt,
    lvm,
    metrics,
    neutron,
    neutron_tunnel,
    notifications,
    oslo_reports,
    pci,
    placement,
    rabbit,
    state,
    workarounds,
)

WITH_NOVA = (default, compute, libvirt, pci, devices, neutron, neutron_tunnel, workarounds, image_cache, placement)
GROUPS = (*WITH_NOVA, agent, heal, healthcheck, lvm, metrics, notifications, oslo_reports, state)


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return (group, options) for the sample configuration file (entry point ``oslo.config.opts``).

    The list includes oslo.log's options, except ``fatal_deprecations``, which load.py rejects as unknown.
    """
    own = [(m.GROUP, placement.sample_opts() if m is placement else list(m.OPTS)) for m in GROUPS]
    return [*own, (rabbit.GROUP, rabbit.rabbit_opts()), ("DEFAULT", logging_opts())]


def logging_opts() -> list[cfg.Opt]:
    """Return oslo.log's options, from oslo.log's own entry point.

    oslo.log's function ``register_options`` is not used, because it registers command line options. If a command line
    option is malformed, oslo.config ends the process with status 1 and does not raise an error.
    """
    (point,) = importlib.metadata.entry_points(group="oslo.config.opts", name="oslo.log")
    # fatal_deprecations is left out, because it has no effect in Stocktake: only oslo.log's helper that reports
    # deprecated features reads the option, and Stocktake does not use this helper.
    return [opt for _, opts in point.load()() for opt in opts if opt.dest != "fatal_deprecations"]


def registered_opts() -> list[tuple[str, cfg.Opt]]:
    """Return (group, option) of the options in Stocktake's configuration files; auth.py and dynamic.py have more."""
    own = [(module.GROUP, opt) for module in GROUPS for opt in module.OPTS]
    return own + [("DEFAULT", opt) for opt in logging_opts()]


def shared_opts() -> list[tuple[str, cfg.Opt]]:
    """Return (group, option) of each option whose value nova.conf supplies if Stocktake's own files do not set it."""
    return [(m.GROUP, opt) for m in WITH_NOVA for opt in m.FROM_NOVA]
