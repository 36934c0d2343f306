"""Which ``[pci] device_spec`` each PCI device falls under, for the PCI family: told in model/device_match.py.

It stands there because a root trait asks it too, and traits know no children.
"""

from __future__ import annotations

from agent.model.device_match import ANY, IdleSpec, Match, idle, matched

__all__ = ["ANY", "IdleSpec", "Match", "idle", "matched"]
