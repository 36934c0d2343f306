"""COMPUTE_REMOTE_MANAGED_PORTS: whether the host offers a device for remote-managed ports (of a SmartNIC DPU).

A ``device_spec`` tagged ``remote_managed`` is not enough: a device must match the spec. A device counts even while a
guest uses the device.
"""

from __future__ import annotations

from agent.model.host.device_match import matched
from agent.model.host.device_spec import DeviceSpec
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish, wish_of
from agent.traits.versions import at_least

_TRAIT = "COMPUTE_REMOTE_MANAGED_PORTS"


def wish(snapshot: Snapshot, settings: Settings) -> Wish:
    """Set COMPUTE_REMOTE_MANAGED_PORTS if the host offers a device tagged ``remote_managed``, else clear the trait."""
    if not any(_is_remote(spec) for spec in settings.pci.specs):
        return wish_of({_TRAIT: False})
    host = snapshot.host.value
    if host is None or host.devices is None:
        return Wish()
    offered = any(_is_remote(match.spec) for match in matched(host.devices.pci, settings.pci.specs))
    if not offered and host.devices.odd:
        return Wish()
    # nova needs the serial number of the card that a device belongs to. libvirt reports this number only since version
    # 7.9.0, so with an older libvirt the trait is cleared.
    return wish_of({_TRAIT: offered and at_least(host, libvirt=(7, 9, 0))})


def _is_remote(spec: DeviceSpec) -> bool:
    return spec.tag("remote_managed") == "true"
