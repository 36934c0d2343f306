"""Send RPC casts to all listeners of a topic: a host's state to all watchers, or a request to all agents.

A fan-out cast needs no listener: the broker drops a message that has no listener, so no queue grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.bus.timeouts import ended_within
from agent.bus.transport import BROKER, FLEET_TOPIC, HOST_STATE, Bus, oslo_messaging
from agent.errors import SourceUnavailable

#: A cast fails with this text if the broker has deleted the exchange. The broker does so when the last listener leaves,
#: but oslo.messaging does not notice the deletion. Only one cast fails: at the next cast oslo.messaging declares the
#: exchange again.
GONE = "NOT_FOUND - no exchange"


class Fanout:
    """Sends casts to all listeners of one topic."""

    def __init__(self, bus: Bus, topic: str) -> None:
        self._bus = bus
        self._topic = topic
        self._client: oslo_messaging.RPCClient | None = None

    def cast(self, method: str, **arguments: Any) -> None:  # noqa: ANN401 - JSON values
        """Cast ``method`` to the listeners.

        Raises SourceUnavailable if the broker did not accept the message, TypeError or ValueError if an argument is not
        JSON.
        """
        try:
            self._try(method, arguments)
        except SourceUnavailable as error:
            if GONE not in error.message:
                raise
            self._try(method, arguments)

    def _try(self, method: str, arguments: Mapping[str, Any]) -> None:
        self._client = self._client or self._bus.fanout_client(self._topic)
        try:
            self._client.cast({}, method, **arguments)
        except (TypeError, ValueError):
            raise
        except Exception as error:
            # Catch Exception, because oslo.messaging also raises exceptions of three other libraries, and Exception is
            # their only common base class.
            raise SourceUnavailable(BROKER, str(error)) from error


class Fleet(Fanout):
    """Sends one host's state to all listeners of the fleet's topic, such as ``stocktake watch``."""

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus, FLEET_TOPIC)

    def send(self, state: dict[str, Any]) -> None:
        """Cast one host's state, made by host_state.py. Raises SourceUnavailable if the broker did not accept it."""
        self.cast(HOST_STATE, state=state)


def accepted_within(seconds: float, bus: Bus, topic: str, method: str) -> bool:
    """Cast a method without arguments; return whether the broker accepted the cast within ``seconds``.

    Raises SourceUnavailable if the broker refused the cast. A cast that hangs goes on in a background thread.
    """
    refusals: list[SourceUnavailable] = []

    def cast() -> None:
        try:
            Fanout(bus, topic).cast(method)
        except SourceUnavailable as error:
            refusals.append(error)

    ended = ended_within(seconds, cast, "bus-request")
    if refusals:
        raise SourceUnavailable(BROKER, f"{bus.options.shown}: {refusals[0].message}") from refusals[0]
    return ended
