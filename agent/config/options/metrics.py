"""[metrics]: where Prometheus reads metrics. nova.conf's [metrics] is not used: it belongs to nova-scheduler."""

from __future__ import annotations

import os
from collections.abc import Iterable

from oslo_config import cfg

from agent.config.loaded import Loaded
from agent.config.options.healthcheck import addresses, public_notices
from agent.errors import ConfigError
from agent.monitoring.options import MetricsOptions

GROUP = "metrics"

OPTS = [
    cfg.ListOpt(
        "uri",
        default=[],
        help="Addresses on which the daemon answers GET /metrics for Prometheus: tcp://127.0.0.1:9199, "
        "tcp://[::1]:9199 or unix:///PATH. A TCP address also answers the health checks. Empty, the default: the "
        "daemon serves no metrics. A new value needs a restart.",
    ),
    cfg.StrOpt(
        "textfile",
        default="",
        help="Path of a file for the textfile collector of node_exporter. The daemon writes its metrics to this file "
        "after each audit. The name ends in .prom, and the folder must exist. Empty, the default: no file. A new "
        "value needs a restart.",
    ),
]


def metrics_options_from(loaded: Loaded) -> MetricsOptions:
    """Return the [metrics] options. Raises ConfigError for an invalid address or file."""
    textfile = loaded.value(GROUP, "textfile")
    if textfile and (problem := _textfile_problem(textfile)):
        raise ConfigError(f"{loaded.quote(GROUP, 'textfile')}: {problem}")
    return MetricsOptions(addresses=addresses(loaded, GROUP), textfile=textfile)


def metrics_notices(loaded: Loaded) -> Iterable[str]:
    """Yield a sentence for each address that other machines can reach."""
    return public_notices(loaded, GROUP)


def _textfile_problem(path: str) -> str | None:
    if not os.path.isabs(path):
        return "must be an absolute path"
    if not path.endswith(".prom"):
        return "must end in .prom: node_exporter reads only such files"
    folder = os.path.dirname(path)
    return None if os.path.isdir(folder) else f"there is no folder {folder}"
