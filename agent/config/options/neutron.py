"""[neutron] and [neutron_physnet_NAME]: NUMA cells near a physical network; named as in nova.conf."""

from __future__ import annotations

from oslo_config import cfg, types

GROUP = "neutron"

OPTS = FROM_NOVA = [
    cfg.ListOpt(
        "physnets",
        default=[],
        help="Physical networks that are near some NUMA cells. Each network needs a group [neutron_physnet_NAME] "
        "whose numa_nodes names those cells, as in 0,1. Empty: none. All of it needs a restart.",
    ),
]


def physnet_group(name: str) -> str:
    """Return the name of the option group of a physical network."""
    return f"neutron_physnet_{name}"


def physnet_opts() -> list[cfg.Opt]:
    """Return the options of that group."""
    return [cfg.ListOpt("numa_nodes", default=[], item_type=types.Integer(min=0))]
