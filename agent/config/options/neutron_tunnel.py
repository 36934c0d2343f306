"""[neutron_tunnel]: the NUMA cells near tunnelled networks. The group has the same name and meaning in nova.conf."""

from __future__ import annotations

from oslo_config import cfg, types

GROUP = "neutron_tunnel"

OPTS = FROM_NOVA = [
    cfg.ListOpt(
        "numa_nodes",
        default=[],
        item_type=types.Integer(min=0),
        help="NUMA cells near the tunnelled networks, as in 0,1. Empty: no particular cell. A new value needs a "
        "restart.",
    ),
]
