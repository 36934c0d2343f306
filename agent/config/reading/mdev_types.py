"""Read the types of mediated devices that guests may get, and the parent devices that provide each type.

One type may omit its addresses: all devices that no other type names provide it. A second
type without addresses is dropped, as in nova, and reported as a notice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from agent.config.load import Loaded
from agent.config.options.devices import type_group
from agent.config.reading.problems import refuse
from agent.model.settings import MdevTypeChoice

_PCI_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\Z")


def mdev_types(loaded: Loaded) -> tuple[MdevTypeChoice, ...]:
    """Return the effective types, in configured order. Raises ConfigError if a device is named twice."""
    refuse(_problems(loaded))
    dropped = dropped_types(loaded)
    return tuple(_choice(loaded, name) for name in _enabled(loaded) if name not in dropped)


def dropped_types(loaded: Loaded) -> tuple[str, ...]:
    """Return the types without addresses after the first such type; no device provides them."""
    return _without_addresses(loaded)[1:]


def notices(loaded: Loaded) -> Iterator[str]:
    """Yield a notice for each dropped type and for each ``mdev_class`` that has no effect."""
    bare = _without_addresses(loaded)
    quoted = loaded.quote("devices", "enabled_mdev_types")
    for name in bare[1:]:
        yield f"{quoted}: {name} is dropped: only one type may be without device_addresses, and {bare[0]} is already"
    for name in bare:
        if loaded.value(type_group(name), "mdev_class") != "VGPU":
            own = loaded.quote(type_group(name), "mdev_class")
            yield f"{own}: has no effect without device_addresses: those devices count as VGPU"


def _without_addresses(loaded: Loaded) -> tuple[str, ...]:
    return tuple(name for name in _enabled(loaded) if not addresses(loaded, name))


def addresses(loaded: Loaded, type_id: str) -> tuple[str, ...]:
    """Return the ``device_addresses`` of a type: PCI addresses in lower case, other names unchanged."""
    return tuple(map(_normal, loaded.listed(type_group(type_id), "device_addresses")))


def other_names(loaded: Loaded) -> tuple[tuple[str, str], ...]:
    """Return (type, name) for names that are not PCI addresses: devices below /sys/devices/virtual, or mistakes."""
    pairs = ((name, address) for name in _enabled(loaded) for address in addresses(loaded, name))
    return tuple(pair for pair in pairs if not _PCI_ADDRESS.match(pair[1]))


def _enabled(loaded: Loaded) -> tuple[str, ...]:
    return tuple(dict.fromkeys(loaded.listed("devices", "enabled_mdev_types")))


def _normal(address: str) -> str:
    lowered = address.lower()
    return lowered if _PCI_ADDRESS.match(lowered) else address


def _choice(loaded: Loaded, name: str) -> MdevTypeChoice:
    named = addresses(loaded, name)
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
        for address, times in Counter(addresses(loaded, name)).items():
            if times > 1:
                yield f"{quoted}: {address} is named twice"
            if address in first:
                yield f"{quoted}: {address} already belongs to type {first[address]}"
            first.setdefault(address, name)
