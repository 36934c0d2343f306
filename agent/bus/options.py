"""Define the configured values of the message bus, without the library that uses them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class BusOptions:
    """How to reach the broker.

    ``url`` is oslo.messaging's transport_url and holds a password, so it is not in the repr. ``rabbit`` are (option,
    value) pairs of [oslo_messaging_rabbit] that a file sets: queues must be declared as nova's services declare them
    (durable or not), or the broker rejects the declaration. ``response_timeout_s`` is how long an answer may take.
    """

    url: str = field(repr=False)
    rabbit: tuple[tuple[str, object], ...] = ()
    response_timeout_s: float = 60.0

    @property
    def shown(self) -> str:
        """The URL without its user and password, for messages."""
        scheme, _, rest = self.url.partition("://")
        hosts = ",".join(part.rpartition("@")[2] for part in rest.split(","))
        return f"{scheme}://{hosts}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishingOptions:
    """What the agent sends to the broker and answers.

    ``topics``: notifications go to these topics (none: no notifications). ``interval_s``: seconds between two messages
    with the host's state (None: none are sent). ``answers``: whether the agent answers RPC calls.
    """

    topics: tuple[str, ...]
    interval_s: float | None
    answers: bool
