"""capabilities-incomplete: libvirt answered, but some of the capabilities that the agent asked for are missing.

There is no finding while the agent's first read of the capabilities is in progress. After libvirt starts, this read
takes seconds, and the next audit has the capabilities.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import inspect, reload_agent, virsh, wait
from agent.model.finding import Remedy, Severity
from agent.model.host.capabilities import MissingPart, Part
from agent.model.snapshot import LIBVIRT

_OF_EMULATORS = (
    "COMPUTE_ARCH_*, COMPUTE_STORAGE_BUS_*, COMPUTE_GRAPHICS_MODEL_*, COMPUTE_VIOMMU_MODEL_INTEL and _SMMUV3,"
    " COMPUTE_SECURITY_UEFI_SECURE_BOOT, COMPUTE_SECURITY_TPM_* and the providers of memory encryption"
)
# For each part of libvirt's capabilities: the traits and providers that the agent does not change in Placement while
# the part is missing.
_UNCHANGED = {
    Part.HOST_FEATURES: "HW_CPU_X86_*",
    Part.HOST_CPU: "HW_ARCH_*, HW_CPU_X86_*, COMPUTE_SECURITY_UEFI_SECURE_BOOT, COMPUTE_SECURITY_TPM_*"
    " and the providers of memory encryption",
    Part.MODEL_FEATURES: "HW_CPU_X86_*",
    Part.GUESTS: _OF_EMULATORS,
    Part.MACHINE: f"{_OF_EMULATORS} (but the agent still adds traits of the machine types in libvirt's answer)",
    Part.DOMAIN: _OF_EMULATORS,
    Part.VERSION: "COMPUTE_NET_VIF_MODEL_IGB, COMPUTE_SOUND_MODEL_VIRTIO and COMPUTE_STORAGE_VIRTIO_FS",
}


def _find(audit: AuditFacts) -> Findings:
    host = audit.snapshot.host.value
    missing = host.capabilities.missing if host and host.capabilities else ()
    if missing:
        ordered = sorted(missing, key=lambda one: (one.name, one.why))
        yield RULE.finding(
            audit,
            headline=f"{audit.host}: libvirt's answer lacks {', '.join(one.name for one in ordered)}; the agent "
            "changes no trait that depends on the missing data",
            expected="libvirt reports everything that the agent asked about the host's CPU and libvirt's emulators",
            actual="; ".join(f"libvirt's answer lacks {one.name} ({one.why}): {kept_text(one)}" for one in ordered),
            facts=(("parts", ", ".join(one.name for one in ordered)),),
            remedies=_remedies(audit),
        )


def _remedies(audit: AuditFacts) -> tuple[Remedy, ...]:
    return (
        inspect("see whether libvirt now reports all capabilities of the host", virsh(audit, "capabilities")),
        inspect("see whether libvirt now reports all capabilities of the emulators", virsh(audit, "domcapabilities")),
        reload_agent("after a correction of libvirt, let the agent read the capabilities at once"),
        wait("the agent reads the capabilities again by itself after libvirt has restarted"),
    )


def kept_text(missing: MissingPart) -> str:
    """Return a text on what the agent leaves unchanged, because libvirt's answer lacks this part."""
    return f"in Placement, the agent does not change {_UNCHANGED[missing.part]}"


RULE = Rule(code="capabilities-incomplete", severity=Severity.WARNING, find=_find, rests_on=frozenset({LIBVIRT}))
