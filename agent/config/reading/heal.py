"""Decide how heal is to be careful: the [heal] group as one value."""

from __future__ import annotations

from agent.config.load import Loaded
from agent.model.heal import HealSettings


def heal_settings(loaded: Loaded) -> HealSettings:
    """The group's values. ``codes`` are not judged here: which there are is the findings' to know."""
    return HealSettings(
        enabled=loaded.value("heal", "enabled"),
        codes=loaded.listed("heal", "codes"),
        min_age_s=float(loaded.value("heal", "min_age")),
        max_consumers=loaded.value("heal", "max_consumers"),
        max_percent=loaded.value("heal", "max_percent"),
    )
