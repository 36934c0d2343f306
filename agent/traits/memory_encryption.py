"""Decide which kinds of memory encryption guests can have, and when the agent clears AMD SEV's trait on the root.

Each kind has a child provider, which also has the kind's trait (nested/memory_encryption.py). An older nova-compute put
the trait HW_CPU_X86_AMD_SEV and the inventory of MEM_ENCRYPTION_CONTEXT on the root. The agent clears this trait on the
root if a child has the trait: the inventory is then on the child, and the root can serve no guest with SEV.

No host has both AMD's and Intel's kinds. If one kind is unknown, the agent treats all kinds as unknown.
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
from agent.traits.standard_names import AMD_SEV_SNP, INTEL_TDX
from agent.traits.versions import at_least

CONTEXT = "MEM_ENCRYPTION_CONTEXT"
_X86_64 = "x86_64"
_SNP = "sev-snp"
# A guest with TDX sees the host's own CPU. nova offers TDX only if ``cpu_mode`` is configured with this value.
_TDX_CPU_MODE = "host-passthrough"
# Without these parts of libvirt's capabilities, it is unknown which kinds of encryption guests can have.
_OF_GUESTS = OF_EMULATORS | {Part.HOST_CPU}


@dataclass(frozen=True, slots=True, kw_only=True)
class EncryptionModel:
    """One kind of memory encryption.

    ``contexts`` is the number of guests that can use this kind at the same time. It is 0 if no guest can use the kind,
    or if the number is unknown.
    """

    name: str
    trait: str
    contexts: int


def models(host: HostFacts, settings: Settings) -> tuple[EncryptionModel, ...]:
    """Return all four kinds of encryption, each with the number of guests that can use it at the same time.

    A number that is unknown is 0 here, so check ``unknown_because`` first.
    """
    limits = _limits(host)
    most, most_es = (limits.max_guests, limits.max_es_guests) if limits else (0, 0)
    return (
        EncryptionModel(name="amd_sev", trait=os_traits.HW_CPU_X86_AMD_SEV, contexts=most),
        EncryptionModel(
            name="amd_sev_es", trait=os_traits.HW_CPU_X86_AMD_SEV_ES, contexts=most_es if _has_es(host) else 0
        ),
        EncryptionModel(name="amd_sev_snp", trait=AMD_SEV_SNP, contexts=most_es if _has_snp(host) else 0),
        EncryptionModel(name="intel_tdx", trait=INTEL_TDX, contexts=_tdx_guests(host, settings)),
    )


def unknown_because(host: HostFacts, settings: Settings) -> str | None:
    """Return why it is unknown which kinds of memory encryption guests can have; None if it is known.

    Data from libvirt is needed only if the kernel or the configuration allows SEV or TDX.
    """
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
        return "guests can have TDX, but the kernel does not report how many; set [libvirt] num_intel_tdx_guests"
    return _guests_unknown_because(host, _with_tdx(host))


def _guests_unknown_because(host: HostFacts, having: Sequence[DomainCapabilities]) -> str | None:
    """Return why it is unknown whether libvirt supports one kind of memory encryption; None if it is known.

    ``having`` are the machine types for which libvirt reports this kind.
    """
    capabilities = host.capabilities
    if capabilities is None:
        return "libvirt has not reported its capabilities yet"
    # ``arch`` is empty if the host's CPU could not be read.
    if capabilities.host_cpu.arch not in (_X86_64, ""):
        return None
    missing = "; ".join(f"{one.name}: {one.why}" for one in capabilities.missing if one.part in _OF_GUESTS)
    if not capabilities.host_cpu.arch or capabilities.domain is None:
        return f"memory encryption support is unknown ({missing or 'the libvirt driver does not report it'})"
    # A machine type that could not be read matters only if no other machine type has this kind of encryption.
    if missing and not having:
        return f"memory encryption support is partly unknown ({missing})"
    return None


def _limits(host: HostFacts) -> SevLimits | None:
    """Return the limits of SEV guests; None if SEV is off in the kernel, or if libvirt reports SEV for no machine type.

    All machine types have the same limits, so this function returns those of the first machine type with SEV.
    """
    if not host.kernel_flag("kvm_amd/sev"):
        return None
    return next((one.sev for one in _with_sev(host)), None)


def _with_sev(host: HostFacts) -> list[DomainCapabilities]:
    return sorted((one for one in _machines(host) if one.sev is not None), key=lambda one: one.machines)


def _has_es(host: HostFacts) -> bool:
    # If SEV-SNP is on in the kernel, the kernel reserves all contexts (ASIDs) of SEV-ES for SNP guests, so SEV-ES
    # guests get no context. The kernel does so even if libvirt and QEMU cannot start SNP guests.
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
    # nova uses num_intel_tdx_guests even if the kernel has keys for fewer guests (nova's help text is wrong). The agent
    # does the same. agent/config/reading/host_checks.py reports a number that is too high.
    return host.tdx_capacity if settings.intel_tdx_guests is None else settings.intel_tdx_guests


def _with_tdx(host: HostFacts) -> list[DomainCapabilities]:
    return [one for one in _machines(host) if one.tdx]


def _machines(host: HostFacts) -> tuple[DomainCapabilities, ...]:
    """Return the domain capabilities of x86_64 guests on an x86_64 host; no other host has memory encryption."""
    capabilities = host.capabilities
    return capabilities.of_arch(_X86_64) if capabilities and capabilities.host_cpu.arch == _X86_64 else ()


def wish(snapshot: Snapshot, settings: Settings) -> Wish:
    """Clear HW_CPU_X86_AMD_SEV on the root if a child publishes SEV (scenario 107).

    The trait stays while allocations use MEM_ENCRYPTION_CONTEXT of the root, or while it is unknown which kinds of
    memory encryption guests can have.
    """
    host = snapshot.host.value
    if host is None or unknown_because(host, settings) is not None or CONTEXT in snapshot.root_classes_in_use:
        return Wish()
    published = any(m.trait == os_traits.HW_CPU_X86_AMD_SEV and m.contexts for m in models(host, settings))
    return Wish(unwanted=frozenset({os_traits.HW_CPU_X86_AMD_SEV})) if published else Wish()
