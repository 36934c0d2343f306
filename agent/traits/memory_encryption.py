"""Which kinds of memory encryption the host can give its guests, and that their traits do not stay on the root.

What the traits stand for is on a child provider of each kind
(nested/memory_encryption.py). An older nova-compute had the class and
HW_CPU_X86_AMD_SEV on the root: there the trait would promise encryption from a
provider that has none to give. It goes once the child is published, not before.

No two makes of CPU are in one host, so one kind that cannot be told holds up all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import os_traits

from agent.model.host.capabilities import OF_EMULATORS, DomainCapabilities, Part, SevLimits
from agent.model.host.facts import HostFacts
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish
from agent.traits.versions import at_least

CONTEXT = "MEM_ENCRYPTION_CONTEXT"
_X86_64 = "x86_64"
_SNP = "sev-snp"
# A guest with TDX sees the host's own CPU; nova offers it with this mode alone, and not where it is left unset.
_TDX_CPU_MODE = "host-passthrough"
# Without these parts it is not known what guests can have.
_OF_GUESTS = OF_EMULATORS | {Part.HOST_CPU}


@dataclass(frozen=True, slots=True, kw_only=True)
class EncryptionModel:
    """One kind: nova's name for it, its trait, and how many guests it takes; 0 where the host does not support it."""

    name: str
    trait: str
    contexts: int


def models(host: HostFacts, settings: Settings) -> tuple[EncryptionModel, ...]:
    """All four kinds. What cannot be told is 0 here, so ask ``unknown_because`` first."""
    limits = _limits(host)
    most, most_es = (limits.max_guests, limits.max_es_guests) if limits else (0, 0)
    return (
        EncryptionModel(name="amd_sev", trait=os_traits.HW_CPU_X86_AMD_SEV, contexts=most),
        EncryptionModel(
            name="amd_sev_es", trait=os_traits.HW_CPU_X86_AMD_SEV_ES, contexts=most_es if _has_es(host) else 0
        ),
        EncryptionModel(
            name="amd_sev_snp", trait=os_traits.HW_CPU_X86_AMD_SEV_SNP, contexts=most_es if _has_snp(host) else 0
        ),
        EncryptionModel(name="intel_tdx", trait=os_traits.HW_CPU_X86_INTEL_TDX, contexts=_tdx_guests(host, settings)),
    )


def unknown_because(host: HostFacts, settings: Settings) -> str | None:
    """Why it cannot be told, or None. Libvirt is asked only where the kernel has SEV, or the options allow TDX."""
    return _sev_unknown_because(host) or _tdx_unknown_because(host, settings)


def _sev_unknown_because(host: HostFacts) -> str | None:
    if host.unread_parameters:
        return f"the kernel's parameters could not be read ({'; '.join(host.unread_parameters)})"
    if not host.kernel_flag("kvm_amd/sev"):
        return None
    if _limits(host) and host.kernel_flag("kvm_amd/sev_es") and not host.hypervisor_version:
        return "the hypervisor's version could not be read"
    return _guests_unknown_because(host, _with_sev(host))


def _tdx_unknown_because(host: HostFacts, settings: Settings) -> str | None:
    if settings.guest_cpu.mode != _TDX_CPU_MODE or _tdx_capacity(host, settings) == 0:
        return None
    if _with_tdx(host) and _tdx_capacity(host, settings) is None:
        return "guests can have TDX, but the kernel does not say how many; set [libvirt] num_intel_tdx_guests"
    return _guests_unknown_because(host, _with_tdx(host))


def _guests_unknown_because(host: HostFacts, having: Sequence[DomainCapabilities]) -> str | None:
    """Why it cannot be told whether guests have something; ``having`` are the machine types that are known to."""
    capabilities = host.capabilities
    if capabilities is None:
        return "libvirt has not told its capabilities yet"
    # Empty where the host's CPU could not be read.
    if capabilities.host_cpu.arch not in (_X86_64, ""):
        return None
    missing = "; ".join(f"{one.name}: {one.why}" for one in capabilities.missing if one.part in _OF_GUESTS)
    if not capabilities.host_cpu.arch or capabilities.domain is None:
        return f"what guests can have is not known ({missing or 'this driver does not tell'})"
    # A machine type that could not be read matters only where no other one says that there is any.
    if missing and not having:
        return f"what guests can have is known in part ({missing})"
    return None


def _limits(host: HostFacts) -> SevLimits | None:
    """What the first machine type says that has SEV at all: the limits are the platform's (hypervisor-audit 6)."""
    if not host.kernel_flag("kvm_amd/sev"):
        return None
    return next((one.sev for one in _with_sev(host)), None)


def _with_sev(host: HostFacts) -> list[DomainCapabilities]:
    return sorted((one for one in _machines(host) if one.sev is not None), key=lambda one: one.machines)


def _has_es(host: HostFacts) -> bool:
    # A kernel with SNP takes the places of SEV-ES for it, whether or not libvirt and QEMU can use them.
    in_kernel = host.kernel_flag("kvm_amd/sev_es") and not host.kernel_flag("kvm_amd/sev_snp")
    return bool(in_kernel) and at_least(host, qemu=(8, 0, 0))


def _has_snp(host: HostFacts) -> bool:
    in_kernel = host.kernel_flag("kvm_amd/sev_snp")
    return bool(in_kernel) and any(_SNP in one.launch_security for one in _machines(host))


def _tdx_guests(host: HostFacts, settings: Settings) -> int:
    if settings.guest_cpu.mode != _TDX_CPU_MODE or not _with_tdx(host):
        return 0
    return _tdx_capacity(host, settings) or 0


def _tdx_capacity(host: HostFacts, settings: Settings) -> int | None:
    # The option holds even above what the kernel says, as in nova, whose help says otherwise: host_checks tells it.
    return host.tdx_capacity if settings.intel_tdx_guests is None else settings.intel_tdx_guests


def _with_tdx(host: HostFacts) -> list[DomainCapabilities]:
    return [one for one in _machines(host) if one.tdx]


def _machines(host: HostFacts) -> tuple[DomainCapabilities, ...]:
    """Those of x86_64 guests on an x86_64 host; no other host is asked for any kind."""
    capabilities = host.capabilities
    return capabilities.of_arch(_X86_64) if capabilities and capabilities.host_cpu.arch == _X86_64 else ()


class MemoryEncryptionTraits:
    """HW_CPU_X86_AMD_SEV leaves the root for the child that it belongs to (scenario 107)."""

    name = "memory-encryption"

    def wish(self, snapshot: Snapshot, settings: Settings) -> Wish:
        """Cleared where SEV is published on a child; with contexts in use on the root it stays beside them."""
        host = snapshot.host.value
        if host is None or unknown_because(host, settings) is not None or CONTEXT in snapshot.root_classes_in_use:
            return Wish()
        published = any(m.trait == os_traits.HW_CPU_X86_AMD_SEV and m.contexts for m in models(host, settings))
        return Wish(unwanted=frozenset({os_traits.HW_CPU_X86_AMD_SEV})) if published else Wish()
