"""[neutron] and [neutron_physnet_NAME]: the NUMA cells of each physical network. nova.conf has these options too."""

from __future__ import annotations

from oslo_config import cfg, types

from agent.config.loaded import Loaded
from agent.config.problems import refuse
from agent.model.settings import NetworkAffinity

GROUP = "neutron"

OPTS = FROM_NOVA = [
    cfg.ListOpt(
        "physnets",
        default=[],
        help="Physical networks with an affinity to NUMA cells. Each network needs its own group "
        "[neutron_physnet_NAME]. In this group, numa_nodes lists the network's cells, as in 0,1. A new value of "
        "physnets or numa_nodes needs a restart.",
    ),
]


def physnet_group(name: str) -> str:
    """Return the name of the option group of a physical network."""
    return f"neutron_physnet_{name}"


def physnet_opts() -> list[cfg.Opt]:
    """Return the options of the group ``[neutron_physnet_NAME]``."""
    return [cfg.ListOpt("numa_nodes", default=[], item_type=types.Integer(min=0))]


def networks(loaded: Loaded) -> NetworkAffinity:
    """Return the NUMA cells that are configured for each physical network and for tunnels.

    Raises ConfigError if a physical network has no cells.
    """
    names = sorted(set(loaded.listed("neutron", "physnets")))
    cells = {name: _cells(loaded, physnet_group(name)) for name in names}
    quoted = loaded.quote("neutron", "physnets")
    bare = [physnet_group(name) for name in names if not cells[name]]
    refuse(f"{quoted}: needs [{group}] numa_nodes, which is not set" for group in bare)
    return NetworkAffinity(physnets=tuple(cells.items()), tunnel=_cells(loaded, "neutron_tunnel"))


def _cells(loaded: Loaded, group: str) -> tuple[int, ...]:
    return tuple(sorted(set(loaded.value(group, "numa_nodes"))))
