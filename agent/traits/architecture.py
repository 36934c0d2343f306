"""HW_ARCH_* of the host, and COMPUTE_ARCH_* of every architecture that an emulator here can run.

Neither is ever cleared: a host does not change its architecture, and the reference
leaves the trait of an emulator that was taken away (hypervisor-audit 8.2).
"""

from __future__ import annotations

from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish, capabilities, known


class ArchitectureTraits:
    """What runs here."""

    name = "architecture"

    def wish(self, snapshot: Snapshot, settings: Settings) -> Wish:  # noqa: ARG002
        """Those that os-traits has a name for; nothing is unwanted."""
        answer = capabilities(snapshot)
        if answer is None:
            return Wish()
        emulated = {f"COMPUTE_ARCH_{one.arch.upper()}" for one in answer.domain or ()}
        return Wish(wanted=known({f"HW_ARCH_{answer.host_cpu.arch.upper()}", *emulated}))
