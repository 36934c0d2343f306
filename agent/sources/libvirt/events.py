"""Trigger audits when libvirt's events arrive, over a separate connection that this module reopens when needed.

Two threads do the work. One runs libvirt's event loop. The other opens the connection, registers the callbacks and
waits until the connection dies. If libvirtd hangs during the opening, only this second thread is stuck. It is a daemon
thread, so stop() need not wait for it.

libvirt may run a callback in any thread that reads from the socket. So a callback does no slow work: it only notes
which domain or device changed, and triggers an audit.

The agent takes no facts from an event: the audit reads all facts. Events are lost while the connection is down. So
every new connection triggers an audit, and that audit reads every domain again.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import libvirt
from oslo_log import log as logging

from agent.errors import SourceUnavailable
from agent.sources.libvirt import connection as libvirt_connection
from agent.timing.backoff import grown_s

LOG = logging.getLogger("stocktake.source")

CONNECTED = "libvirt-connected"
DISCONNECTED = "libvirt-disconnected"

# The events that trigger an audit, as (the audit's reason, the event's name in libvirt). The agent skips an event that
# the libvirt library, or libvirt's driver for the hypervisor, does not support.
EVENTS = (
    ("lifecycle", "VIR_DOMAIN_EVENT_ID_LIFECYCLE"),
    ("device-added", "VIR_DOMAIN_EVENT_ID_DEVICE_ADDED"),
    ("device-removed", "VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED"),
    ("disk-change", "VIR_DOMAIN_EVENT_ID_DISK_CHANGE"),
    ("memory-device-size-change", "VIR_DOMAIN_EVENT_ID_MEMORY_DEVICE_SIZE_CHANGE"),
    ("balloon-change", "VIR_DOMAIN_EVENT_ID_BALLOON_CHANGE"),
    ("tunable", "VIR_DOMAIN_EVENT_ID_TUNABLE"),
    ("metadata-change", "VIR_DOMAIN_EVENT_ID_METADATA_CHANGE"),
    ("block-job", "VIR_DOMAIN_EVENT_ID_BLOCK_JOB_2"),
)
# The audit's reason if a host device was added, removed or updated.
DEVICE = "libvirt-event:host-device"
DEVICE_EVENTS = ("VIR_NODE_DEVICE_EVENT_ID_LIFECYCLE", "VIR_NODE_DEVICE_EVENT_ID_UPDATE")
# Name prefixes of the devices that trigger an audit. Network and block devices do not trigger an audit, because each
# starting guest adds some of these devices.
COUNTED_DEVICES = ("pci_", "mdev_", "vdpa_")

_TICK_MS = 1000
# The interval at which to check whether the connection is alive, for drivers without a close callback.
_ALIVE_CHECK_S = 5.0
_STOP_WAIT_S = 0.4


class LinkState(enum.Enum):
    """The state of the connection over which libvirt sends events."""

    DOWN = "down"
    CONNECTING = "connecting"
    UP = "up"


class DomainListener(Protocol):
    """The object that is told of all events. LibvirtHost implements it, and decides what to read again."""

    def domain_changed(self, domain_uuid: str) -> None:
        """Remember that this domain must be read again, because an event named the domain."""
        ...

    def device_changed(self, name: str) -> None:
        """Remember that this host device must be read again, because an event named the device."""
        ...

    def events_up(self) -> None:
        """Trust the cached domains: events arrive from now on."""
        ...

    def events_down(self) -> None:
        """Stop trusting the cached domains: events no longer arrive."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """The back-off between attempts to connect.

    The wait doubles with each failure, up to ``cap_s``. A random part of each wait, at most half of it, is left out.
    """

    first_s: float = 0.25
    cap_s: float = 30.0

    def wait_s(self, failures: int) -> float:
        """Return the seconds to wait after ``failures`` consecutive failures."""
        return grown_s(self.first_s, self.cap_s, failures) * random.uniform(0.5, 1.0)


class _Link:
    """A connection that receives libvirt's events. Each function in ``deregister`` removes one of its callbacks."""

    def __init__(self, connection: libvirt.virConnect) -> None:
        self.connection = connection
        self.deregister: list[Callable[[], object]] = []
        self.closed = threading.Event()


