"""[notifications]: what the agent sends and answers over the message broker; no option comes from nova.conf."""

from __future__ import annotations

from oslo_config import cfg

from agent.bus.options import PublishingOptions
from agent.config.loaded import Loaded

GROUP = "notifications"

OPTS = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        help="Send a notification for each audit and each change of a finding, on the topics below "
        "(docs/messages.md). Off by default, because a queue without a reader grows in the broker. Only the "
        "daemon sends notifications, in every role. Needs transport_url. Needs a restart.",
    ),
    cfg.ListOpt(
        "topics",
        default=["stocktake_notifications"],
        help="Topics of the notifications. The default is Stocktake's own topic, so that no telemetry service "
        "receives messages that it does not know. Needs a restart.",
    ),
    cfg.BoolOpt(
        "rpc",
        default=True,
        help="Answer on topic stocktake, server [DEFAULT] host: audit_now, last_report, publish_now and ping "
        "(docs/messages.md). If false, stocktake watch waits for this host's next fan-out (publish_interval). "
        "Needs transport_url. Needs a restart.",
    ),
    cfg.IntOpt(
        "publish_interval",
        default=60,
        min=0,
        help="Seconds between two fan-outs of this host's capabilities and usage, for schedulers that cache host "
        "state and for stocktake watch, which marks a host as silent when three of them are missing. The daemon "
        "also sends one at each change, at most one a second. Without a listener nothing stays in the broker. 0: "
        "never. Needs transport_url. Needs a restart.",
    ),
]


def publishing_options_from(loaded: Loaded) -> PublishingOptions:
    """Return the [notifications] options; they have an effect only if ``transport_url`` is set."""
    interval = loaded.value(GROUP, "publish_interval")
    return PublishingOptions(
        topics=tuple(loaded.value(GROUP, "topics")) if loaded.value(GROUP, "enabled") else (),
        interval_s=float(interval) if interval else None,
        answers=loaded.value(GROUP, "rpc"),
    )
