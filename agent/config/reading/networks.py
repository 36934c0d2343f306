"""Read which NUMA cells are near each physical network, and which are near tunnelled networks.

Whether the cells exist is not checked here, because it is known on the host only.
"""

from __future__ import annotations

from agent.config.load import Loaded
from agent.config.options import neutron
from agent.config.reading.problems import refuse
from agent.model.settings import NetworkAffinity


def networks(loaded: Loaded) -> NetworkAffinity:
    """Return the cells of each network, by name. Raises ConfigError for a network without cells."""
    names = sorted(set(loaded.listed("neutron", "physnets")))
    cells = {name: _cells(loaded, neutron.physnet_group(name)) for name in names}
    quoted = loaded.quote("neutron", "physnets")
    bare = [neutron.physnet_group(name) for name in names if not cells[name]]
    refuse(f"{quoted}: needs [{group}] numa_nodes, which is not set" for group in bare)
    return NetworkAffinity(physnets=tuple(cells.items()), tunnel=_cells(loaded, "neutron_tunnel"))


def _cells(loaded: Loaded, group: str) -> tuple[int, ...]:
    return tuple(sorted(set(loaded.value(group, "numa_nodes"))))
