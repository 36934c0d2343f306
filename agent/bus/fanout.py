"""Cast a host's state to all that listen, and ask all agents to cast theirs.

A fan-out needs no reader: what nobody listens to ends in the broker, and nothing grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.bus.library import oslo_messaging
from agent.bus.names import AGENT_TOPIC, EXCHANGE, FLEET_TOPIC, HOST_STATE, PUBLISH_NOW, VERSION
from agent.bus.notify import BROKER
from agent.bus.transport import TRIES, Bus, PlainSerializer
from agent.errors import SourceUnavailable

#: The exchange goes with its last listener, and the library remembers that it has declared it: it tells of that once,
#: and declares it anew the next time.
GONE = "NOT_FOUND - no exchange"


class Fanout:
    """Casts to one topic's listeners."""

    def __init__(self, bus: Bus, topic: str) -> None:
        self._bus = bus
        self._topic = topic
        self._client: oslo_messaging.RPCClient | None = None

    def cast(self, method: str, **arguments: Any) -> None:  # noqa: ANN401 - JSON values
        """Raises SourceUnavailable where the broker did not take it, TypeError or ValueError on what is not JSON."""
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
            # The library lets errors of three others through, and they have no common base.
            raise SourceUnavailable(BROKER, str(error)) from error

    def _made(self) -> oslo_messaging.RPCClient:
        target = oslo_messaging.Target(exchange=EXCHANGE, topic=self._topic, version=VERSION, fanout=True)
        return oslo_messaging.get_rpc_client(self._bus.rpc, target, serializer=PlainSerializer(), retry=TRIES)


class Fleet:
    """Tells the fleet's listeners about one host."""

    def __init__(self, bus: Bus) -> None:
        self._fanout = Fanout(bus, FLEET_TOPIC)

    def send(self, state: Mapping[str, Any]) -> None:
        """One document of telemetry.host_state. Raises SourceUnavailable."""
        self._fanout.cast(HOST_STATE, state=dict(state))


class Agents:
    """Asks all agents."""

    def __init__(self, bus: Bus) -> None:
        self._fanout = Fanout(bus, AGENT_TOPIC)

    def publish_now(self) -> None:
        """Each agent that answers casts its host's state at once. Raises SourceUnavailable."""
        self._fanout.cast(PUBLISH_NOW)
