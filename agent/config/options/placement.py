"""[placement]: keystoneauth's options, which nova.conf may set too, and limits on the agent's reads from Placement.

Which options the group has depends on ``auth_type``: each auth plugin has its own options, and load.py registers them
once the type is known.
"""

from __future__ import annotations

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = "placement"

# Stocktake's defaults for some of keystoneauth's options. service_type and valid_interfaces have nova's defaults.
# keystoneauth itself has no default for the time-out and for the numbers of retries. Without a time-out, a call could
# hang. Retries apply only to GET requests: the client never sends a write twice.
DEFAULTS = {
    "service_type": "placement",
    "valid_interfaces": ["internal", "public"],
    "timeout": 10,
    "connect_retries": 2,
    "status_code_retries": 2,
}

FROM_NOVA = [
    *loading.get_auth_common_conf_options(),
    *loading.get_session_conf_options(),
    # The deprecated option ``interface`` is omitted: valid_interfaces has a default here, and keystoneauth raises
    # TypeError if both options are set.
    *loading.get_adapter_conf_options(include_deprecated=False),
]

AGENT_OPTS = [
    cfg.IntOpt(
        "full_read_every",
        default=10,
        min=1,
        mutable=True,
        help="Number of audits after which the agent reads all allocations again, because Placement increases no "
        "generation when an allocation is removed. After ten times this number of audits, the agent reads this "
        "host's whole provider tree again, because a generation can recur after Placement's database was restored. "
        "The hosts of a fleet read at different times. SIGHUP applies a new value.",
    ),
    cfg.IntOpt(
        "consumer_reads",
        default=20,
        min=0,
        mutable=True,
        help="Maximum number of consumers that one audit asks Placement about (allocations, project and user). Each "
        "consumer takes one request. Suspicious consumers come first, then new or changed consumers. An audit that "
        "reads all allocations again (full_read_every) also asks about one consumer beyond the maximum, each time a "
        "different one. 0: the agent sends no such request. SIGHUP applies a new value.",
    ),
    cfg.FloatOpt(
        "slow_answer",
        default=0.5,
        min=0.01,
        help="A response from Placement is late if it takes this many seconds longer than usual. After a late "
        "response the agent pauses its reads for a random time, so that a fleet does not overload Placement. If the "
        "response is 1 s later than this limit, the pause is 10 s on average. A new value needs a restart.",
    ),
    cfg.FloatOpt(
        "longest_pause",
        default=120.0,
        min=0.0,
        max=120.0,
        help="Longest pause in seconds. The agent pauses its reads after Placement answered late, or with status 429 "
        "or 503. 0: no pause. Commands and --once pause at most 5 s. More than 120 is not allowed, because systemd "
        "restarts an agent that makes no progress for 180 s. A new value needs a restart.",
    ),
]

OPTS = [*FROM_NOVA, *AGENT_OPTS]


def sample_opts() -> list[cfg.Opt]:
    """Return the options for the sample file: their defaults are ``DEFAULTS``, and the auth plugin is ``password``."""
    shown = [*loading.get_session_conf_options(), *loading.get_adapter_conf_options(include_deprecated=False)]
    cfg.set_defaults(shown, **DEFAULTS)
    plugin = loading.get_auth_plugin_conf_options("password")
    return [*loading.get_auth_common_conf_options(), *plugin, *shown, *AGENT_OPTS]
