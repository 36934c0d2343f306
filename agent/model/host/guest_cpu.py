"""Which CPU models make up the guests' CPU, by ``[libvirt] cpu_mode`` and architecture.

What libvirt is asked and what is told of its answer go by this one rule. nova's
own default is qemu64 on every architecture that it does not name; there libvirt
has no such model (NO_SUPPORT, or one without a single flag), and nova takes that
for a CPU without flags: so there is no model to ask about.
"""

from __future__ import annotations

from agent.model.settings import GuestCpu

# nova.virt.libvirt.utils.get_cpu_model_from_arch, where libvirt can answer.
_DEFAULT = {"x86_64": "qemu64", "i686": "qemu32", "ppc64le": "POWER8", "aarch64": "max"}
# nova's _get_guest_cpu_model_config. The others' guests take the host's CPU as it is.
_WITH_MODELS = frozenset({"kvm", "qemu"})


def takes_a_model(virt_type: str) -> bool:
    """Whether guests of that ``[libvirt] virt_type`` have a CPU model at all."""
    return virt_type in _WITH_MODELS


def models_of(guest_cpu: GuestCpu, arch: str, virt_type: str) -> tuple[str, ...]:
    """Models by libvirt's names, as configured or by default; () where the host's own CPU counts, or there is none.

    Source: hypervisor-audit 8.1. ``none`` is the emulator's default model, not the host's.
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
