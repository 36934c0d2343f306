"""COMPUTE_NET_VIF_MODEL_* and COMPUTE_NET_VIRTIO_PACKED: the network cards that a guest can have.

libvirt lists no network cards, so the agent decides by ``[libvirt] virt_type``; igb also needs recent libvirt and QEMU.
"""

from __future__ import annotations

from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish, wish_of
from agent.traits.versions import at_least, hypervisor_known

_KVM = frozenset({"e1000", "e1000e", "ne2k_pci", "pcnet", "rtl8139", "spapr_vlan", "virtio", "vmxnet3"})
_MODELS: dict[str, frozenset[str]] = {
    "kvm": _KVM,
    "qemu": _KVM | {"lan9118"},
    "parallels": frozenset({"e1000", "rtl8139", "virtio"}),
}
_ALL = frozenset().union(*_MODELS.values())
_IGB = "COMPUTE_NET_VIF_MODEL_IGB"


def wish(snapshot: Snapshot, settings: Settings) -> Wish:
    """Set or clear each trait, with one exception.

    On kvm and qemu, igb's trait stays as it is while QEMU's version is unknown.
    """
    supported = _MODELS.get(settings.virt_type, frozenset())
    answers = {f"COMPUTE_NET_VIF_MODEL_{model.upper()}": model in supported for model in _ALL}
    answers["COMPUTE_NET_VIRTIO_PACKED"] = True  # every supported QEMU has packed virtqueues
    host = snapshot.host.value
    if settings.virt_type not in ("kvm", "qemu"):
        answers[_IGB] = False
    elif host is not None and hypervisor_known(host):
        answers[_IGB] = at_least(host, libvirt=(9, 3, 0), qemu=(8, 0, 0))
    return wish_of(answers)
