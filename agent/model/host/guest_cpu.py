"""The CPU models of the guests' CPU, by ``[libvirt] cpu_mode`` and architecture.

The questions to libvirt and the use of its answers both follow this one rule. nova's default model is qemu64 on
every architecture that nova does not name. On those, libvirt has no such model (NO_SUPPORT) or a model without
flags. nova treats both as a CPU without flags, so this module names no model there.
"""

from __future__ import annotations

from agent.model.settings import GuestCpu

# nova.virt.libvirt.utils.get_cpu_model_from_arch, only the architectures for which libvirt knows the model.
_DEFAULT = {"x86_64": "qemu64", "i686": "qemu32", "ppc64le": "POWER8", "aarch64": "max"}
# nova's _get_guest_cpu_model_config. Guests of other virtualization types have the host's CPU.
_WITH_MODELS = frozenset({"kvm", "qemu"})


def takes_a_model(virt_type: str) -> bool:
    """Whether guests of this ``[libvirt] virt_type`` have a CPU model at all."""
    return virt_type in _WITH_MODELS


def models_of(guest_cpu: GuestCpu, arch: str, virt_type: str) -> tuple[str, ...]:
    """Return the configured or default models by libvirt's names; () if guests have the host's CPU or no model.

    The ``cpu_mode`` ``none`` means the emulator's default model, not the host's CPU.
    """
    if not takes_a_model(virt_type):
        return ()
    if guest_cpu.mode == "none":
        return (_DEFAULT[arch],) if arch in _DEFAULT else ()
    if guest_cpu.mode != "custom":
        return ()
    if not guest_cpu.models and arch == "aarch64":
        return (_DEFAULT[arch],)
    return guest_cpu.models
