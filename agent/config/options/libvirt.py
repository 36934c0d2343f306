"""[libvirt]: the URI of the hypervisor, the features that guests may use, and the storage of their disks.

Names and meaning are those of nova.conf. The agent asks libvirt for its capabilities only once per connection. Some
options, such as ``virt_type``, decide what the agent asks. A new value of such an option needs a restart.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "libvirt"

OPTS = FROM_NOVA = [
    cfg.StrOpt(
        "virt_type",
        default="kvm",
        choices=["kvm", "lxc", "qemu", "parallels"],
        help="Kind of guests. This option decides which libvirt driver the agent connects to if connection_uri is "
        "empty. Nova has the same default. A new value needs a restart.",
    ),
    cfg.StrOpt(
        "connection_uri",
        default="",
        help="libvirt URI. Empty: the URI of virt_type, which is qemu:///system for kvm and qemu. "
        "test:///path/to/file.xml is libvirt's test driver. A new value needs a restart.",
    ),
    cfg.StrOpt(
        "images_type",
        default="default",
        choices=["raw", "flat", "qcow2", "lvm", "rbd", "ploop", "default"],
        help="Where guests' disks are stored, and thus what DISK_GB counts. lvm: the volume group in "
        "images_volume_group. rbd: the Ceph cluster with the pool in images_rbd_pool. Any other value: the file "
        "system of instances_path. A new value needs a restart.",
    ),
    cfg.StrOpt(
        "images_volume_group",
        help="LVM volume group of the guests' disks; required with images_type = lvm. A new value needs a restart.",
    ),
    cfg.StrOpt(
        "images_rbd_pool",
        default="rbd",
        help="Ceph pool of the guests' disks, with images_type = rbd. Nova has the same default. A new value needs a "
        "restart.",
    ),
    cfg.StrOpt(
        "images_rbd_ceph_conf",
        default="",
        help="Configuration file for the ceph command. Empty: ceph's own default. A new value needs a restart.",
    ),
    cfg.StrOpt(
        "rbd_user",
        help="Ceph user for the ceph command; a user with read access is enough. Unset: ceph's own default. A new "
        "value needs a restart.",
    ),
    cfg.IntOpt(
        "file_backed_memory",
        default=0,
        min=0,
        mutable=True,
        help="MiB of memory to report instead of the machine's memory, if files back the guests' memory. 0: files "
        "do not back the guests' memory. Needs virt_type kvm or qemu, and [DEFAULT] ram_allocation_ratio = 1.0, "
        "because file-backed memory cannot be overcommitted. SIGHUP applies a new value.",
    ),
    cfg.BoolOpt(
        "cpu_power_management",
        default=False,
        mutable=True,
        help="Whether Nova switches unused dedicated CPUs off; such CPUs still count as PCPU. SIGHUP applies a new "
        "value.",
    ),
    cfg.StrOpt(
        "cpu_mode",
        choices=["host-model", "host-passthrough", "custom", "none"],
        help="Kind of CPU that guests get; this option decides which traits of CPU features the host has. Unset: "
        "host-model with virt_type kvm and qemu, but host-passthrough on aarch64. A new value needs a restart.",
    ),
    cfg.ListOpt(
        "cpu_models",
        default=[],
        deprecated_name="cpu_model",
        help="CPU models that guests may get. Required with cpu_mode = custom; refused with any other mode. A new "
        "value needs a restart.",
    ),
    cfg.ListOpt(
        "cpu_model_extra_flags",
        default=[],
        help="CPU features that guests get in addition to those of their model, as in pcid,+ssbd, or that guests do "
        "not get, as in -vmx. A new value needs a restart.",
    ),
    cfg.ListOpt(
        "hw_machine_type",
        help="Machine type of guests by architecture, as in x86_64=q35,aarch64=virt; the first entry for an "
        "architecture applies. Unset: nova's own default. A new value needs a restart.",
    ),
    cfg.BoolOpt(
        "swtpm_enabled",
        default=False,
        mutable=True,
        help="Whether guests may get an emulated TPM; needs virt_type kvm or qemu. Nova has the same default. SIGHUP "
        "applies a new value.",
    ),
    cfg.StrOpt(
        "swtpm_user",
        default="tss",
        mutable=True,
        help="User that the emulated TPM runs as; must exist if swtpm_enabled is true. Nova has the same default. "
        "SIGHUP applies a new value.",
    ),
    cfg.StrOpt(
        "swtpm_group",
        default="tss",
        mutable=True,
        help="Group that the emulated TPM runs as; must exist if swtpm_enabled is true. Nova has the same default. "
        "SIGHUP applies a new value.",
    ),
    cfg.ListOpt(
        "supported_tpm_secret_security",
        default=["user", "host", "deployment"],
        mutable=True,
        help="Who may own the secret of an emulated TPM on this host: any of user, host and deployment. If "
        "swtpm_enabled is true, the host gets a trait for each listed owner. Nova has the same default. SIGHUP applies "
        "a new value.",
    ),
    cfg.ListOpt(
        "pmem_namespaces",
        default=[],
        help="Persistent memory for guests: namespaces by label, as in 128G:ns0|ns1,MEDIUM:ns2. Each label has its "
        "own resource class, named ``CUSTOM_PMEM_NAMESPACE_`` and the label. Empty: guests get no persistent "
        "memory. A new value needs a restart.",
    ),
    cfg.IntOpt(
        "num_intel_tdx_guests",
        min=0,
        mutable=True,
        help="Maximum number of guests with Intel TDX on this host, at most 2147483647; needs cpu_mode = "
        "host-passthrough. Unset: the number that the kernel reports (tdx in /sys/fs/cgroup/misc.capacity). Set the "
        "option if the kernel reports no number. The option applies even if it exceeds the kernel's number. 0: no "
        "guests with TDX. SIGHUP applies a new value.",
    ),
]
