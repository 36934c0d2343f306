"""[placement]: keystoneauth's options, which nova.conf may set too, and limits on the agent's reads from Placement.

Which options the group has depends on ``auth_type``: each auth plugin has its own
options, and load.py registers them once the type is known.
"""

from __future__ import annotations

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = "placement"

# service_type and valid_interfaces are nova's defaults. keystoneauth has no default time-out, so a call could hang,
# and no default retries. The retries apply to GET only: the client never sends a write twice.
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

OURS = [
    cfg.IntOpt(
        "full_read_every",
        default=10,
        min=1,
        mutable=True,
        help="Audits after which allocations are read again although no generation moved: Placement does not raise "
        "it when an allocation is removed. After ten times as many all of our tree is read anew: a database that was "
        "put back may show old generations. Which audits these are differs from host to host. SIGHUP applies it.",
    ),
    cfg.IntOpt(
        "consumer_reads",
        default=20,
        min=0,
        mutable=True,
        help="Records of single consumers read in one audit at most, suspicious ones first, then those that came or "
        "changed; bounds the requests of an audit after a busy hour. One record more is read with allocations "
        "(full_read_every), of whoever has waited longest. 0: none at all. SIGHUP applies it.",
    ),
    cfg.FloatOpt(
        "slow_answer",
        default=0.5,
        min=0.01,
        help="Seconds after which an answer is late: for ten times as long as it was late no read is sent, on average. "
        "So a fleet takes what Placement has, and no more. Needs a restart.",
    ),
    cfg.FloatOpt(
        "longest_pause",
        default=120.0,
        min=0.0,
        max=120.0,
        help="Seconds that a read waits at most because Placement answered late, or with 429 or 503; 0: it never "
        "waits. Commands and --once wait 5 s at most. No more than the default: after three minutes the watchdog takes "
        "the agent for stuck. Needs a restart.",
    ),
]

OPTS = [*FROM_NOVA, *OURS]


def sample_opts() -> list[cfg.Opt]:
    """Return the group for the sample file: with the defaults above, and the options of the most common auth plugin."""
    shown = [*loading.get_session_conf_options(), *loading.get_adapter_conf_options(include_deprecated=False)]
    cfg.set_defaults(shown, **DEFAULTS)
    plugin = loading.get_auth_plugin_conf_options("password")
    return [*loading.get_auth_common_conf_options(), *plugin, *shown, *OURS]
