"""[compute]: CPUs for guests, excluded image types, and provider.yaml files.

Each option has the name and the meaning that it has in nova.conf.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "compute"

OPTS = FROM_NOVA = [
    cfg.StrOpt(
        "cpu_shared_set",
        mutable=True,
        help="CPUs that count as VCPU, as in 4-12,^8,15. If cpu_shared_set and cpu_dedicated_set are both unset, "
        "all CPUs that are online count as VCPU. SIGHUP applies a new value.",
    ),
    cfg.StrOpt(
        "cpu_dedicated_set",
        mutable=True,
        help="CPUs that count as PCPU: each of them is dedicated to one guest. Must not overlap cpu_shared_set. "
        "SIGHUP applies a new value.",
    ),
    cfg.ListOpt(
        "image_type_exclude_list",
        default=[],
        mutable=True,
        help="Image formats that this host does not offer, as in raw,iso: the agent withdraws their "
        "``COMPUTE_IMAGE_TYPE_`` traits. Empty: the host offers every format that the hypervisor supports. SIGHUP "
        "applies a new value.",
    ),
    cfg.StrOpt(
        "provider_config_location",
        default="/etc/nova/provider_config/",
        mutable=True,
        help="Folder of provider.yaml files (``*.yaml``), in which operators add custom traits, and inventories of "
        "custom classes, to providers. Nova has the same default. The folder may be absent. SIGHUP reads the "
        "files again.",
    ),
]
