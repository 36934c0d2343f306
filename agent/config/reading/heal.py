"""Read the [heal] group: which findings the daemon repairs, and the limits of a repair run."""

from __future__ import annotations

from agent.config.load import Loaded
from agent.errors import ConfigError
from agent.model.heal import HEALABLE, HealSettings


def heal_settings(loaded: Loaded) -> HealSettings:
    """Return the [heal] options. Raises ConfigError for a code that no repair exists for, naming the valid codes."""
    unknown = sorted(set(loaded.listed("heal", "codes")) - set(HEALABLE))
    if unknown:
        quoted = loaded.quote("heal", "codes")
        raise ConfigError(f"{quoted}: nothing repairs {', '.join(unknown)}; the codes are {', '.join(HEALABLE)}")
    return HealSettings(
        enabled=loaded.value("heal", "enabled"),
        codes=loaded.listed("heal", "codes"),
        min_age_s=float(loaded.value("heal", "min_age")),
        max_consumers=loaded.value("heal", "max_consumers"),
        max_percent=loaded.value("heal", "max_percent"),
    )
