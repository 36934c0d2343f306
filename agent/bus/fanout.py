"""Cast a host's state to all listeners, and ask all agents to cast theirs.

A fan-out needs no reader: the broker drops a message that has no listener, so no queue grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.bus.library import oslo_messaging
from agent.bus.names import AGENT_TOPIC, EXCHANGE, FLEET_TOPIC, HOST_STATE, PUBLISH_NOW, VERSION
from agent.bus.notify import BROKER
from agent.bus.transport import TRIES, Bus, PlainSerializer
from agent.errors import SourceUnavailable

#: The broker deletes the exchange together with its last listener, but the library remembers that it declared the
#: exchange. The library reports this error once and declares the exchange again at the next cast.
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
        client = self._client = self._client or self._made()
        try:
            client.cast({}, method, **arguments)
        except (TypeError, ValueError):
            raise
        except Exception as error:
            # The library lets exceptions of three other libraries through, and they have no common base class.
            raise SourceUnavailable(BROKER, str(error)) from error

    def _made(self) -> oslo_messaging.RPCClient:
        target = oslo_messaging.Target(exchange=EXCHANGE, topic=self._topic, version=VERSION, fanout=True)
        return oslo_messaging.get_rpc_client(self._bus.rpc, target, serializer=PlainSerializer(), retry=TRIES)


class Fleet:
    """Sends one host's state to the fleet's listeners."""

    def __init__(self, bus: Bus) -> None:
        self._fanout = Fanout(bus, FLEET_TOPIC)

    def send(self, state: Mapping[str, Any]) -> None:
        """Cast one document of agent/bus/host_state.py. Raises SourceUnavailable."""
        self._fanout.cast(HOST_STATE, state=dict(state))


class Agents:
    """Sends requests to all agents."""

    def __init__(self, bus: Bus) -> None:
        self._fanout = Fanout(bus, AGENT_TOPIC)

    def publish_now(self) -> None:
        """Ask each agent that answers calls to cast its host's state at once. Raises SourceUnavailable."""
        self._fanout.cast(PUBLISH_NOW)
