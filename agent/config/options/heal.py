"""[heal]: which findings may be repaired, and within which limits; no option comes from nova.conf."""

from __future__ import annotations

from oslo_config import cfg

from agent.config.loaded import DEFAULT_ORIGIN, Loaded
from agent.errors import ConfigError
from agent.model.heal import HealSettings

GROUP = "heal"
# If update_resources_interval is 0, nova-compute audits its resources at this interval, in seconds. The number is
# oslo.service's default for periodic tasks.
_NOVA_DEFAULT_S = 60.0
_NOVA_AUDITS = 3

OPTS = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        mutable=True,
        help="Whether the daemon itself repairs findings after an audit. The daemon repairs only confirmed findings "
        "whose code is in [heal] codes. Off by default, because the agent changes the cloud's allocations only if the "
        "operator wants that; stocktake heal can make the same repairs. SIGHUP applies a new value.",
    ),
    cfg.ListOpt(
        "codes",
        default=["allocation-leaked"],
        mutable=True,
        help="Codes of the findings that the daemon itself repairs. By default, the daemon removes only leaked "
        "allocations; nova-compute removes such allocations too. The code allocation-differs is not allowed here: only "
        "the command stocktake heal repairs such a finding. SIGHUP applies a new value.",
    ),
    cfg.IntOpt(
        "min_age",
        default=300,
        min=0,
        mutable=True,
        help="Minimum age of a finding, in seconds since it was first seen, before it is repaired. During a build, "
        "a delete or a resize confirmation, Placement and nova's database differ for a time; the default is longer "
        "than this time. SIGHUP applies a new value.",
    ),
    cfg.IntOpt(
        "max_consumers",
        default=2,
        min=1,
        mutable=True,
        help="Maximum number of consumers that one repair run may change. The limit keeps the harm small if findings "
        "are wrong. A reshape counts as one consumer, even if the reshape moves many consumers. SIGHUP applies a new "
        "value.",
    ),
    cfg.FloatOpt(
        "max_percent",
        default=5.0,
        min=0.0,
        max=100.0,
        mutable=True,
        help="Maximum percentage of this host's consumers that one repair run may change; one consumer is always "
        "allowed. A reshape counts as one consumer. SIGHUP applies a new value.",
    ),
]


def heal_settings(loaded: Loaded) -> HealSettings:
    """Return the [heal] options. Raises ConfigError if [heal] codes has findings that the daemon cannot repair."""
    _check_codes(loaded)
    return HealSettings(
        enabled=loaded.value("heal", "enabled"),
        codes=loaded.listed("heal", "codes"),
        min_age_s=float(loaded.value("heal", "min_age")),
        max_consumers=loaded.value("heal", "max_consumers"),
        max_percent=loaded.value("heal", "max_percent"),
        nova_audits_s=_nova_audits_s(loaded),
    )


def _check_codes(loaded: Loaded) -> None:
    if loaded.origin(GROUP, "codes") == DEFAULT_ORIGIN:
        # If no file sets the codes, there is nothing to check. Return before the repairs are imported, because a daemon
        # that does not heal must not keep the repairs in memory.
        return
    from agent.repairs import BY_CODE, DAEMON_CODES

    codes, quoted = set(loaded.listed("heal", "codes")), loaded.quote("heal", "codes")
    valid = f"valid codes: {', '.join(sorted(DAEMON_CODES))}"
    unknown, by_hand = sorted(codes - BY_CODE.keys()), sorted((codes & BY_CODE.keys()) - DAEMON_CODES)
    if unknown:
        raise ConfigError(f"{quoted}: no repair for {', '.join(unknown)}; {valid}")
    if by_hand:
        raise ConfigError(f"{quoted}: the daemon does not repair {', '.join(by_hand)}: run `stocktake heal`; {valid}")


def _nova_audits_s(loaded: Loaded) -> float:
    seconds = loaded.value("DEFAULT", "update_resources_interval")
    return 0.0 if seconds < 0 else _NOVA_AUDITS * float(seconds or _NOVA_DEFAULT_S)
