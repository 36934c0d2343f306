"""capabilities-incomplete: libvirt answered, but not all that was asked of it.

Capabilities that are still being read for the first time are no finding: libvirt
takes seconds after its start, and the next audit has them.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.findings.base import Rule, World
from agent.model.capabilities import MissingPart
from agent.model.finding import Finding, Severity

_OF_EMULATORS = (
    "COMPUTE_ARCH_*, COMPUTE_STORAGE_BUS_*, COMPUTE_GRAPHICS_MODEL_*, COMPUTE_VIOMMU_MODEL_INTEL and _SMMUV3,"
    " COMPUTE_SECURITY_UEFI_SECURE_BOOT, COMPUTE_SECURITY_TPM_* and the providers of memory encryption"
)
# What rests on a part, by how its name begins (sources/libvirt_capabilities.py): the first that fits.
_STAYS = (
    ("host CPU features", "HW_CPU_X86_* stay"),
    (
        "host CPU",
        "HW_ARCH_*, HW_CPU_X86_*, COMPUTE_SECURITY_UEFI_SECURE_BOOT, COMPUTE_SECURITY_TPM_*"
        " and the providers of memory encryption stay",
    ),
    ("features of CPU model ", "HW_CPU_X86_* stay"),
    ("guests", f"{_OF_EMULATORS} stay"),
    ("domain capabilities of ", f"what no other machine type has of {_OF_EMULATORS} stays"),
    ("domain capabilities", f"{_OF_EMULATORS} stay"),
    (
        "hypervisor version",
        "COMPUTE_NET_VIF_MODEL_IGB, COMPUTE_SOUND_MODEL_VIRTIO and COMPUTE_STORAGE_VIRTIO_FS stay",
    ),
)


def _find(world: World) -> Iterable[Finding]:
    host = world.snapshot.host.value
    missing = host.capabilities.missing if host and host.capabilities else ()
    if missing:
        yield _finding(world, missing)


def _finding(world: World, missing: tuple[MissingPart, ...]) -> Finding:
    ordered = sorted(missing, key=lambda one: (one.part, one.why))
    return RULE.finding(
        world,
        expected="libvirt tells everything that was asked about the host's CPU and its emulators",
        actual="; ".join(f"{one.part} missing ({one.why}): {stays(one)}" for one in ordered),
        facts=(("parts", ", ".join(one.part for one in ordered)),),
    )


def stays(missing: MissingPart) -> str:
    """What stays as Placement records it while that part is unknown."""
    what = next((text for begins, text in _STAYS if missing.part.startswith(begins)), "what rests on it stays")
    return f"{what} as recorded"


RULE = Rule(
    code="capabilities-incomplete",
    severity=Severity.WARNING,
    remedy="compare `virsh capabilities`, `virsh domcapabilities` and libvirt's log with the reason given;"
    " the agent asks again by itself, and at once after a reload (SIGHUP)",
    find=_find,
)
