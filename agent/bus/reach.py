"""Send one message that no program receives: the proof that the broker accepts the agent's messages."""

from __future__ import annotations

from agent.bus.transport import EXCHANGE, TRIES, Bus, PlainSerializer, oslo_messaging

#: No program listens on this topic, so the broker drops the message.
TOPIC = "stocktake_reach"


def reach(bus: Bus) -> None:
    """Send a test message. Raises an error of oslo.messaging or the AMQP library if the broker refuses it."""
    target = oslo_messaging.Target(exchange=EXCHANGE, topic=TOPIC)
    client = oslo_messaging.get_rpc_client(bus.rpc, target, serializer=PlainSerializer(), retry=TRIES)
    client.cast({}, "reach")
