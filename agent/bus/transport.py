"""Open oslo.messaging's transports, limit how long each wait may take, and define the names used on the broker.

docs/messages.md documents the names. Modules import ``oslo_messaging`` from this module, so that the threading backend
is always selected before that import.

The ``timeout`` of an RPC call does not cover the call's delivery. By default, oslo.messaging retries the delivery
forever, so that a call to a dead broker blocks until the broker is back (measured). So every client of this module
limits the number of tries.

oslo.messaging reads its options from a ConfigOpts. This module passes a separate ConfigOpts, because the ConfigOpts of
the agent must contain only options that operators may set. oslo.messaging registers its options for tracing and metrics
only on the global ConfigOpts, so ``_conf`` registers these options on the separate ConfigOpts.
"""

from __future__ import annotations

import contextlib
from typing import Any

from oslo_config import cfg

from agent.backend import choose_threads
from agent.bus.options import BusOptions

choose_threads()

import oslo_messaging as oslo_messaging  # noqa: E402, PLC0414 - after the choice, for other modules too
from oslo_messaging._metrics import client as _metrics  # noqa: E402

try:
    # oslo.messaging 18 (OpenStack 2026.2) and later have this module, and read its options for each message. So
    # ``_conf`` must register these options.
    from oslo_messaging._tracing.client import oslo_messaging_tracing as _tracing
except ImportError:
    _tracing = []

#: The exchange. It is Stocktake's own, so its settings (durable, auto-delete) cannot conflict with another service's.
EXCHANGE = "stocktake"
VERSION = "1.0"

#: Each agent answers on this topic; the agent's server name is its [DEFAULT] host.
AGENT_TOPIC = "stocktake"
AUDIT_NOW = "audit_now"
PUBLISH_NOW = "publish_now"

#: Each agent casts its host's state to this topic as a fan-out. The broker stores no message for absent listeners.
FLEET_TOPIC = "stocktake_fleet"
HOST_STATE = "host_state"
#: The command ``stocktake watch`` casts to this topic from time to time, only to learn whether the broker answers. No
#: program listens on the topic.
PROBE_TOPIC = "stocktake_probe"
PROBE = "probe"
#: All ``stocktake watch`` commands share this server name. With separate names, each command that ends would leave a
#: queue in the broker.
WATCHER = "watch"

#: The name of the broker in a SourceUnavailable error, in place of a source's name.
BROKER = "broker"

#: The maximum number of tries to deliver one message. The pause between two tries is set by ``_BOUNDED``: kombu's own
#: pause would grow from 1 to 30 seconds.
TRIES = 2
#: The number of threads of an RPC server. With the library's default (64), the process had 73 threads after 60 calls,
#: most of them idle.
SERVER_THREADS = 4
_BOUNDED = {"rabbit_retry_interval": 1, "rabbit_interval_max": 2, "kombu_reconnect_delay": 0.5}


class Bus:
    """The agent's connections to the broker, opened at first use. Several threads may share a Bus."""

    def __init__(self, options: BusOptions) -> None:
        self.options = options
        self._conf = _conf(options)
        self._rpc: oslo_messaging.RPCTransport | None = None
        self._notification: oslo_messaging.Transport | None = None

    @property
    def rpc(self) -> oslo_messaging.RPCTransport:
        """The transport for calls, casts and servers. Raises oslo_messaging's error if the URL cannot be parsed."""
        if self._rpc is None:
            self._rpc = oslo_messaging.get_rpc_transport(self._conf)
        return self._rpc

    @property
    def notification(self) -> oslo_messaging.Transport:
        """The transport for notifications."""
        if self._notification is None:
            self._notification = oslo_messaging.get_notification_transport(self._conf)
        return self._notification

    def server(self, topic: str, name: str, endpoint: object) -> Any:  # noqa: ANN401 - the library has no types
        """Return a server named ``name``, not started yet, that passes its calls and casts on to ``endpoint``."""
        target = oslo_messaging.Target(exchange=EXCHANGE, topic=topic, server=name)
        policy = oslo_messaging.DefaultRPCAccessPolicy
        return oslo_messaging.get_rpc_server(
            self.rpc, target, [endpoint], serializer=PlainSerializer(), access_policy=policy
        )

    def fanout_client(self, topic: str) -> oslo_messaging.RPCClient:
        """Return a client that casts to all listeners of ``topic``."""
        target = oslo_messaging.Target(exchange=EXCHANGE, topic=topic, version=VERSION, fanout=True)
        return oslo_messaging.get_rpc_client(self.rpc, target, serializer=PlainSerializer(), retry=TRIES)

    def host_client(self, host: str, timeout_s: float) -> oslo_messaging.RPCClient:
        """Return a client that calls the agent of one host and waits ``timeout_s`` for the answer."""
        target = oslo_messaging.Target(exchange=EXCHANGE, topic=AGENT_TOPIC, server=host, version=VERSION)
        return oslo_messaging.get_rpc_client(
            self.rpc, target, serializer=PlainSerializer(), timeout=timeout_s, retry=TRIES
        )

    def close(self) -> None:
        """Close the connections; abandon messages that a dead broker never acknowledged."""
        for transport in (self._rpc, self._notification):
            if transport is not None:
                with contextlib.suppress(Exception):
                    transport.cleanup()
        self._rpc = self._notification = None


class PlainSerializer(oslo_messaging.NoOpSerializer):  # type: ignore[misc]  # the library has no types
    """A serializer that changes nothing: contexts and bodies are plain JSON values already."""

    def serialize_context(self, context: dict[str, Any]) -> dict[str, Any]:
        """Return the context unchanged."""
        return context

    def deserialize_context(self, context: dict[str, Any]) -> dict[str, Any]:
        """Return the context unchanged."""
        return context


def end_server(server: Any) -> None:  # noqa: ANN401 - the library has no types
    """Stop a started server and wait until it has ended. Waits forever if the broker hangs."""
    server.stop()
    server.wait()


def _conf(options: BusOptions) -> cfg.ConfigOpts:
    from oslo_messaging import opts

    conf = cfg.ConfigOpts()
    conf(args=[], project="stocktake", default_config_files=[], default_config_dirs=[], use_env=False)
    conf.register_opts(_tracing, group="oslo_messaging_tracing")
    conf.register_opts(_metrics.oslo_messaging_metrics, group="oslo_messaging_metrics")
    for group, found in opts.list_opts():
        if group in {None, "oslo_messaging_rabbit", "oslo_messaging_notifications"}:
            conf.register_opts(found, group=group)
    conf.set_override("transport_url", options.url.replace("$", r"\$"))
    conf.set_override("rpc_response_timeout", int(options.response_timeout_s) or 1)
    conf.set_override("executor_thread_pool_size", SERVER_THREADS)
    for name, value in {**_BOUNDED, **dict(options.rabbit)}.items():
        conf.set_override(name, value, group="oslo_messaging_rabbit")
    return conf
