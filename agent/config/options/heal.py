"""[heal]: which findings may be repaired, and within which limits; no option comes from nova.conf."""

from __future__ import annotations

from oslo_config import cfg

from agent.config.loaded import Loaded
from agent.errors import ConfigError
from agent.model.heal import HealSettings

GROUP = "heal"

OPTS = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        mutable=True,
        help="Whether the daemon itself repairs, after an audit, confirmed findings whose code is in [heal] codes. Off "
        "by default, because the agent changes the cloud's allocations only if the operator wants that; "
        "stocktake heal can make the same repairs. SIGHUP applies it.",
    ),
    cfg.ListOpt(
        "codes",
        default=["allocation-leaked"],
        mutable=True,
        help="Codes of the findings that the daemon itself repairs. The default is the only finding that nova-compute, "
        "too, repairs in its audit. The command stocktake heal can repair every finding that has a repair. SIGHUP "
        "applies it.",
    ),
    cfg.IntOpt(
        "min_age",
        default=300,
        min=0,
        mutable=True,
        help="Minimum age of a finding, in seconds since it was first seen, before it is repaired. During a build, a "
        "delete or a resize confirmation, Placement and nova's database differ for a time; the default is longer than "
        "this time. SIGHUP applies it.",
    ),
    cfg.IntOpt(
        "max_consumers",
        default=2,
        min=1,
        mutable=True,
        help="Maximum number of consumers that one repair run may change, so that a fault that makes many consumers "
        "look wrong does little harm. A reshape counts as one consumer, even if it moves many. SIGHUP applies it.",
    ),
    cfg.FloatOpt(
        "max_percent",
        default=5.0,
        min=0.0,
        max=100.0,
        mutable=True,
        help="Maximum percentage of this host's consumers that one repair run may change, but always at least one "
        "consumer; a reshape counts as one consumer. SIGHUP applies it.",
    ),
]


def heal_settings(loaded: Loaded) -> HealSettings:
    """Return the [heal] options. Raises ConfigError for a code without a repair, naming the valid codes."""
    from agent.repairs import BY_CODE

    unknown = sorted(set(loaded.listed("heal", "codes")) - BY_CODE.keys())
    if unknown:
        quoted = loaded.quote("heal", "codes")
        raise ConfigError(f"{quoted}: no repair for {', '.join(unknown)}; valid codes: {', '.join(sorted(BY_CODE))}")
    return HealSettings(
        enabled=loaded.value("heal", "enabled"),
        codes=loaded.listed("heal", "codes"),
        min_age_s=float(loaded.value("heal", "min_age")),
        max_consumers=loaded.value("heal", "max_consumers"),
        max_percent=loaded.value("heal", "max_percent"),
    )
