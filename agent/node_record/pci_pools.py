"""Build the pools of free PCI devices. The scheduler filters hosts by these pools (the record's ``pci_stats``).

Devices with the tag ``physical_network`` are in the pools, but not in Placement. A virtual function in use
removes its physical function from the pools, and a physical function in use removes its virtual functions.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from agent.model.host.device_match import Match, matched
from agent.model.host.device_spec import DeviceSpec
from agent.model.host.devices import PciDevice, PciKind, PciPool
from agent.model.memo import for_equal_arguments
from agent.nested.pci_offers import PARENTS

_NOT_OF_A_POOL = frozenset({"resource_class", "traits", "rp_uuid", "rp_uuids"})
_REMOTE = "remote_managed"
_NO_PROVIDERS: Mapping[str, str] = MappingProxyType({})


@for_equal_arguments
def pools(
    devices: tuple[PciDevice, ...],
    specs: tuple[DeviceSpec, ...],
    in_use: frozenset[str],
    providers: Mapping[str, str] = _NO_PROVIDERS,
) -> tuple[PciPool, ...]:
    """Return the pools, sorted by address. ``in_use``: addresses in use; ``providers``: provider uuids by address."""
    blocked = _blocked(devices, in_use)
    alike: dict[PciPool, int] = defaultdict(int)
    for match in matched(devices, specs):
        if match.device.address not in blocked:
            alike[_pool(match, providers)] += 1
    counted = (dataclasses.replace(pool, count=count) for pool, count in alike.items())
    return tuple(sorted(counted, key=_order))


def _blocked(devices: Iterable[PciDevice], in_use: frozenset[str]) -> frozenset[str]:
    """Return the addresses that no pool counts.

    These are the addresses in use, the physical function of each virtual function in use, and the virtual functions of
    each physical function in use.
    """
    blocked = set(in_use)
    for device in devices:
        if device.parent_address is None:
            continue
        if device.address in in_use:
            blocked.add(device.parent_address)
        if device.parent_address in in_use:
            blocked.add(device.address)
    return frozenset(blocked)


def _pool(match: Match, providers: Mapping[str, str]) -> PciPool:
    device = match.device
    address = device.parent_address or device.address
    is_reported = not match.spec.tag("physical_network")
    return PciPool(
        address=address,
        vendor_id=device.vendor_id,
        product_id=device.product_id,
        kind=device.kind.value,
        numa_node=device.numa_node,
        count=0,
        tags=_tags(match),
        parent_interface=None if device.kind in PARENTS else device.parent_interface,
        provider_uuid=providers.get(address) if is_reported else None,
    )


def _tags(match: Match) -> tuple[tuple[str, str | None], ...]:
    tags = {name: value for name, value in match.spec.tags if name not in _NOT_OF_A_POOL}
    if match.device.kind is not PciKind.PCI and tags.get(_REMOTE) is None:
        tags[_REMOTE] = "false"
    return tuple(sorted(tags.items()))


def _order(pool: PciPool) -> tuple[str, ...]:
    numa_node = "" if pool.numa_node is None else str(pool.numa_node)
    return (pool.address, pool.vendor_id, pool.product_id, pool.kind, numa_node, repr(pool.tags))
