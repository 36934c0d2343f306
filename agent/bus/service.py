"""Run the sender of messages and the RPC server over one connection pool.

Every method of BusConnection returns at once or within two seconds, even if the broker is dead or does not respond.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from agent.bus.endpoint import EndpointServer, RpcFunctions
from agent.bus.fanout import Fleet
from agent.bus.notify import Notifications
from agent.bus.options import BusOptions, DaemonControl, PublishingOptions
from agent.bus.outbox import Outbox
from agent.bus.sender import Channels, Sender
from agent.bus.timeouts import ended_within
from agent.bus.transport import Bus
from agent.errors import ConfigError
from agent.model.report import AuditReport
from agent.telemetry.finding_changes import FindingChange

CLOSE_S = 1.0
#: At most this number of RPC calls wait in this process: the broker delivers no more. Without this limit, many waiting
#: calls would fill the memory of this process.
PREFETCH = ("rabbit_qos_prefetch_count", 16)


class BusConnection:
    """The daemon's connection to the bus.

    The daemon starts this object before the worker and stops it after the worker. ``listen`` and ``deafen`` start and
    stop only the RPC server.
    """

    def __init__(
        self,
        bus: Bus,
        options: PublishingOptions,
        control: DaemonControl,
        *,
        host: str,
        agent_version: str,
        now: Callable[[], str],
    ) -> None:
        self._bus = bus
        self._options = options
        channels = Channels(
            send_state=Fleet(bus).send if options.interval_s is not None else None,
            send_notice=Notifications(bus, host, options.topics).send if options.topics else None,
            interval_s=options.interval_s or 0.0,
            agent_version=agent_version,
            broker=bus.options.shown,
        )
        self._sender = Sender(channels, Outbox(), now)
        reached = RpcFunctions(host=host, agent_version=agent_version, daemon=control, publish_now=self._publish_now)
        self._endpoint = EndpointServer(bus, reached) if options.answers else None

    def start(self) -> None:
        """Start the sender thread. Opens no connection yet."""
        self._sender.start()

    def listen(self) -> None:
        """Start the RPC server; it answers as soon as the broker accepts the connection."""
        if self._endpoint is not None:
            self._endpoint.start()

    def deafen(self) -> None:
        """Stop the RPC server."""
        if self._endpoint is not None:
            self._endpoint.stop()

    def stop(self) -> None:
        """Send the queued messages and close the connections."""
        self._sender.stop()
        ended_within(CLOSE_S, self._bus.close, "bus-close")

    def publish(self, report: AuditReport, changed: tuple[FindingChange, ...]) -> None:
        """Hand an audit's report to the sender thread."""
        self._sender.publish(report, changed)

    def counts(self) -> tuple[int, int, int]:
        """Return three numbers: consecutive failed sends, waiting notifications, and dropped notifications."""
        return self._sender.counts()

    def _publish_now(self) -> bool:
        if self._options.interval_s is None:
            return False
        self._sender.ask()
        return True


def checked_bus(options: BusOptions) -> Bus:
    """Return a bus. Raises ConfigError if oslo.messaging cannot parse its URL. Opens no connection."""
    bus = Bus(replace(options, rabbit=(PREFETCH, *options.rabbit)))
    try:
        _ = bus.rpc, bus.notification
    except Exception as error:
        # oslo.messaging's URL errors have no common base class, so every Exception is caught. The error's text contains
        # the URL's scheme but no password, so the message may quote the text.
        raise ConfigError(f"[DEFAULT] transport_url: oslo.messaging rejects {options.shown}: {error}") from error
    return bus
