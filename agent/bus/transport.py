"""Open oslo.messaging's transports, every wait with a bound.

What a newcomer would get wrong: a call's ``timeout`` does not cover its delivery: with the
library's own ``retry`` (none given: for ever) a call to a dead broker blocks until it is back
(measured), so every client here is made with a number of tries. The library reads a
ConfigOpts; it gets one of its own, because the options of tracing and metrics exist on the
global one alone, and ours must not grow options that nobody may set.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from agent.backend import choose_threads
from agent.bus.options import BusOptions

choose_threads()

import oslo_messaging  # noqa: E402 - after the choice
from oslo_messaging._metrics import client as _metrics  # noqa: E402
from oslo_messaging._tracing import client as _tracing  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Tries to deliver one message, and the seconds between two (kombu's own default is 1, growing to 30).
TRIES = 2
#: The default of 64 leaves as many idle threads (measured: 73 after 60 calls).
SERVER_THREADS = 4
_BOUNDED = {"rabbit_retry_interval": 1, "rabbit_interval_max": 2, "kombu_reconnect_delay": 0.5}


class Bus:
    """One connection to the broker, opened by its first use. Safe to share between threads, as the library's own is."""

    def __init__(self, options: BusOptions) -> None:
        self.options = options
        self._conf = _conf(options)
        self._rpc: oslo_messaging.RPCTransport | None = None
        self._notification: oslo_messaging.Transport | None = None

    @property
    def rpc(self) -> oslo_messaging.RPCTransport:
        """For calls, casts and servers. Raises oslo_messaging's errors on a URL that it cannot read."""
        if self._rpc is None:
            self._rpc = oslo_messaging.get_rpc_transport(self._conf)
        return self._rpc

    @property
    def notification(self) -> oslo_messaging.Transport:
        """For notifications."""
        if self._notification is None:
            self._notification = oslo_messaging.get_notification_transport(self._conf)
        return self._notification

    def close(self) -> None:
        """End the connections; what a dead broker never acknowledged is left behind."""
        for transport in (self._rpc, self._notification):
            if transport is not None:
                with contextlib.suppress(Exception):
                    transport.cleanup()
        self._rpc = self._notification = None


class PlainSerializer(oslo_messaging.NoOpSerializer):  # type: ignore[misc]  # the library has no types
    """Contexts and bodies are plain JSON values already."""

    def serialize_context(self, context: dict[str, Any]) -> dict[str, Any]:
        """As it is."""
        return context

    def deserialize_context(self, context: dict[str, Any]) -> dict[str, Any]:
        """As it is."""
        return context


def _conf(options: BusOptions) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf(args=[], project="stocktake", default_config_files=[], default_config_dirs=[], use_env=False)
    conf.register_opts(_tracing.oslo_messaging_tracing, group="oslo_messaging_tracing")
    conf.register_opts(_metrics.oslo_messaging_metrics, group="oslo_messaging_metrics")
    for group, opts in _library_opts():
        conf.register_opts(opts, group=group)
    conf.set_override("transport_url", options.url.replace("$", r"\$"))
    conf.set_override("rpc_response_timeout", int(options.response_timeout_s) or 1)
    conf.set_override("executor_thread_pool_size", SERVER_THREADS)
    for name, value in {**_BOUNDED, **dict(options.rabbit)}.items():
        conf.set_override(name, value, group="oslo_messaging_rabbit")
    return conf


def _library_opts() -> Iterator[tuple[str | None, list[cfg.Opt]]]:
    from oslo_messaging import opts

    for group, found in opts.list_opts():
        if group in {None, "oslo_messaging_rabbit", "oslo_messaging_notifications"}:
            yield group, list(found)
