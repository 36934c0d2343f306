"""Decide how heal is to be careful: the [heal] group as one value."""

from __future__ import annotations

from agent.config.load import Loaded
from agent.errors import ConfigError
from agent.model.heal import HEALABLE, HealSettings


def heal_settings(loaded: Loaded) -> HealSettings:
    """The group's values. Raises ConfigError on a code that nothing repairs, naming those that there are."""
    unknown = sorted(set(loaded.listed("heal", "codes")) - set(HEALABLE))
    if unknown:
        quoted = loaded.quote("heal", "codes")
        raise ConfigError(f"{quoted}: nothing repairs {', '.join(unknown)}; there are {', '.join(HEALABLE)}")
    return HealSettings(
        enabled=loaded.value("heal", "enabled"),
        codes=loaded.listed("heal", "codes"),
        min_age_s=float(loaded.value("heal", "min_age")),
        max_consumers=loaded.value("heal", "max_consumers"),
        max_percent=loaded.value("heal", "max_percent"),
    )
