"""Read the host from libvirt, /proc and /sys: CPUs, memory, NUMA cells, devices, all defined guests, capabilities.

A read makes few calls: one lists the domains, one gets all states, and one gets the XML of each domain whose cached
value may be out of date. The call for the states requests only the statistics group STATE: every other group queries
each QEMU's monitor, and a frozen QEMU would block the call for ever. All calls run on one reader thread, which owns the
connection and reopens a dead connection.

LibvirtEvents has a separate connection: while libvirtd hangs, libvirt.open() and any other call may hang for ever, and
neither the host source nor the event source may wait for the other.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import libvirt
from oslo_log import log as logging

from agent.deadlines.reader_thread import ReaderThread
from agent.errors import SourceInconsistent, SourceUnavailable, SourceUnsupported
from agent.host_files import kernel_files
from agent.model.host.devices import Devices
from agent.model.host.facts import Domain, DomainState, HostFacts, OddDomain
from agent.ports import Deadline
from agent.sources.libvirt import connection as libvirt_connection
from agent.sources.libvirt.capabilities import Asker
from agent.sources.libvirt.capability_questions import GuestChoice
from agent.sources.libvirt.connection_info import Nature, learn
from agent.sources.libvirt.devices import DeviceListing
from agent.sources.libvirt.domain_answers import DomainAsker
from agent.sources.libvirt.domain_cache import DomainCache
from agent.sources.libvirt.domain_xml_cache import DomainTexts
from agent.sources.libvirt.late_capabilities import LateAnswers
from agent.sources.libvirt.meminfo import used_mib
from agent.sources.libvirt.topology_xml import HostTopology, cpus_of

LOG = logging.getLogger("stocktake.source")

CAPABILITIES_ANSWERED = "libvirt-capabilities"

_STATES = tuple(DomainState)
_CLOSE_WAIT_S = 1.0

SIMULATED = (
    "CPUs: libvirt's test driver has no real CPUs; the agent counts all CPUs in the driver's XML file as online",
    "node name: the test driver returns the real machine's name; the agent uses [DEFAULT] host instead",
    "guests: the test driver only stores the definitions of guests; no guest runs",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlace:
    """Where to read the host: libvirt's URI, and the folders of /proc and /sys.

    ``host`` is ``[DEFAULT] host``. The agent uses it as the node name only with libvirt's test driver.
    ``capabilities_wait_s`` is the time that a read waits for slow capabilities before it continues without them.
    ``guests`` has options about guests, such as virt_type. They determine which capabilities the agent requests.
    ``domain_asker`` is the function that requests domain capabilities. If it is None, this process asks libvirt itself.
    """

    uri: str
    host: str
    guests: GuestChoice = field(default_factory=GuestChoice)
    proc_root: Path = Path("/proc")
    sys_root: Path = Path("/sys")
    capabilities_wait_s: float = 1.0
    domain_asker: DomainAsker | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """The node's name and CPUs. ``simulated``: the names of the facts that libvirt's test driver invented."""

    hostname: str
    online: tuple[bool, ...]
    simulated: tuple[str, ...] = ()


class _Session:
    """One connection, and the answers that libvirt gave over this connection."""

    def __init__(self, connection: libvirt.virConnect) -> None:
        self.connection = connection
        self.driver: str = connection.getType()
        self.libvirt_version: int = connection.getLibVersion()
        self.nature: Nature | None = None


class LibvirtHost:
    """The HostSource that reads libvirt, /proc and /sys.

    ``capability_reader`` is a second thread, for the capability queries, which may take seconds. If the answers arrive
    after the read has stopped waiting, ``late`` triggers an audit.
    """

    name = "libvirt"

    def __init__(
        self, place: HostPlace, reader: ReaderThread, capability_reader: ReaderThread, late: LateAnswers | None = None
    ) -> None:
        self._place = place
        self._reader = reader
        self._capability_reader = capability_reader
        self._late = late or LateAnswers()
        self._cache = DomainCache()
        self._texts = DomainTexts()
        self._devices = DeviceListing()
        self._session: _Session | None = None
        self._hostname: str | None = None
        self._ignored_hostname: str | None = None

    def read(self, deadline: Deadline) -> HostFacts:
        """Return all host facts.

        Raises SourceUnavailable with the URI and libvirt's message. Raises SourceUnsupported if the driver lacks a
        required call. Raises SourceInconsistent if the capabilities contradict each other or cannot be parsed. A domain
        that cannot be read or parsed becomes an OddDomain and never fails the read.
        """
        try:
            return self._reader.call(self._read, deadline)
        except SourceUnavailable as error:
            raise SourceUnavailable(self.name, f"{self._place.uri}: {error.message}") from error
        except libvirt.libvirtError as error:
            kind = SourceUnsupported if libvirt_connection.is_unsupported(error) else SourceUnavailable
            raise kind(self.name, f"{self._place.uri}: {error.get_error_message() or error}") from error

    def forget(self) -> None:
        """Make the next read fetch every domain, every device and the capabilities from libvirt again."""
        self._cache.forget()
        self._devices.forget()
        session = self._session
        if session is not None:
            session.nature = None

    def close(self) -> None:
        """Close the connection, which takes at most a second. Call this method before the process ends.

        Without this call, the interpreter closes the connection at its shutdown, and a hung libvirtd would then keep
        the process alive.
        """
        try:
            self._reader.call(self._drop, Deadline.after(_CLOSE_WAIT_S))
        except SourceUnavailable:
            LOG.debug("libvirt connection not closed in time", extra={"uri": self._place.uri})

    def domain_changed(self, domain_uuid: str) -> None:
        """Let the next read fetch this domain's XML again, because of an event. Any thread may call this."""
        self._cache.changed(domain_uuid)

    def device_changed(self, name: str) -> None:
        """Let the next read fetch this device's XML again, because of an event. Any thread may call this."""
        self._devices.changed(name)

    def events_up(self) -> None:
        """Trust cached domains, because events arrive from now on. Any thread may call this."""
        self._cache.trust()

    def events_down(self) -> None:
        """Stop trusting cached domains: without events, each read fetches every domain. Any thread may call this."""
        self._cache.distrust()

    def _read(self) -> HostFacts:
        was_open = self._session is not None
        try:
            return self._facts(self._alive_session())
        except libvirt.libvirtError as error:
            self._cache.forget()
            if not libvirt_connection.means_lost(error):
                raise
            self._drop()
            # If libvirtd has restarted since the last read, only the old connection fails: reconnect, and read again.
            # If this read has opened the connection itself, libvirt does not work now: do not try again.
            if not was_open:
                raise
        return self._facts(self._alive_session())

    def _alive_session(self) -> _Session:
        if self._session is not None and not libvirt_connection.is_alive(self._session.connection):
            self._drop()
        if self._session is None:
            self._cache.forget()
            self._devices.forget()
            self._session = _Session(libvirt_connection.open_read_only(self._place.uri))
        return self._session

    def _drop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            libvirt_connection.close_quietly(session.connection)

    def _facts(self, session: _Session) -> HostFacts:
        memory_mib = int(session.connection.getInfo()[1])
        node = self._node(session)
        domains = self._domains(session)
        nature = self._nature(session, node.online)
        topology = nature.topology if nature else HostTopology()
        devices, unknown_because = self._read_devices(session.connection)
        return HostFacts(
            hostname=self._first_hostname(node.hostname),
            ignored_hostname=node.hostname if node.hostname != self._hostname else None,
            driver=session.driver,
            libvirt_version=session.libvirt_version,
            hypervisor_version=nature.hypervisor_version if nature else 0,
            cpus=cpus_of(node.online, topology),
            memory_mib=memory_mib,
            memory_used_mib=used_mib(self._place.proc_root, memory_mib),
            cells=topology.cells,
            domains=tuple(one for one in domains if isinstance(one, Domain)),
            odd_domains=tuple(one for one in domains if isinstance(one, OddDomain)),
            simulated=node.simulated,
            capabilities=nature.capabilities if nature else None,
            devices=devices,
            devices_unknown_because=unknown_because,
            kernel_parameters=kernel_files.module_parameters(self._place.sys_root),
            tdx_capacity=kernel_files.tdx_capacity(self._place.sys_root),
            uptime_s=kernel_files.uptime_s(self._place.proc_root),
            load=kernel_files.load(self._place.proc_root),
        )

    def _node(self, session: _Session) -> _Node:
        if session.driver == "TEST":
            return test_driver_node(session.connection, self._place.host)
        return _Node(
            hostname=session.connection.getHostname(), online=tuple(map(bool, session.connection.getCPUMap()[1]))
        )

    def _first_hostname(self, hostname: str) -> str:
        if self._hostname is None:
            self._hostname = hostname
        if hostname not in (self._hostname, self._ignored_hostname):
            # A new node name would mean a new resource provider, so keep the first name, as nova does.
            self._ignored_hostname = hostname
            LOG.warning("libvirt's new host name is ignored", extra={"kept": self._hostname, "ignored": hostname})
        return self._hostname

    def _domains(self, session: _Session) -> tuple[Domain | OddDomain, ...]:
        handles = {handle.UUIDString(): handle for handle in session.connection.listAllDomains()}
        states = _states(session.connection, handles)
        read = []
        for domain_uuid in self._cache.to_read(states):
            one = self._read_domain(handles[domain_uuid], states[domain_uuid])
            if one is None:
                del states[domain_uuid]
            else:
                read.append(one)
        self._cache.keep(states, read)
        self._texts.keep(states)
        return self._cache.all()

    def _read_domain(self, handle: libvirt.virDomain, state: DomainState) -> Domain | OddDomain | None:
        """Return one domain, or None if the domain vanished after libvirt listed it."""
        try:
            return self._texts.parse(handle.UUIDString(), handle.XMLDesc(0), state)
        except SourceInconsistent as error:
            return OddDomain(uuid=handle.UUIDString(), name=handle.name(), reason=error.message)
        except libvirt.libvirtError as error:
            if libvirt_connection.is_gone(error):
                return None
            if libvirt_connection.means_lost(error):
                raise
            reason = f"domain {handle.name()}: {error.get_error_message()}"
            return OddDomain(uuid=handle.UUIDString(), name=handle.name(), reason=reason)

    def _read_devices(self, connection: libvirt.virConnect) -> tuple[Devices | None, str]:
        """Return the devices, or the reason why they are unknown. Raises libvirt.libvirtError on a lost connection."""
        try:
            return self._devices.read(connection), ""
        except libvirt.libvirtError as error:
            # A separate daemon (virtnodedevd) may serve the devices, and this daemon can fail alone. So if the
            # connection is alive, the read continues without the devices.
            if not libvirt_connection.is_alive(connection):
                raise
            return None, error.get_error_message() or str(error)

    def _nature(self, session: _Session, online: tuple[bool, ...]) -> Nature | None:
        """Return capabilities and version, or None while the first query still runs."""
        if session.nature is None or not session.nature.still_holds(online, time.monotonic()):
            asker = Asker(
                connection=session.connection,
                driver=session.driver,
                uri=self._place.uri,
                choice=self._place.guests,
                domain=self._place.domain_asker,
            )
            allowed = Deadline.after(self._place.capabilities_wait_s)
            try:
                self._capability_reader.call(lambda: self._learn(session, asker, online, allowed), allowed)
            except SourceUnavailable:
                LOG.debug("libvirt has not returned its capabilities yet", extra={"uri": self._place.uri})
        return session.nature

    def _learn(self, session: _Session, asker: Asker, online: tuple[bool, ...], allowed: Deadline) -> None:
        session.nature = learn(asker, online)
        if not allowed.left_s():
            self._late.report(CAPABILITIES_ANSWERED)


