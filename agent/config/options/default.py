"""[DEFAULT]: options with the same meaning as in nova.conf, and the time-out of a graceful shutdown.

Every option except ``graceful_shutdown_timeout`` takes its value from nova.conf if Stocktake's own files do not set the
option. In nova.conf, ``graceful_shutdown_timeout`` is about nova-compute.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "DEFAULT"

FROM_NOVA = [
    cfg.StrOpt(
        "host",
        sample_default="<the machine's host name>",
        help="Name of this host in the cloud's database (column host of instances and services). Unset: the result "
        "of gethostname(), as in nova-compute. If the name does not match, the agent finds no instances. A new "
        "value needs a restart.",
    ),
    cfg.StrOpt(
        "my_ip",
        sample_default="<the source address of the default route>",
        mutable=True,
        help="IP address of this host, the host_ip in its compute node record. SIGHUP applies a new value.",
    ),
    cfg.StrOpt(
        "instances_path",
        default="/var/lib/nova/instances",
        help="Folder of the guests' disks, an absolute path. DISK_GB counts the file system of this folder unless "
        "[libvirt] images_type is lvm or rbd. In nova.conf the default is $state_path/instances. A new value needs "
        "a restart.",
    ),
    cfg.IntOpt(
        "reserved_host_cpus",
        default=0,
        min=0,
        mutable=True,
        help="Number of CPUs reserved for the host; the agent reports this number as the reserved amount of VCPU. "
        "Cannot be set together with [compute] cpu_shared_set or cpu_dedicated_set, which already select the "
        "guests' CPUs. SIGHUP applies a new value.",
    ),
    cfg.IntOpt(
        "reserved_host_memory_mb",
        default=512,
        min=0,
        mutable=True,
        help="MiB of memory reserved for the host; the agent reports this amount as the reserved amount of "
        "MEMORY_MB. Nova has the same default. SIGHUP applies a new value.",
    ),
    cfg.IntOpt(
        "reserved_host_disk_mb",
        default=0,
        min=0,
        mutable=True,
        help="MiB of disk reserved for the host; the agent reports this amount, rounded up to GiB, as the reserved "
        "amount of DISK_GB. SIGHUP applies a new value.",
    ),
    cfg.MultiStrOpt(
        "reserved_huge_pages",
        default=[],
        mutable=True,
        help="Huge pages reserved for the host; set the option once per NUMA cell and page size, as in "
        "node:0,size:2048,count:64 or node:1,size:1GB,count:1. A size without a unit is in KiB. In the compute node "
        "record, the agent reports these pages as reserved in the NUMA cell; MEMORY_MB does not change. SIGHUP "
        "applies a new value.",
    ),
    cfg.FloatOpt(
        "cpu_allocation_ratio",
        min=0.0,
        mutable=True,
        help="VCPU's allocation ratio, written at each audit. Unset or 0.0: the agent keeps the ratio that "
        "Placement has. SIGHUP applies a new value.",
    ),
    cfg.FloatOpt(
        "ram_allocation_ratio",
        min=0.0,
        mutable=True,
        help="MEMORY_MB's allocation ratio, written at each audit. Unset or 0.0: the agent keeps the ratio that "
        "Placement has. Must be 1.0 with [libvirt] file_backed_memory. SIGHUP applies a new value.",
    ),
    cfg.FloatOpt(
        "disk_allocation_ratio",
        min=0.0,
        mutable=True,
        help="DISK_GB's allocation ratio, written at each audit. Unset or 0.0: the agent keeps the ratio that "
        "Placement has. SIGHUP applies a new value.",
    ),
    cfg.FloatOpt(
        "initial_cpu_allocation_ratio",
        default=4.0,
        min=0.0,
        mutable=True,
        help="VCPU's allocation ratio if Placement has no VCPU inventory of this host yet. Nova has the same default. "
        "SIGHUP applies a new value.",
    ),
    cfg.FloatOpt(
        "initial_ram_allocation_ratio",
        default=1.0,
        min=0.0,
        mutable=True,
        help="MEMORY_MB's allocation ratio if Placement has no MEMORY_MB inventory of this host yet. The default is "
        "nova's. SIGHUP applies a new value.",
    ),
    cfg.FloatOpt(
        "initial_disk_allocation_ratio",
        default=1.0,
        min=0.0,
        mutable=True,
        help="DISK_GB's allocation ratio if Placement has no DISK_GB inventory of this host yet. The default is "
        "nova's. SIGHUP applies a new value.",
    ),
    cfg.StrOpt(
        "vcpu_pin_set",
        mutable=True,
        help="CPUs that count as VCPU, as in 4-12,^8,15. Deprecated in nova: use [compute] cpu_shared_set. Cannot "
        "be set together with [compute] cpu_dedicated_set. SIGHUP applies a new value.",
    ),
    cfg.IntOpt(
        "update_resources_interval",
        default=0,
        mutable=True,
        help="Seconds between two audits. 0 means 60, as in nova; a negative value turns the interval off, so that "
        "only start-up, events and signals cause audits. SIGHUP applies a new value.",
    ),
    cfg.IntOpt(
        "service_down_time",
        default=60,
        mutable=True,
        help="Seconds without a heartbeat after which a compute service counts as down; the minimum is 1. While "
        "nova-compute of this host is not down, the agent does not write the host's provider in Placement. Nova "
        "has the same default. SIGHUP applies a new value.",
    ),
    cfg.StrOpt(
        "transport_url",
        secret=True,
        help="URL of the message broker, e.g. rabbit://nova:PASSWORD@broker:5672/. If set, the agent reads the "
        "cloud's state from nova-conductor through this broker, unless [state] names another source. The agent also "
        "sends its notifications to this broker ([notifications]). A new value needs a restart.",
    ),
    cfg.IntOpt(
        "rpc_response_timeout",
        default=60,
        help="Seconds after which one request to nova-conductor times out; the minimum is 1. Reading nova's data "
        "takes several requests: [agent] source_deadline limits their total time. Nova has the same default. A new "
        "value needs a restart.",
    ),
    cfg.BoolOpt(
        "use_cow_images",
        default=True,
        help="If true, [libvirt] images_type = default means qcow2, else flat. A new value needs a restart.",
    ),
    cfg.BoolOpt(
        "force_raw_images",
        default=True,
        help="Whether nova converts images to raw before a guest uses them. If false, a host with [libvirt] "
        "images_type = lvm lacks the trait COMPUTE_IMAGE_TYPE_QCOW2, and images_type = rbd is an error. Nova has "
        "the same default. A new value needs a restart.",
    ),
]

OPTS = [
    *FROM_NOVA,
    cfg.IntOpt(
        "graceful_shutdown_timeout",
        default=60,
        min=1,
        help="Seconds that a stop of the daemon waits for the running audit. The audit ends at its next safe point. "
        "60 is the default of OpenStack's services, and is less than TimeoutStopSec of the systemd unit. The agent "
        "ignores this option in nova.conf. A new value needs a restart.",
    ),
]
