"""[libvirt]: where the hypervisor is and what the guests' disks are. Same names and meaning as in nova.conf."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "libvirt"

OPTS = FROM_NOVA = [
    cfg.StrOpt(
        "virt_type",
        default="kvm",
        choices=["kvm", "lxc", "qemu", "parallels"],
        help="Kind of guests; decides which libvirt driver is asked when connection_uri is empty. The default is "
        "nova's. Needs a restart.",
    ),
    cfg.StrOpt(
        "connection_uri",
        default="",
        help="libvirt URI. Empty: qemu:///system, or that of virt_type. test:///path/to/file.xml is libvirt's test "
        "driver. Needs a restart.",
    ),
    cfg.StrOpt(
        "images_type",
        default="default",
        choices=["raw", "flat", "qcow2", "lvm", "rbd", "ploop", "default"],
        help="What guests' disks are made of, which is what DISK_GB counts: lvm counts images_volume_group, the "
        "others the file system of instances_path. rbd is not measured yet and is refused. Needs a restart.",
    ),
    cfg.StrOpt(
        "images_volume_group",
        help="Volume group of the guests' disks; required with images_type = lvm. Needs a restart.",
    ),
    cfg.IntOpt(
        "file_backed_memory",
        default=0,
        min=0,
        mutable=True,
        help="MiB of memory to report in the place of the machine's own, where guests' memory lies in files. "
        "0: off. SIGHUP applies it.",
    ),
    cfg.BoolOpt(
        "cpu_power_management",
        default=False,
        mutable=True,
        help="Nova switches unused dedicated CPUs off: they still count as PCPU. SIGHUP applies it.",
    ),
]
