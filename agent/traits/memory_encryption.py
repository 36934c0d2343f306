"""Which kinds of memory encryption the host can give its guests, and that their traits do not stay on the root.

What the traits stand for is on a child provider of each kind (nested/sev.py). An
older nova-compute had the class and HW_CPU_X86_AMD_SEV on the root: there the trait
would promise encryption from a provider that has none to give. It goes once the
child is published, not before.
"""

from __future__ import annotations

from dataclasses import dataclass

import os_traits

from agent.model.capabilities import Capabilities, DomainCapabilities, MissingPart, SevLimits
from agent.model.host import HostFacts
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish
from agent.traits.versions import at_least

CONTEXT = "MEM_ENCRYPTION_CONTEXT"
_X86_64 = "x86_64"
_SNP = "sev-snp"


@dataclass(frozen=True, slots=True, kw_only=True)
class EncryptionModel:
    """One kind: nova's name for it, its trait, and how many guests it takes; 0 where the host does not support it."""

    name: str
    trait: str
    contexts: int


def models(host: HostFacts) -> tuple[EncryptionModel, ...]:
    """All three kinds. What cannot be told is 0 here, so ask ``unknown_because`` first."""
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
    )


def unknown_because(host: HostFacts) -> str | None:
    """Why it cannot be told, or None. A kernel without SEV says enough: then nothing else is asked."""
    if not host.kernel_flag("kvm_amd/sev"):
        return None
    capabilities = host.capabilities
    if capabilities is None:
        return "libvirt has not told its capabilities yet"
    if capabilities.host_cpu.arch != _X86_64:
        return None
    if host.kernel_flag("kvm_amd/sev_es") and not host.hypervisor_version:
        return "the hypervisor's version could not be read"
    return _guests_unknown_because(capabilities)


def _guests_unknown_because(capabilities: Capabilities) -> str | None:
    missing = "; ".join(f"{one.part}: {one.why}" for one in capabilities.missing if _is_of_guests(one))
    if capabilities.domain is None:
        return f"what guests can have is not known ({missing or 'this driver does not tell'})"
    # A machine type that could not be read matters only where no other one says that there is SEV.
    if missing and not _with_sev(capabilities):
        return f"what guests can have is known in part ({missing})"
    return None


def _is_of_guests(missing: MissingPart) -> bool:
    return missing.part == "guests" or missing.part.startswith("domain capabilities")


def _limits(host: HostFacts) -> SevLimits | None:
    """What the first machine type says that has SEV at all: the limits are the platform's (hypervisor-audit 6)."""
    capabilities = host.capabilities
    if capabilities is None or capabilities.host_cpu.arch != _X86_64 or not host.kernel_flag("kvm_amd/sev"):
        return None
    return next((one.sev for one in _with_sev(capabilities)), None)


def _with_sev(capabilities: Capabilities) -> list[DomainCapabilities]:
    found = [one for one in capabilities.of_arch(_X86_64) if one.sev is not None]
    return sorted(found, key=lambda one: one.machines)


def _has_es(host: HostFacts) -> bool:
    # A kernel with SNP takes the places of SEV-ES for it, whether or not libvirt and QEMU can use them.
    in_kernel = host.kernel_flag("kvm_amd/sev_es") and not host.kernel_flag("kvm_amd/sev_snp")
    return in_kernel and at_least(host, qemu=(8, 0, 0))


def _has_snp(host: HostFacts) -> bool:
    return host.kernel_flag("kvm_amd/sev_snp") and any(_launches_snp(one) for one in _machines(host))


def _machines(host: HostFacts) -> tuple[DomainCapabilities, ...]:
    return host.capabilities.of_arch(_X86_64) if host.capabilities else ()


def _launches_snp(machine: DomainCapabilities) -> bool:
    return _SNP in machine.launch_security


class MemoryEncryptionTraits:
    """HW_CPU_X86_AMD_SEV leaves the root for the child that it belongs to (scenario 107)."""

    name = "memory-encryption"

    def wish(self, snapshot: Snapshot, settings: Settings) -> Wish:  # noqa: ARG002
        """Cleared where SEV is published on a child; with contexts in use on the root it stays beside them."""
        host = snapshot.host.value
        if host is None or unknown_because(host) is not None or CONTEXT in snapshot.root_classes_in_use:
            return Wish()
        published = any(m.trait == os_traits.HW_CPU_X86_AMD_SEV and m.contexts for m in models(host))
        return Wish(unwanted=frozenset({os_traits.HW_CPU_X86_AMD_SEV})) if published else Wish()
