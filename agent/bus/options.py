"""Define what the daemon passes to agent/bus: options, and the functions that RPC callers may use.

Imports no messaging library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from agent.model.report import AuditReport


@dataclass(frozen=True, slots=True, kw_only=True)
class BusOptions:
    """How to reach the broker.

    ``url`` is oslo.messaging's transport_url. The repr omits the URL, which contains a password. ``rabbit`` has the
    options of [oslo_messaging_rabbit] that a configuration file sets. The agent needs them to declare queues as nova's
    services do (durable or not): the broker rejects a different declaration. ``response_timeout_s`` is the time limit
    for the response to a call.
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
    """Which messages the agent sends to the broker, and whether it answers RPC calls (``answers``).

    ``topics`` are the topics of notifications. Without a topic, the agent sends no notifications. ``interval_s`` is the
    number of seconds between two messages with the host's state. If it is None, the agent sends no such messages.
    """

    topics: tuple[str, ...]
    interval_s: float | None
    answers: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonControl:
    """The daemon's functions for RPC callers: they can only request audits and read reports. Any thread may call them.

    ``request_by_peer`` queues a reason to audit. It returns the maximum number of seconds until the audit is due, or
    None if the agent is stopping. The audit starts later if another audit is still running then. ``waiting`` returns
    the reasons that wait for the next audit. ``last_report`` returns None before the first audit.
    """

    request_by_peer: Callable[[str], float | None]
    waiting: Callable[[], tuple[str, ...]]
    last_report: Callable[[], AuditReport | None]
