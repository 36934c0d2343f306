"""COMPUTE_STORAGE_BUS_*: how a disk can be attached.

For QEMU, libvirt lists the buses in the domain capabilities of each machine type. A bus counts if one machine type has
it. For the other virtualisation types the buses are fixed, so the agent does not query libvirt.
"""

from __future__ import annotations

from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish, emulators, wish_of, wish_of_emulators

_BUSES = ("fdc", "ide", "lxc", "sata", "scsi", "uml", "usb", "virtio", "xen")
_FIXED: dict[str, frozenset[str]] = {"lxc": frozenset({"lxc"}), "parallels": frozenset({"ide", "scsi"})}


def wish(snapshot: Snapshot, settings: Settings) -> Wish:
    """Set or clear each trait; change no trait while QEMU's domain capabilities are unknown."""
    if settings.virt_type not in ("kvm", "qemu"):
        return wish_of(_answers(_FIXED.get(settings.virt_type, frozenset())))
    asked = emulators(snapshot)
    if asked is None:
        return Wish()
    return wish_of_emulators(_answers(frozenset().union(*(one.buses for one in asked))), snapshot)


def _answers(supported: frozenset[str]) -> dict[str, bool]:
    return {f"COMPUTE_STORAGE_BUS_{bus.upper()}": bus in supported for bus in _BUSES}
