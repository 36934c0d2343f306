"""What is read from nova.conf alone, and is no option of ours.

``state_path`` finds ``compute_id`` and expands ``$state_path/instances``;
``[database] connection`` says where the cloud's state is.
"""

from __future__ import annotations

from oslo_config import cfg

STATE_PATH = "/var/lib/nova"

OPTS: list[tuple[str, list[cfg.Opt]]] = [
    (
        "DEFAULT",
        [
            # Nova's own default is its code's folder; every distribution sets this one instead.
            cfg.StrOpt("state_path", default=STATE_PATH),
        ],
    ),
    ("database", [cfg.StrOpt("connection", secret=True)]),
]

INSTANCES_PATH = "$state_path/instances"

# (group, option) that nova-compute reads only where it needs them, so that it starts with a value that cannot be
# parsed: where libvirt offers TDX, and for a compute node record that is not there yet. It reads no database.
READ_AT_NEED = frozenset(
    (
        ("libvirt", "num_intel_tdx_guests"),
        ("DEFAULT", "initial_cpu_allocation_ratio"),
        ("DEFAULT", "initial_ram_allocation_ratio"),
        ("DEFAULT", "initial_disk_allocation_ratio"),
        ("database", "connection"),
    )
)
# What its disks must be made of before it reads [DEFAULT] force_raw_images at its start.
RAW_ONLY = ("lvm", "rbd")
