"""HW_ARCH_*: the host's architecture. COMPUTE_ARCH_*: every architecture for which the host has an emulator.

The agent never clears these traits. A host does not change its architecture, and nova-compute also keeps the trait of
an emulator that an operator has uninstalled.
"""

from __future__ import annotations

from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish, capabilities, known


def wish(snapshot: Snapshot, settings: Settings) -> Wish:  # noqa: ARG001
    """Set the standard traits of the host's architecture and of the host's emulators. Clear no trait."""
    answer = capabilities(snapshot)
    if answer is None:
        return Wish()
    emulated = {f"COMPUTE_ARCH_{one.arch.upper()}" for one in answer.domain or ()}
    return Wish(wanted=known({f"HW_ARCH_{answer.host_cpu.arch.upper()}", *emulated}))
