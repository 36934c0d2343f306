"""List the tables and columns of nova's cell database that the agent reads.

The agent may read the rows from nova-conductor instead. The rows then get the same column names. Pure: no I/O.
"""

from __future__ import annotations

COLUMNS: dict[str, tuple[str, ...]] = {
    "services": ("id", "host", "binary", "deleted", "version", "disabled", "forced_down", "last_seen_up", "created_at"),
    "compute_nodes": ("id", "uuid", "host", "hypervisor_hostname", "deleted", "vcpus", "memory_mb", "local_gb"),
    "instances": (
        "id", "uuid", "display_name", "project_id", "user_id", "host", "node", "vm_state", "task_state", "deleted",
        "hidden", "instance_type_id", "image_ref", "compute_id", "os_type", "power_state", "created_at", "deleted_at",
        "updated_at",
    ),
    "instance_extra": ("id", "instance_uuid", "deleted", "flavor", "numa_topology", "migration_context"),
    "block_device_mapping": ("id", "instance_uuid", "deleted", "boot_index", "destination_type"),
    "migrations": (
        "id", "uuid", "instance_uuid", "migration_type", "status", "source_compute", "source_node", "dest_compute",
        "dest_node", "old_instance_type_id", "new_instance_type_id", "created_at", "updated_at", "deleted",
    ),
    "pci_devices": (
        "id", "compute_node_id", "address", "vendor_id", "product_id", "dev_type", "status", "instance_uuid",
        "numa_node", "parent_addr", "deleted",
    ),
}  # fmt: skip
