"""List the host's PCI functions and mediated devices, and read the XML of only those that may have changed.

Each read makes one list call, and then reads a device's XML in these cases:

- The device is new, or an event named it.
- The device's scheduled turn has come, once in 64 reads, because libvirt sends no event for some changes.
- The device can create mediated devices, because the number of available instances changes without an event.
- The device is a physical function, whose XML lists its virtual functions, and any device was added or removed.

A device that cannot be read becomes an OddDevice and is tried again at each read; the other devices are still returned.
Any thread may report a change; only one thread reads.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Mapping

import libvirt

from agent.errors import SourceInconsistent
from agent.model.host.devices import Devices, OddDevice
from agent.sources.libvirt import connection as libvirt_connection
from agent.sources.libvirt.node_device_xml import NodeDevice, parse_node_device
from agent.sources.libvirt.node_devices import devices_from

TURNS = 64

_KINDS = (
    libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_NET
    | libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_PCI_DEV
    | libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_VDPA
    | libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_MDEV
    | libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_MDEV_TYPES
)
# The flag that makes libvirt list only active mediated devices. Without the flag libvirt also lists mediated devices
# that are defined but not active and therefore use no resources.
_ACTIVE = libvirt.VIR_CONNECT_LIST_NODE_DEVICES_ACTIVE


class DeviceListing:
    """The host's devices as listed over one connection; call ``forget`` when the connection changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        self._forgotten = False
        self._known: dict[str, NodeDevice | OddDevice] = {}
        self._devices = Devices()
        self._flags: int = _KINDS | _ACTIVE
        self._turn = 0

    def changed(self, name: str) -> None:
        """Remember that an event named this device: the next read gets the device's XML. Any thread may call this."""
        with self._lock:
            self._changed.add(name)

    def forget(self) -> None:
        """Make the next read get the XML of every device. Any thread may call this."""
        with self._lock:
            self._forgotten = True

    def read(self, connection: libvirt.virConnect) -> Devices:
        """Return the host's devices. Raises libvirt.libvirtError if the list call fails or the connection is lost."""
        named = self._take_changes()
        try:
            return self._read(connection, named)
        except BaseException:
            # libvirt reports a changed device only once. This read failed, so the next read needs the names again.
            with self._lock:
                self._changed |= named
            raise

    def _read(self, connection: libvirt.virConnect, named: set[str]) -> Devices:
        listed = {device.name(): device for device in self._listed(connection)}
        known = {name: self._known[name] for name in listed.keys() & self._known.keys()}
        for name in self._to_read(listed, named):
            device = _read(name, listed[name])
            if device is None:
                known.pop(name, None)
            else:
                known[name] = device
        if known != self._known:
            self._known = known
            self._devices = devices_from(
                (one for one in known.values() if isinstance(one, NodeDevice)),
                (one for one in known.values() if isinstance(one, OddDevice)),
            )
        return self._devices

    def _take_changes(self) -> set[str]:
        with self._lock:
            named, self._changed = self._changed, set()
            forgotten, self._forgotten = self._forgotten, False
        if forgotten:
            self._known = {}
            self._devices = Devices()
            self._flags = _KINDS | _ACTIVE
        return named

    def _listed(self, connection: libvirt.virConnect) -> list[libvirt.virNodeDevice]:
        try:
            return list(connection.listAllDevices(self._flags))
        except libvirt.libvirtError as error:
            # libvirt's test driver rejects the flag ACTIVE. This driver has only active devices, so it does not need
            # the flag.
            if self._flags == _KINDS or error.get_error_code() != libvirt.VIR_ERR_INVALID_ARG:
                raise
        self._flags = _KINDS
        return list(connection.listAllDevices(self._flags))

    def _to_read(self, listed: Mapping[str, libvirt.virNodeDevice], named: set[str]) -> list[str]:
        self._turn = (self._turn + 1) % TURNS
        moved = listed.keys() != self._known.keys()
        return [name for name in listed if name in named or self._is_due(name, names_moved=moved)]

    def _is_due(self, name: str, *, names_moved: bool) -> bool:
        known = self._known.get(name)
        if not isinstance(known, NodeDevice) or known.mdev_types is not None:
            return True
        if names_moved and known.pci and known.pci.virtual_functions is not None:
            return True
        return zlib.crc32(name.encode()) % TURNS == self._turn


def _read(name: str, handle: libvirt.virNodeDevice) -> NodeDevice | OddDevice | None:
    """Return one device, or None if the device vanished after libvirt listed it."""
    try:
        return parse_node_device(handle.XMLDesc(0))
    except SourceInconsistent as error:
        return OddDevice(name=name, reason=error.message)
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_NODE_DEVICE:
            return None
        if libvirt_connection.means_lost(error):
            raise
        return OddDevice(name=name, reason=error.get_error_message() or str(error))
