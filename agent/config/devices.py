"""[devices] and [mdev_TYPE]: mediated devices, as of virtual GPUs. Same names and meaning as in nova.conf."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "devices"

OPTS = FROM_NOVA = [
    cfg.ListOpt(
        "enabled_mdev_types",
        default=[],
        deprecated_name="enabled_vgpu_types",
        help="Types of mediated devices that guests may get, as in nvidia-35,nvidia-36. Of each a group [mdev_TYPE] "
        "may say more: device_addresses, the PCI addresses of the devices that make it (of one type it may be "
        "missing: that is made by all others); mdev_class, VGPU (the default) or a class CUSTOM_...; max_instances, "
        "how many of the type there may be on the host. Empty: none. All of it needs a restart.",
    ),
]


def type_group(type_id: str) -> str:
    """The group that says more of a type."""
    return f"mdev_{type_id}"


def type_opts(type_id: str) -> list[cfg.Opt]:
    """The options of that group."""
    return [
        cfg.ListOpt("device_addresses", default=[], deprecated_group=f"vgpu_{type_id}"),
        cfg.StrOpt("mdev_class", default="VGPU", regex=r"^(VGPU|CUSTOM_[A-Z0-9_]+)\Z", max_length=255),
        cfg.IntOpt("max_instances", min=1),
    ]
