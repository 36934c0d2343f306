"""Which NUMA cells are near a physical network or a tunnel (hypervisor-audit 3.3).

Whether the cells exist is known on the host alone.
"""

from __future__ import annotations

from agent.config.load import Loaded
from agent.config.options import neutron
from agent.config.reading.problems import refuse
from agent.model.settings import NetworkAffinity


def networks(loaded: Loaded) -> NetworkAffinity:
    """Cells of each network, by name. Raises ConfigError for one without cells."""
    names = sorted(set(loaded.listed("neutron", "physnets")))
    cells = {name: _cells(loaded, neutron.physnet_group(name)) for name in names}
    quoted = loaded.quote("neutron", "physnets")
    bare = [neutron.physnet_group(name) for name in names if not cells[name]]
    refuse(f"{quoted}: needs [{group}] numa_nodes, which is not set" for group in bare)
    return NetworkAffinity(physnets=tuple(cells.items()), tunnel=_cells(loaded, "neutron_tunnel"))


def _cells(loaded: Loaded, group: str) -> tuple[int, ...]:
    return tuple(sorted(set(loaded.value(group, "numa_nodes"))))
