"""Allocation ratios: what is forced at each audit, and what a class begins with (hypervisor-audit 4.2)."""

from __future__ import annotations

from agent.config.load import Loaded
from agent.config.reading.problems import refuse
from agent.model.settings import RatioPolicy

NAMES = ("cpu", "ram", "disk")


def ratio(loaded: Loaded, name: str) -> RatioPolicy:
    """That of cpu, ram or disk; 0.0 is unset, as in nova, so that one file serves both."""
    return RatioPolicy(
        configured=loaded.value("DEFAULT", f"{name}_allocation_ratio") or None,
        initial=loaded.value("DEFAULT", f"initial_{name}_allocation_ratio"),
    )


def check_ratios(loaded: Loaded) -> None:
    """Raise ConfigError for each that would leave its class without capacity."""
    options = [f"initial_{name}_allocation_ratio" for name in NAMES]
    bad = [loaded.quote("DEFAULT", option) for option in options if not loaded.value("DEFAULT", option)]
    refuse(f"{quoted}: must be more than 0, or the class has no capacity" for quoted in bad)
