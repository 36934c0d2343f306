"""Allocation ratios: what is forced at each audit, and what a class begins with (hypervisor-audit 4.2)."""

from __future__ import annotations

from agent.config.load import Loaded
from agent.config.reading.bounds import bounded
from agent.model.settings import RatioPolicy


def ratio(loaded: Loaded, name: str) -> RatioPolicy:
    """That of cpu, ram or disk; 0.0 is unset, as in nova, so that one file serves both."""
    return RatioPolicy(
        configured=loaded.value("DEFAULT", f"{name}_allocation_ratio") or None,
        initial=bounded(loaded, "DEFAULT", f"initial_{name}_allocation_ratio"),
    )
