"""[placement]: keystoneauth's options, which nova.conf may set too, and limits on the agent's reads from Placement.

Which options the group has depends on ``auth_type``: each auth plugin has its own
options, and load.py registers them once the type is known.
"""

from __future__ import annotations

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = "placement"

# service_type and valid_interfaces have nova's defaults. keystoneauth itself has no default time-out, so a call could
# hang, and no default for retries. The retries apply to GET only: the client never sends a write twice.
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
    # Without the deprecated ``interface``: keystoneauth raises TypeError if both ``interface`` and valid_interfaces,
    # which has a default here, are set.
    *loading.get_adapter_conf_options(include_deprecated=False),
]

AGENT_OPTS = [
    cfg.IntOpt(
        "full_read_every",
        default=10,
        min=1,
        mutable=True,
        help="Number of audits after which the agent reads allocations again although no generation changed: "
        "Placement does not raise the generation when an allocation is removed. After ten times as many audits "
        "the agent reads this host's whole tree again, because a restored database may have old generations. "
        "Which audits these are differs from host to host. SIGHUP applies it.",
    ),
    cfg.IntOpt(
        "consumer_reads",
        default=20,
        min=0,
        mutable=True,
        help="Maximum number of single consumers' records that one audit reads: suspicious consumers first, then new "
        "or changed ones. It limits the requests of an audit after a busy hour. An audit that reads the "
        "allocations (full_read_every) reads one record more, of the consumer that has waited longest. 0: none "
        "at all. SIGHUP applies it.",
    ),
    cfg.FloatOpt(
        "slow_answer",
        default=0.5,
        min=0.01,
        help="Seconds beyond an answer's usual time after which the answer counts as late. The agent then sends no "
        "read for ten times the delay, on average, so that a fleet asks no more of Placement than Placement can "
        "serve. Needs a restart.",
    ),
    cfg.FloatOpt(
        "longest_pause",
        default=120.0,
        min=0.0,
        max=120.0,
        help="Maximum seconds that a read waits because Placement answered late, or with 429 or 503; 0: it never "
        "waits. Commands and --once wait 5 s at most. The default is also the maximum: after three minutes the "
        "watchdog considers the agent stuck. Needs a restart.",
    ),
]

OPTS = [*FROM_NOVA, *AGENT_OPTS]


def sample_opts() -> list[cfg.Opt]:
    """Return the group for the sample file: with the defaults above, and the options of the most common auth plugin."""
    shown = [*loading.get_session_conf_options(), *loading.get_adapter_conf_options(include_deprecated=False)]
    cfg.set_defaults(shown, **DEFAULTS)
    plugin = loading.get_auth_plugin_conf_options("password")
    return [*loading.get_auth_common_conf_options(), *plugin, *shown, *AGENT_OPTS]
