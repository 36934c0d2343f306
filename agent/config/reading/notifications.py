"""Read [notifications]: what the agent sends and answers over the message broker."""

from __future__ import annotations

from agent.bus.options import PublishingOptions
from agent.config.load import Loaded
from agent.config.options.notifications import GROUP


def publishing_options_from(loaded: Loaded) -> PublishingOptions:
    """Return the [notifications] options; they have an effect only if ``transport_url`` is set."""
    interval = loaded.value(GROUP, "publish_interval")
    return PublishingOptions(
        topics=tuple(loaded.value(GROUP, "topics")) if loaded.value(GROUP, "enabled") else (),
        interval_s=float(interval) if interval else None,
        answers=loaded.value(GROUP, "rpc"),
    )
