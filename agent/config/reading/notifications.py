"""Decide what is told to others over the broker: [notifications] as a value."""

from __future__ import annotations

from dataclasses import dataclass

from agent.config.load import Loaded
from agent.config.options.notifications import GROUP


@dataclass(frozen=True, slots=True, kw_only=True)
class TellingOptions:
    """``topics`` is empty where no notifications are sent, ``interval_s`` None where no state is; ``answers``: RPC."""

    topics: tuple[str, ...]
    interval_s: float | None
    answers: bool


def telling_options_from(loaded: Loaded) -> TellingOptions:
    """Counts only where a transport_url is set."""
    interval = loaded.value(GROUP, "publish_interval")
    return TellingOptions(
        topics=tuple(loaded.value(GROUP, "topics")) if loaded.value(GROUP, "enabled") else (),
        interval_s=float(interval) if interval else None,
        answers=loaded.value(GROUP, "rpc"),
    )
