"""[libvirt]: the URI of the hypervisor, what guests may use of the host, and the kind of their disks.

Names and meaning are those of nova.conf. The agent reads libvirt's capabilities once for
each connection, so an option that selects what the agent reads needs a restart.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "libvirt"

OPTS = FROM_NOVA = [
    cfg.StrOpt(
        "virt_type",
        default="kvm",
        choices=["kvm", "lxc", "qemu", "parallels"],
        help="Kind of guests; decides which libvirt driver the agent connects to when connection_uri is empty. The "
        "default is nova's. Needs a restart.",
    ),
    cfg.StrOpt(
        "connection_uri",
        default="",
        help="libvirt URI. Empty: qemu:///system, or the URI of virt_type. test:///path/to/file.xml is libvirt's test "
        "driver. Needs a restart.",
    ),
    cfg.StrOpt(
        "images_type",
        default="default",
        choices=["raw", "flat", "qcow2", "lvm", "rbd", "ploop", "default"],
        help="Where guests' disks are stored, which decides what DISK_GB counts: lvm counts images_volume_group, rbd "
        "the Ceph cluster of images_rbd_pool, the others the file system of instances_path. Needs a restart.",
    ),
    cfg.StrOpt(
        "images_volume_group",
        help="Volume group of the guests' disks; required with images_type = lvm. Needs a restart.",
    ),
    cfg.StrOpt(
        "images_rbd_pool",
        default="rbd",
        help="Ceph pool of the guests' disks, with images_type = rbd. The default is nova's. Needs a restart.",
    ),
    cfg.StrOpt(
        "images_rbd_ceph_conf",
        default="",
        help="Configuration file for the ceph command. Empty: ceph's own default. Needs a restart.",
    ),
    cfg.StrOpt(
        "rbd_user",
        help="Ceph user for the ceph command; a user with read access is enough. Unset: ceph's own default. Needs a "
        "restart.",
    ),
    cfg.IntOpt(
        "file_backed_memory",
        default=0,
        min=0,
        mutable=True,
        help="MiB of memory to report instead of the machine's memory, where guests' memory is backed by files. 0: "
        "off. Needs [DEFAULT] ram_allocation_ratio = 1.0 and virt_type kvm or qemu: such memory cannot be "
        "overcommitted. SIGHUP applies it.",
    ),
    cfg.BoolOpt(
        "cpu_power_management",
        default=False,
        mutable=True,
        help="Whether Nova switches unused dedicated CPUs off; they still count as PCPU. SIGHUP applies it.",
    ),
    cfg.StrOpt(
        "cpu_mode",
        choices=["host-model", "host-passthrough", "custom", "none"],
        help="CPU that guests get; it decides the traits of CPU features. Unset: host-model with virt_type kvm and "
        "qemu, but host-passthrough on aarch64. Needs a restart.",
    ),
    cfg.ListOpt(
        "cpu_models",
        default=[],
        deprecated_name="cpu_model",
        help="CPU models that guests may get. Required with cpu_mode = custom; refused with any other mode. Needs a "
        "restart.",
    ),
    cfg.ListOpt(
        "cpu_model_extra_flags",
        default=[],
        help="CPU features that guests get beside those of their model, as in pcid,+ssbd; guests do not get a feature "
        "with a minus. Needs a restart.",
    ),
    cfg.ListOpt(
        "hw_machine_type",
        help="Machine type of guests by architecture, as in x86_64=q35,aarch64=virt; the first entry for an "
        "architecture applies. Unset: nova's own. Needs a restart.",
    ),
    cfg.BoolOpt(
        "swtpm_enabled",
        default=False,
        mutable=True,
        help="Whether guests may get an emulated TPM; needs virt_type kvm or qemu. The default is nova's. SIGHUP "
        "applies it.",
    ),
    cfg.StrOpt(
        "swtpm_user",
        default="tss",
        mutable=True,
        help="User that the emulated TPM runs as; must exist if swtpm_enabled is true. The default is nova's. SIGHUP "
        "applies it.",
    ),
    cfg.StrOpt(
        "swtpm_group",
        default="tss",
        mutable=True,
        help="Group that the emulated TPM runs as; must exist if swtpm_enabled is true. The default is nova's. SIGHUP "
        "applies it.",
    ),
    cfg.ListOpt(
        "supported_tpm_secret_security",
        default=["user", "host", "deployment"],
        mutable=True,
        help="Who may own the secret of an emulated TPM on this host: any of user, host and deployment. The host "
        "offers them if swtpm_enabled is true. The default is nova's. SIGHUP applies it.",
    ),
    cfg.ListOpt(
        "pmem_namespaces",
        default=[],
        help="Persistent memory for guests: namespaces by label, as in 128G:ns0|ns1,MEDIUM:ns2. Each label has a "
        "resource class of its own, CUSTOM_PMEM_NAMESPACE_ and the label. Empty: none. Needs a restart.",
    ),
    cfg.IntOpt(
        "num_intel_tdx_guests",
        min=0,
        mutable=True,
        help="How many guests with Intel TDX this host takes; needs cpu_mode = host-passthrough. A value above the "
        "kernel's number applies too. Unset: the kernel's number (tdx in /sys/fs/cgroup/misc.capacity); set the "
        "option if the kernel reports none. 0: none. At most 2147483647. SIGHUP applies it.",
    ),
]
