"""Read [notifications]: what the agent sends and answers over the message broker."""

from __future__ import annotations

from dataclasses import dataclass

from agent.config.load import Loaded
from agent.config.options.notifications import GROUP


@dataclass(frozen=True, slots=True, kw_only=True)
class TellingOptions:
    """What the agent does on the broker.

    ``topics``: the topics of notifications, empty if the agent sends none. ``interval_s``: seconds between two fan-outs
    of the host's state, None for no fan-out. ``answers``: whether the agent answers RPC calls.
    """

    topics: tuple[str, ...]
    interval_s: float | None
    answers: bool


def telling_options_from(loaded: Loaded) -> TellingOptions:
    """Return the [notifications] options; they have an effect only if ``transport_url`` is set."""
    interval = loaded.value(GROUP, "publish_interval")
    return TellingOptions(
        topics=tuple(loaded.value(GROUP, "topics")) if loaded.value(GROUP, "enabled") else (),
        interval_s=float(interval) if interval else None,
        answers=loaded.value(GROUP, "rpc"),
    )
