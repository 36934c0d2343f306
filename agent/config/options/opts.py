"""All options of ours, for oslo-config-generator and for load.py. A new group is a new module and one line here."""

from __future__ import annotations

import importlib.metadata

from oslo_config import cfg

from agent.config.options import (
    agent,
    compute,
    default,
    devices,
    heal,
    image_cache,
    libvirt,
    lvm,
    neutron,
    neutron_tunnel,
    notifications,
    pci,
    placement,
    rabbit,
    state,
    workarounds,
)

WITH_NOVA = (
    default,
    compute,
    libvirt,
    pci,
    devices,
    neutron,
    neutron_tunnel,
    workarounds,
    image_cache,
    placement,
)
GROUPS = (*WITH_NOVA, agent, heal, lvm, notifications, state)


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """(group, options) as the sample shows them (entry point ``oslo.config.opts``).

    With oslo.log's, less the one that we would refuse: what the sample shows can be set.
    """
    own = [(m.GROUP, placement.sample_opts() if m is placement else list(m.OPTS)) for m in GROUPS]
    return [*own, (rabbit.GROUP, rabbit.rabbit_opts()), ("DEFAULT", logging_opts())]


def logging_opts() -> list[cfg.Opt]:
    """oslo.log's options, by its own entry point.

    Not through ``log.register_options``: that makes them command line options, and
    oslo.config ends the process with status 1 on a malformed one instead of raising.
    """
    (point,) = importlib.metadata.entry_points(group="oslo.config.opts", name="oslo.log")
    # fatal_deprecations belongs to a helper for other projects' deprecations; nothing here reads it.
    return [opt for _, opts in point.load()() for opt in opts if opt.dest != "fatal_deprecations"]


def registered_opts() -> list[tuple[str, cfg.Opt]]:
    """(group, option) of everything that our files may set, but for the auth plugin's options."""
    own = [(module.GROUP, opt) for module in GROUPS for opt in module.OPTS]
    return own + [("DEFAULT", opt) for opt in logging_opts()]


def shared_opts() -> list[tuple[str, cfg.Opt]]:
    """(group, option) of those taken from nova.conf where our files do not set them."""
    return [(m.GROUP, opt) for m in WITH_NOVA for opt in m.FROM_NOVA]
