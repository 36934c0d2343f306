"""[devices] and [mdev_TYPE]: mediated devices such as virtual GPUs; names and meaning are those of nova.conf."""

from __future__ import annotations

import re

from oslo_config import cfg, types

GROUP = "devices"
# Placement's limit for the name of a resource class.
LONGEST_CLASS = 255

OPTS = FROM_NOVA = [
    cfg.ListOpt(
        "enabled_mdev_types",
        default=[],
        deprecated_name="enabled_vgpu_types",
        help="Types of mediated devices that guests may get, as in nvidia-35,nvidia-36. A group [mdev_TYPE] may set "
        "more for each type: device_addresses, the PCI addresses of the devices that make the type (one type may "
        "lack it: all devices that no other type names make that one); mdev_class, VGPU (the default) or a class "
        "CUSTOM_...; max_instances, how many of the type there may be on the host. Empty: none. All of it needs "
        "a restart.",
    ),
]


class MdevClass(types.String):
    """The resource class of a mediated device type; its error message says which names are valid."""

    _NAME = re.compile(r"(VGPU|CUSTOM_[A-Z0-9_]+)\Z")

    def __call__(self, value: object) -> str:
        """Return the class. Raises ValueError if the name is not valid."""
        name: str = super().__call__(value)
        if len(name) > LONGEST_CLASS or not self._NAME.match(name):
            raise ValueError(
                f"must be VGPU, or CUSTOM_ and then A-Z, 0-9 and _ only, {LONGEST_CLASS} characters at most"
            )
        return name


def type_group(type_id: str) -> str:
    """Return the name of the option group of a type."""
    return f"mdev_{type_id}"


def type_opts(type_id: str) -> list[cfg.Opt]:
    """Return the options of that group."""
    return [
        cfg.ListOpt("device_addresses", default=[], deprecated_group=f"vgpu_{type_id}"),
        cfg.Opt("mdev_class", type=MdevClass(), default="VGPU"),
        cfg.IntOpt("max_instances", min=1),
    ]
