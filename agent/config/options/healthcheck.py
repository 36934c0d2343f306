"""[healthcheck]: where the daemon answers health checks.

The agent reads this group only from its own configuration files, not from nova.conf.
"""

from __future__ import annotations

from collections.abc import Iterable

from oslo_config import cfg

from agent.config.loaded import Loaded
from agent.errors import ConfigError
from agent.monitoring.address import Address, parsed
from agent.monitoring.options import HealthOptions

GROUP = "healthcheck"
_NO_ACCESS_CONTROL = "every user of the network can read from this address: it has neither TLS nor a password"

OPTS = [
    cfg.ListOpt(
        "uri",
        default=["unix://${agent.run_dir}/health.sock"],
        help="Addresses (unix:///PATH or tcp://HOST:PORT) on which the daemon answers GET /health, /livez and /readyz. "
        "A unix socket also answers /report.json, and has the permissions of the report file. "
        "Empty: the daemon answers no health checks. A new value needs a restart.",
    ),
    cfg.IntOpt(
        "ttl",
        default=300,
        min=0,
        help="Seconds after which a health check without a new result expires: its state is then warn. If three "
        "audit intervals are longer than this value, a check expires after three audit intervals. 0: checks do not "
        "expire. A new value needs a restart.",
    ),
    cfg.IntOpt(
        "cache_control",
        min=-1,
        help="Seconds in the header Cache-Control of the answer. Unset: the value of ttl. 0: no header. -1: "
        "no-cache. A new value needs a restart.",
    ),
]


def health_options_from(loaded: Loaded) -> HealthOptions:
    """Return the [healthcheck] options. Raises ConfigError for an address that cannot be parsed."""
    ttl, cache_control = loaded.value(GROUP, "ttl"), loaded.value(GROUP, "cache_control")
    return HealthOptions(
        addresses=addresses(loaded, GROUP),
        ttl_s=float(ttl),
        cache_control=ttl if cache_control is None else cache_control,
    )


def addresses(loaded: Loaded, group: str) -> tuple[Address, ...]:
    """Return the addresses in the group's option ``uri``. Raises ConfigError that names each invalid address."""
    found, problems = [], []
    # If run_dir is a relative path, agent_options_from reports it. An address below such a run_dir is skipped here, so
    # that the same mistake is not reported twice.
    of_run_dir = f"unix://{loaded.value('agent', 'run_dir')}/"
    for uri in loaded.value(group, "uri"):
        if uri.startswith(of_run_dir) and not of_run_dir.startswith("unix:///"):
            continue
        try:
            found.append(parsed(uri))
        except ValueError as error:
            problems.append(f"{loaded.quote(group, 'uri')}: {uri}: {error}")
    if problems:
        raise ConfigError(*problems)
    return tuple(dict.fromkeys(found))


def health_notices(loaded: Loaded) -> Iterable[str]:
    """Yield a sentence for each address that other machines can reach."""
    return public_notices(loaded, GROUP)


def public_notices(loaded: Loaded, group: str) -> Iterable[str]:
    """Yield a sentence for each address in the group's option ``uri`` that other machines can reach."""
    for address in addresses(loaded, group):
        if not address.is_local:
            yield f"{loaded.quote(group, 'uri')}: {address.uri}: {_NO_ACCESS_CONTROL}"