class LibvirtEvents:
    """The EventSource of one libvirt URI. A process may have only one EventSource: libvirt has only one event loop."""

    def __init__(self, uri: str, listener: DomainListener, backoff: Backoff) -> None:
        self._uri = uri
        self._listener = listener
        self._backoff = backoff
        self._gate = threading.Lock()
        self._notify: Callable[[str], None] | None = None
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._timer = -1
        self._threads: tuple[threading.Thread, ...] = ()
        self._state = LinkState.DOWN

    @property
    def state(self) -> LinkState:
        """The current state of the connection for events."""
        return self._state

    def start(self, notify: Callable[[str], None]) -> None:
        """Start the threads without waiting for libvirt. Call this once, before any libvirt connection is opened."""
        libvirt_connection.register_event_loop()
        libvirt_connection.silence()
        self._notify = notify
        # The loop sleeps until an event arrives. To wake the loop at once, stop() sets this timer to 0.
        self._timer = libvirt.virEventAddTimeout(_TICK_MS, _nothing, None)
        self._threads = (
            threading.Thread(target=self._run_loop, name="libvirt-events", daemon=True),
            threading.Thread(target=self._keep_connected, name="libvirt-events-link", daemon=True),
        )
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop within a second; abandon a thread that hangs in libvirt. ``notify`` is not called afterwards."""
        with self._gate:
            self._notify = None
        self._stopping.set()
        self._wake.set()
        loop, link = self._threads or (None, None)
        # Wait first for the thread that has the connection: that thread can close the connection cleanly only while the
        # loop still runs.
        if link is not None:
            link.join(_STOP_WAIT_S)
        if loop is not None:
            libvirt.virEventUpdateTimeout(self._timer, 0)
            loop.join(_STOP_WAIT_S)
            libvirt.virEventRemoveTimeout(self._timer)
        self._threads = ()

    def _run_loop(self) -> None:
        while not self._stopping.is_set():
            libvirt.virEventRunDefaultImpl()

    def _keep_connected(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            self._state = LinkState.CONNECTING
            link = self._connect(failures)
            if link is None:
                failures += 1
            else:
                failures = 0
                self._stay_up(link)
            self._state = LinkState.DOWN
            self._stopping.wait(self._backoff.wait_s(failures))

    def _connect(self, failures: int) -> _Link | None:
        link: _Link | None = None
        try:
            link = _Link(libvirt_connection.open_read_only(self._uri))
            self._register(link)
        except (libvirt.libvirtError, SourceUnavailable) as error:
            if failures == 0:
                LOG.warning("libvirt events unavailable", extra={"uri": self._uri, "error": str(error)})
            if link is not None:
                _take_down(link)
            return None
        return link

    def _register(self, link: _Link) -> None:
        """Register a callback for each event that the driver supports. Raises libvirtError on a lost connection."""
        with _unless_unsupported():
            link.connection.registerCloseCallback(self._on_close, link)
        for reason, constant in EVENTS:
            event_id = getattr(libvirt, constant, None)
            if event_id is None:
                continue
            with _unless_unsupported():
                callback = self._callback(f"libvirt-event:{reason}")
                number = link.connection.domainEventRegisterAny(None, event_id, callback, None)
                link.deregister.append(functools.partial(link.connection.domainEventDeregisterAny, number))
        self._register_devices(link)

    def _register_devices(self, link: _Link) -> None:
        for constant in DEVICE_EVENTS:
            event_id = getattr(libvirt, constant, None)
            if event_id is None:
                continue
            try:
                number = link.connection.nodeDeviceEventRegisterAny(None, event_id, self._on_device, None)
            except libvirt.libvirtError as error:
                # A separate daemon (virtnodedevd) may serve the devices. If only that daemon is down, continue without
                # device events: every audit lists the devices anyway.
                if not libvirt_connection.is_alive(link.connection):
                    raise
                LOG.debug("libvirt sends no events about host devices", extra={"uri": self._uri, "error": str(error)})
            else:
                link.deregister.append(functools.partial(link.connection.nodeDeviceEventDeregisterAny, number))

    def _stay_up(self, link: _Link) -> None:
        """Report that the connection is up, wait until it is lost or stop() is called, then close the connection."""
        self._state = LinkState.UP
        self._listener.events_up()
        LOG.info("libvirt events connected", extra={"uri": self._uri, "events": len(link.deregister)})
        self._report(CONNECTED)
        # Clearing `_wake` loses no signal: before another thread sets `_wake`, it sets `_stopping` or `link.closed`.
        # The loop checks both after each wait.
        while not (self._stopping.is_set() or link.closed.is_set()):
            self._wake.wait(_ALIVE_CHECK_S)
            self._wake.clear()
            if not libvirt_connection.is_alive(link.connection):
                break
        self._listener.events_down()
        if not self._stopping.is_set():
            LOG.warning("libvirt events lost", extra={"uri": self._uri})
            self._report(DISCONNECTED)
        _take_down(link)

    def _callback(self, reason: str) -> Callable[..., None]:
        def on_event(_connection: libvirt.virConnect, domain: libvirt.virDomain, *_details: object) -> None:
            # If a callback raised, the binding would only print the exception, and the event would be lost.
            try:
                self._listener.domain_changed(domain.UUIDString())
                self._report(reason)
            except Exception:
                LOG.exception("libvirt event not handled", extra={"reason": reason})

        return on_event

    def _on_device(self, _connection: libvirt.virConnect, device: libvirt.virNodeDevice, *_details: object) -> None:
        try:
            name = device.name()
            self._listener.device_changed(name)
            if name.startswith(COUNTED_DEVICES):
                self._report(DEVICE)
        except Exception:
            LOG.exception("libvirt event not handled", extra={"reason": DEVICE})

    def _on_close(self, _connection: libvirt.virConnect, _why: int, link: _Link) -> None:
        link.closed.set()
        self._wake.set()

    def _report(self, reason: str) -> None:
        # The lock makes stop() wait until a running call of `notify` returns. `notify` returns at once.
        with self._gate:
            if self._notify is not None:
                self._notify(reason)


def _take_down(link: _Link) -> None:
    """Deregister all callbacks, then close the connection: it stays open as long as a callback is registered."""
    for deregister in (*link.deregister, link.connection.unregisterCloseCallback):
        with contextlib.suppress(libvirt.libvirtError):
            deregister()
    libvirt_connection.close_quietly(link.connection)


@contextlib.contextmanager
def _unless_unsupported() -> Iterator[None]:
    try:
        yield
    except libvirt.libvirtError as error:
        # An older libvirtd answers INVALID_ARG if it does not know an event id: treat this as "not supported".
        if not libvirt_connection.is_unsupported(error) and error.get_error_code() != libvirt.VIR_ERR_INVALID_ARG:
            raise


def _nothing(_timer: int, _opaque: None) -> None:
    """Do nothing: the timer's only purpose is to wake the loop."""