def test_driver_node(connection: libvirt.virConnect, host: str) -> _Node:
    """Return the node of libvirt's test driver, with the name ``host``. All CPUs in the driver's XML are online.

    Two of the driver's calls do not help here. getCPUMap always returns 8 CPUs, 3 of them online, whatever the XML
    says. getHostname returns the real machine's name. getInfo does return the XML's number of CPUs. Raises
    libvirt.libvirtError.
    """
    return _Node(hostname=host, online=(True,) * int(connection.getInfo()[2]), simulated=SIMULATED)


def _states(connection: libvirt.virConnect, handles: Mapping[str, libvirt.virDomain]) -> dict[str, DomainState]:
    """Return the state of each domain by uuid, without the domains that have vanished since libvirt listed them."""
    bulk = _bulk_states(connection)
    states = {}
    for domain_uuid, handle in handles.items():
        number = bulk[domain_uuid] if domain_uuid in bulk else _one_state(handle)
        if number is not None:
            states[domain_uuid] = _STATES[number] if 0 <= number < len(_STATES) else DomainState.NO_STATE
    return states


def _bulk_states(connection: libvirt.virConnect) -> dict[str, int]:
    try:
        answers = connection.getAllDomainStats(libvirt.VIR_DOMAIN_STATS_STATE)
    except libvirt.libvirtError as error:
        if libvirt_connection.is_unsupported(error):
            return {}
        raise
    return {handle.UUIDString(): stats["state.state"] for handle, stats in answers if "state.state" in stats}


def _one_state(handle: libvirt.virDomain) -> int | None:
    try:
        return int(handle.state()[0])
    except libvirt.libvirtError as error:
        if libvirt_connection.is_gone(error):
            return None
        raise
