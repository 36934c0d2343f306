"""Decide which CPU models guests have, by ``[libvirt] cpu_mode`` and architecture.

Both the queries to libvirt and the evaluation of the answers use this module. For an architecture without a default of
its own, nova falls back to qemu64. libvirt does not know qemu64 on such an architecture (NO_SUPPORT), or returns the
model without flags. In both cases nova assumes a CPU without flags. Therefore this module does not name qemu64 for
such an architecture.
"""

from __future__ import annotations

from agent.model.settings import GuestCpu

# nova's default CPU model for each architecture (nova.virt.libvirt.utils, get_cpu_model_from_arch). An architecture is
# left out if libvirt does not know the default model there.
_DEFAULT = {"x86_64": "qemu64", "i686": "qemu32", "ppc64le": "POWER8", "aarch64": "max"}
# The virtualization types with which guests have a CPU model (nova's _get_guest_cpu_model_config). Guests of any other
# type have the host's CPU.
_WITH_MODELS = frozenset({"kvm", "qemu"})


def takes_a_model(virt_type: str) -> bool:
    """Whether guests of this ``[libvirt] virt_type`` have a CPU model at all."""
    return virt_type in _WITH_MODELS


def models_of(guest_cpu: GuestCpu, arch: str, virt_type: str) -> tuple[str, ...]:
    """Return libvirt's names of the guests' CPU models; () if guests have no model.

    These are the configured models, or else nova's default model. The ``cpu_mode`` ``none`` means the emulator's
    default model, not the host's CPU.
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
