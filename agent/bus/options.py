"""Define what the daemon passes to the message bus: options, and functions for RPC callers. Loads no library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from agent.model.report import AuditReport


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonControl:
    """What RPC callers reach of a daemon, from any thread: they ask for audits and read reports, nothing else.

    ``request_by_peer`` queues a reason to audit. It returns in how many seconds the agent begins the audit at the
    latest (a running audit ends first); None: no audit follows. ``waiting`` returns the reasons that no audit has taken
    yet. ``last_report`` returns None before the first audit.
    """

    request_by_peer: Callable[[str], float | None]
    waiting: Callable[[], tuple[str, ...]]
    last_report: Callable[[], AuditReport | None]
