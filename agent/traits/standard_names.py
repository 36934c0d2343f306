"""The standard traits that the agent knows: those of the installed os-traits, and newer ones that the agent sets.

OpenStack 2025.1 has os-traits 3.3, which lacks the names in ``NEWER``. Placement, not this library, decides whether a
trait exists: a Placement of another release may know the trait. Placement rejects a trait that it does not know, and
the agent reports the trait's name (agent/findings/write_refused.py).
"""

from __future__ import annotations

import os_traits

INTEL_TDX = "HW_CPU_X86_INTEL_TDX"
AMD_SEV_SNP = "HW_CPU_X86_AMD_SEV_SNP"
ONE_TIME_USE = "HW_PCI_ONE_TIME_USE"

#: Names that os-traits 3.9 has and os-traits 3.3 lacks: only those that the agent sets or clears.
NEWER = frozenset(
    {
        *(
            f"COMPUTE_SOUND_MODEL_{model}"
            for model in ("AC97", "ES1370", "ICH6", "ICH9", "PCSPK", "SB16", "USB", "VIRTIO")
        ),
        *(f"COMPUTE_USB_MODEL_{model}" for model in ("NEC_XHCI", "QEMU_XHCI")),
        *(f"HW_CPU_X86_{flag}" for flag in ("AMXBF16", "AMXINT8", "AMXTILE")),
        AMD_SEV_SNP,
        INTEL_TDX,
        ONE_TIME_USE,
    }
)

STANDARD: frozenset[str] = frozenset(os_traits.get_traits()) | NEWER
