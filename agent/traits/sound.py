"""COMPUTE_SOUND_MODEL_*: the sound cards that a guest can have.

libvirt lists no sound cards. Every QEMU has all of them except virtio, which needs recent versions of libvirt and QEMU.
"""

from __future__ import annotations

from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish, wish_of
from agent.traits.versions import at_least, hypervisor_known

_ALWAYS = ("AC97", "ES1370", "ICH6", "ICH9", "PCSPK", "SB16", "USB")


def wish(snapshot: Snapshot, settings: Settings) -> Wish:  # noqa: ARG001
    """Return the traits of the sound cards.

    The traits of the seven cards that every QEMU has are always set. The trait of the card virtio is set or cleared
    only if QEMU's version is known.
    """
    answers = {f"COMPUTE_SOUND_MODEL_{model}": True for model in _ALWAYS}
    host = snapshot.host.value
    if host is not None and hypervisor_known(host):
        answers["COMPUTE_SOUND_MODEL_VIRTIO"] = at_least(host, libvirt=(10, 4, 0), qemu=(8, 2, 0))
    return wish_of(answers)
