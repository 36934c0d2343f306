"""[devices] and [mdev_TYPE]: mediated devices such as virtual GPUs; names and meaning are those of nova.conf.

One type may be configured without device addresses. This type applies to all devices that no other type names. The
agent ignores any further type without addresses, as nova does, and logs a notice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from oslo_config import cfg, types

from agent.config.loaded import Loaded
from agent.config.problems import refuse
from agent.model.settings import MdevTypeChoice

GROUP = "devices"
# The maximum number of characters that Placement allows in the name of a resource class.
LONGEST_CLASS = 255
_PCI_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\Z")

OPTS = FROM_NOVA = [
    cfg.ListOpt(
        "enabled_mdev_types",
        default=[],
        deprecated_name="enabled_vgpu_types",
        help="Types of mediated devices that guests may get, as in nvidia-35,nvidia-36. If the list is empty, guests "
        "get no mediated devices. A type may have a group [mdev_TYPE] with three options. device_addresses: PCI "
        "addresses of the devices that offer this type; one type may omit this option and then applies to all devices "
        "that no other type names. mdev_class: VGPU (the default) or a class ``CUSTOM_...``. max_instances: maximum "
        "number of mediated devices of this type on the host. A new value of any of these options needs a restart.",
    ),
]


class MdevClass(types.String):
    """The type of the option ``mdev_class``, a resource class; the error message says which names are valid."""

    _NAME = re.compile(r"(VGPU|CUSTOM_[A-Z0-9_]+)\Z")

    def __call__(self, value: object) -> str:
        """Return the name of the resource class. Raises ValueError if the name is not valid."""
        name: str = super().__call__(value)
        if len(name) > LONGEST_CLASS or not self._NAME.match(name):
            raise ValueError(
                f"must be VGPU, or CUSTOM_ and then A-Z, 0-9 and _ only, {LONGEST_CLASS} characters at most"
            )
        return name


def type_group(type_id: str) -> str:
    """Return the name of the option group of a mediated device type."""
    return f"mdev_{type_id}"


def type_opts(type_id: str) -> list[cfg.Opt]:
    """Return the options of the group ``[mdev_TYPE]``."""
    return [
        cfg.ListOpt("device_addresses", default=[], deprecated_group=f"vgpu_{type_id}"),
        cfg.Opt("mdev_class", type=MdevClass(), default="VGPU"),
        cfg.IntOpt("max_instances", min=1),
    ]


def mdev_types(loaded: Loaded) -> tuple[MdevTypeChoice, ...]:
    """Return the configured mdev types in order, without the types that the agent ignores (see ``mdev_notices``).

    Raises ConfigError if a device is named twice.
    """
    refuse(_problems(loaded))
    dropped = _without_addresses(loaded)[1:]
    return tuple(_choice(loaded, name) for name in _enabled(loaded) if name not in dropped)


def mdev_notices(loaded: Loaded) -> Iterator[str]:
    """Yield a notice for each mdev type that the agent ignores, and for each ``mdev_class`` that has no effect."""
    bare = _without_addresses(loaded)
    quoted = loaded.quote("devices", "enabled_mdev_types")
    for name in bare[1:]:
        yield f"{quoted}: {name} is ignored: only one type may omit device_addresses, and {bare[0]} already omits them"
    for name in bare:
        if loaded.value(type_group(name), "mdev_class") != "VGPU":
            own = loaded.quote(type_group(name), "mdev_class")
            yield f"{own}: has no effect without device_addresses; devices of this type count as VGPU"


def other_names(loaded: Loaded) -> tuple[tuple[str, str], ...]:
    """Return (mdev type, entry) for each entry of ``device_addresses`` that is not a PCI address.

    Such an entry is the name of a virtual device, or a typo.
    """
    pairs = ((name, address) for name in _enabled(loaded) for address in _addresses(loaded, name))
    return tuple(pair for pair in pairs if not _PCI_ADDRESS.match(pair[1]))


def _enabled(loaded: Loaded) -> tuple[str, ...]:
    return tuple(dict.fromkeys(loaded.listed("devices", "enabled_mdev_types")))


def _without_addresses(loaded: Loaded) -> tuple[str, ...]:
    return tuple(name for name in _enabled(loaded) if not _addresses(loaded, name))


def _addresses(loaded: Loaded, type_id: str) -> tuple[str, ...]:
    """Return the ``device_addresses`` of a type: PCI addresses in lower case, other names unchanged."""
    named = loaded.listed(type_group(type_id), "device_addresses")
    return tuple(name.lower() if _PCI_ADDRESS.match(name.lower()) else name for name in named)


def _choice(loaded: Loaded, name: str) -> MdevTypeChoice:
    named = _addresses(loaded, name)
    return MdevTypeChoice(
        type_id=name,
        addresses=named,
        resource_class=loaded.value(type_group(name), "mdev_class") if named else "VGPU",
        max_instances=loaded.value(type_group(name), "max_instances"),
    )


def _problems(loaded: Loaded) -> Iterable[str]:
    first: dict[str, str] = {}
    for name in _enabled(loaded):
        quoted = loaded.quote(type_group(name), "device_addresses")
        for address, times in Counter(_addresses(loaded, name)).items():
            if times > 1:
                yield f"{quoted}: {address} is named twice"
            if address in first:
                yield f"{quoted}: {address} already belongs to type {first[address]}"
            first.setdefault(address, name)
