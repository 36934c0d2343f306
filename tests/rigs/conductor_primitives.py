"""Example objects in the form in which nova-conductor sends them."""


def envelope(name, version, fields):
    """Return a versioned object."""
    return {
        "nova_object.name": name,
        "nova_object.namespace": "nova",
        "nova_object.version": version,
        "nova_object.data": fields,
    }


def listed(name, version, *objects):
    """Return a list object of these objects."""
    return {**envelope(name, version, {"objects": list(objects)}), "nova_object.changes": ["objects"]}


FLAVOR = envelope(
    "Flavor",
    "1.2",
    {
        "id": 1,
        "name": "m1.small",
        "memory_mb": 2048,
        "vcpus": 1,
        "root_gb": 20,
        "ephemeral_gb": 0,
        "flavorid": "2",
        "swap": 512,
        "rxtx_factor": 1.0,
        "vcpu_weight": 0,
        "disabled": False,
        "is_public": True,
        "extra_specs": {"hw:cpu_policy": "dedicated"},
        "description": None,
    },
)
NUMA = envelope(
    "InstanceNUMATopology",
    "1.3",
    {
        "cells": [
            envelope(
                "InstanceNUMACell",
                "1.6",
                {
                    "id": 0,
                    "cpuset": [],
                    "pcpuset": [0],
                    "cpuset_reserved": None,
                    "memory": 2048,
                    "pagesize": None,
                    "cpu_pinning_raw": {"0": 4},
                    "cpu_policy": "dedicated",
                    "cpu_thread_policy": None,
                },
            )
        ]
    },
)
INSTANCE = envelope(
    "Instance",
    "2.8",
    {
        "id": 1,
        "uuid": "11111111-1111-1111-1111-111111111111",
        "host": "cmp1",
        "node": "cmp1.example.org",
        "compute_id": 1,
        "vm_state": "active",
        "task_state": None,
        "power_state": 1,
        "project_id": "p1",
        "user_id": "u1",
        "instance_type_id": 1,
        "image_ref": "i1",
        "os_type": "linux",
        "hidden": False,
        "cleaned": False,
        "deleted": False,
        "created_at": "2026-11-21T10:58:05Z",
        "updated_at": None,
        "deleted_at": None,
        "flavor": FLAVOR,
        "old_flavor": None,
        "new_flavor": None,
        "numa_topology": NUMA,
        "migration_context": None,
        "resources": None,
    },
)
MIGRATION = envelope(
    "Migration",
    "1.8",
    {
        "id": 1,
        "uuid": "b045bb9d-8320-4dbb-a193-e2d8cc2a5740",
        "source_compute": "cmp1",
        "dest_compute": "cmp2",
        "source_node": "cmp1.example.org",
        "dest_node": "cmp2.example.org",
        "dest_compute_id": 2,
        "dest_host": "192.0.2.2",
        "old_instance_type_id": 1,
        "new_instance_type_id": 2,
        "instance_uuid": "11111111-1111-1111-1111-111111111111",
        "status": "finished",
        "migration_type": "resize",
        "hidden": False,
        "memory_total": None,
        "cross_cell_move": False,
        "user_id": None,
        "project_id": None,
        "created_at": "2026-11-21T10:58:05Z",
        "updated_at": None,
        "deleted_at": None,
        "deleted": False,
    },
)
