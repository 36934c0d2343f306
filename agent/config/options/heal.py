"""[heal]: which findings may be repaired, and within which limits; no option comes from nova.conf."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "heal"

OPTS = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        mutable=True,
        help="The daemon repairs confirmed findings of the codes below by itself, after an audit. Off, because what "
        "the cloud allocated is changed only when somebody wants that; stocktake heal does the same by hand. "
        "SIGHUP applies it.",
    ),
    cfg.ListOpt(
        "codes",
        default=["allocation-leaked"],
        mutable=True,
        help="Findings that the daemon repairs by itself. The default is what nova-compute removes in its audit. "
        "By hand every finding that can be repaired may be. SIGHUP applies it.",
    ),
    cfg.IntOpt(
        "min_age",
        default=300,
        min=0,
        mutable=True,
        help="Seconds since a finding was first seen before it is repaired: longer than a build, a delete or a "
        "confirm takes between its two writes. SIGHUP applies it.",
    ),
    cfg.IntOpt(
        "max_consumers",
        default=2,
        min=1,
        mutable=True,
        help="Consumers that one run may change at most: a fault that makes many look wrong stays small. A reshape "
        "counts as one, whatever the number of consumers that it moves. SIGHUP applies it.",
    ),
    cfg.FloatOpt(
        "max_percent",
        default=5.0,
        min=0.0,
        max=100.0,
        mutable=True,
        help="Percent of this host's consumers that one run may change at most, always at least one; a reshape "
        "counts as one. SIGHUP applies it.",
    ),
]
