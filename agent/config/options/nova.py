"""Options that Stocktake reads from nova.conf only; Stocktake's own files cannot set these options.

``state_path`` is a folder that may contain the file ``compute_id``; the default of ``instances_path`` is the folder
``instances`` in ``state_path``. ``[database] connection`` is the URL of the cell database.
"""

from __future__ import annotations

from oslo_config import cfg

STATE_PATH = "/var/lib/nova"

OPTS: list[tuple[str, list[cfg.Opt]]] = [
    (
        "DEFAULT",
        [
            # Nova's own default is the folder of its code; every distribution sets /var/lib/nova instead.
            cfg.StrOpt("state_path", default=STATE_PATH),
        ],
    ),
    ("database", [cfg.StrOpt("connection", secret=True)]),
]

INSTANCES_PATH = "$state_path/instances"

# Options that nova-compute does not read at every start, as (group, option). So nova-compute starts even if the value
# of such an option is malformed. nova-compute reads num_intel_tdx_guests only if libvirt offers TDX. It reads the
# ratios only to create a compute node record. It never reads the database URL.
READ_AT_NEED = frozenset(
    (
        ("libvirt", "num_intel_tdx_guests"),
        ("DEFAULT", "initial_cpu_allocation_ratio"),
        ("DEFAULT", "initial_ram_allocation_ratio"),
        ("DEFAULT", "initial_disk_allocation_ratio"),
        ("database", "connection"),
    )
)
# If [libvirt] images_type has one of these values, nova-compute reads [DEFAULT] force_raw_images at its start.
RAW_ONLY = ("lvm", "rbd")
