"""[compute]: which CPUs the guests get. Same names and meaning as in nova.conf."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "compute"

OPTS = FROM_NOVA = [
    cfg.StrOpt(
        "cpu_shared_set",
        mutable=True,
        help="CPU list for VCPU, as in 4-12,^8,15. Unset, with cpu_dedicated_set unset too: all CPUs that are "
        "online. SIGHUP applies it.",
    ),
    cfg.StrOpt(
        "cpu_dedicated_set",
        mutable=True,
        help="CPU list for PCPU: CPUs that a guest gets for itself. Must not overlap cpu_shared_set. "
        "SIGHUP applies it.",
    ),
]
