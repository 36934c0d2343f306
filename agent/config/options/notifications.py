"""[notifications]: what the agent sends and answers over the message broker; no option comes from nova.conf."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "notifications"

OPTS = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        help="Send a notification for each audit and each change of a finding, on the topics below (docs/messages.md). "
        "Off, because a topic that nobody reads grows in the broker. The daemon alone sends, in every role. Needs "
        "transport_url. Needs a restart.",
    ),
    cfg.ListOpt(
        "topics",
        default=["stocktake_notifications"],
        help="Topics of the notifications; one of our own, so that a telemetry service that does not know them is not "
        "given them. Needs a restart.",
    ),
    cfg.BoolOpt(
        "rpc",
        default=True,
        help="Answer on topic stocktake, server [DEFAULT] host: audit_now, last_report, publish_now and ping "
        "(docs/messages.md). Without it stocktake watch waits for this host's interval. Needs transport_url. Needs a "
        "restart.",
    ),
    cfg.IntOpt(
        "publish_interval",
        default=60,
        min=0,
        help="Seconds between two fan-outs of this host's capabilities and usage, to schedulers that cache host "
        "state and to stocktake watch, which calls a host silent after three of them; one goes out at each change too, "
        "at most one a second. Nobody need listen: nothing is kept in the broker. 0: never. Needs transport_url. Needs "
        "a restart.",
    ),
]
