"""[notifications]: which messages the agent sends and which requests it answers. nova.conf has no effect on these."""

from __future__ import annotations

from oslo_config import cfg

from agent.bus.options import PublishingOptions
from agent.config.loaded import Loaded

GROUP = "notifications"

OPTS = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        help="Send a notification for each audit and each change of a finding (docs/messages.md). The option "
        "``topics`` lists the topics. Off by default, because a queue without a reader grows in the broker. Only the "
        "daemon sends notifications, in every role. Needs transport_url. A new value needs a restart.",
    ),
    cfg.ListOpt(
        "topics",
        default=["stocktake_notifications"],
        help="Topics of the notifications. The default is Stocktake's own topic, so that no telemetry service "
        "receives messages that it does not know. A new value needs a restart.",
    ),
    cfg.BoolOpt(
        "rpc",
        default=True,
        help="Answer the RPC requests audit_now, last_report, publish_now and ping on topic stocktake, with "
        "[DEFAULT] host as the server name (docs/messages.md). If false, stocktake watch has to wait for this "
        "host's next fan-out message (publish_interval). Needs transport_url. A new value needs a restart.",
    ),
    cfg.IntOpt(
        "publish_interval",
        default=60,
        min=0,
        help="Seconds between two fan-out messages with this host's capabilities and usage. The readers are stocktake "
        "watch and schedulers that cache host state. After three missing messages, stocktake watch marks the host as "
        "silent. The daemon also sends a message at each change, at most one per second. Without a reader, the broker "
        "drops the message, so no queue grows. 0: the daemon sends no message. Needs transport_url. A new value needs "
        "a restart.",
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
