"""Build the parts of an audit from a configuration, explicitly and in one place, for the daemon and the commands.

This module opens no connection. The first audit opens the connections, so an unreachable libvirt or Placement is an
error of that audit. ``wire`` raises only if the configuration cannot work.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import functools
import math
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from agent.audit.parts import Parts
from agent.cmd.log_output.change_syslog import AnnouncingJournal, to_syslog
from agent.cmd.logs import audit_context
from agent.cmd.storage_wiring import image_meter, storage_of
from agent.cmd.waits.caller import DAEMON_PROGRAM, Caller, Waiting
from agent.config import build
from agent.config.agent_options import agent_options_from, probe_socket
from agent.config.loaded import Loaded
from agent.config.options.image_cache import cache_path
from agent.config.options.rabbit import bus_options_from
from agent.config.options.state import state_options_from
from agent.daemon.audit_queue import Pacing
from agent.daemon.interruptions import Pauses, ReadMark
from agent.daemon.worker import Configured
from agent.deadlines.reader_thread import ReaderThread
from agent.host_files.actor import this_actor
from agent.host_files.atomic import close_to_others, sweep
from agent.host_files.history import FILE as FINDINGS
from agent.host_files.history import FindingsFile
from agent.host_files.identity import FILE_NAME as COMPUTE_ID
from agent.host_files.journal import FileJournal, Journal
from agent.host_files.lock import FileLock
from agent.host_files.own_folder import failure, make_usable, why_not_writable
from agent.host_files.reports import report_path
from agent.host_files.store_file import FILE as STORE
from agent.host_files.store_file import StoreFile
from agent.model.audit import Publish
from agent.model.nova import StateKind
from agent.model.settings import Role, Settings
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE, Reading
from agent.placement.allocations import AllocationClient
from agent.placement.http.access import client_from_conf
from agent.placement.http.client import PlacementClient
from agent.placement.names import ProviderNames
from agent.placement.reader import TreeReader
from agent.placement.reshape import ReshapeClient
from agent.placement.writer import TreeWriter
from agent.ports import RecordWriter, StateSource, StorageSource
from agent.sources.libvirt.capability_questions import GuestChoice
from agent.sources.libvirt.domain_answers import DomainAsker
from agent.sources.libvirt.events import Backoff, LibvirtEvents
from agent.sources.libvirt.host import HostPlace, LibvirtHost
from agent.sources.libvirt.late_capabilities import LateAnswers
from agent.sources.nova.none import NoState
from agent.sources.storage.images import Images

LOCK_FILE = "lock"

BOOT_ID = "/proc/sys/kernel/random/boot_id"


class SystemClock:
    """The Clock of real audits; tests have another Clock. ``wait`` is a function that sleeps for some seconds."""

    def __init__(self, wait: Callable[[float], None] = time.sleep) -> None:
        self._wait = wait

    def now(self) -> str:
        """Return the time as ISO 8601 in UTC, with milliseconds and a Z."""
        return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        """Return the time of the monotonic clock in seconds."""
        return time.monotonic()

    def boot(self) -> str:
        """Return the kernel's boot id, or a random id for this process if the kernel's boot id cannot be read."""
        return _boot_id()

    def wait(self, seconds: float) -> None:
        """Sleep for ``seconds``, but return at once when a stop is requested."""
        self._wait(seconds)


@functools.cache
def _boot_id() -> str:
    try:
        return Path(BOOT_ID).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return str(uuid.uuid4())


class Cloud(NamedTuple):
    """The source of the cloud's state, and the object that writes nova's compute node records.

    ``records`` is None if the source cannot write. ``shown`` says where the source is, without a password.
    """

    state: StateSource
    records: RecordWriter | None = None
    shown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wired:
    """The clients, readers and files that an audit uses (``parts``), and how the daemon watches and closes them.

    ``mark`` holds the name of the source that the audit is reading. Use the object as a context manager, or call
    ``close``.
    """

    parts: Parts
    host: LibvirtHost
    late: LateAnswers
    libvirt_uri: str
    libvirt_reader: ReaderThread
    placement: PlacementClient
    mark: ReadMark
    pauses: Pauses
    resources: contextlib.ExitStack

    def events(self) -> LibvirtEvents:
        """Return the source of libvirt's events. The caller must start it before the first audit reads libvirt."""
        return LibvirtEvents(self.libvirt_uri, self.host, Backoff())

    def close(self) -> None:
        """Close the connections and end the reader threads. If libvirt hangs, this takes at most one second."""
        self.resources.close()

    def __enter__(self) -> Wired:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def wire(loaded: Loaded, caller: Caller = Caller()) -> Wired:  # noqa: B008 - a frozen value
    """Create the clients, readers and files with which this program audits.

    Raises ConfigError if the configuration cannot work.
    """
    settings = build.settings_from(loaded)
    libvirt_uri = build.libvirt_uri(loaded)
    resources = contextlib.ExitStack()
    names = ("libvirt", "libvirt-capabilities", "filesystem", "images")
    libvirt, capabilities, disk, images = readers = tuple(map(ReaderThread, names))
    for reader in readers:
        resources.callback(reader.stop)
    late = LateAnswers()
    place = dataclasses.replace(host_place(libvirt_uri, settings), domain_asker=_domain_asker(loaded))
    host = LibvirtHost(place, libvirt, capabilities, late)
    resources.callback(host.close)
    mark, pauses = ReadMark(), Pauses()
    once = caller.waiting is Waiting.ONCE
    client = client_from_conf(
        loaded.conf,
        pause_at_most_s=caller.pause_at_most_s,
        wait=pauses.wait,
        unanswered_at_most_s=settings.source_deadline_s if once else math.inf,
        watch=caller.watch,
    )
    resources.callback(client.close)
    cloud = cloud_of(loaded, resources)
    silent: dict[str, Reading[Any]] = {}
    parts = dataclasses.replace(
        _parts(loaded, client, host, storage_of(loaded, settings, disk), cloud.state, pauses=pauses),
        journal=journal_of(loaded, caller.program),
        reading=_watched(mark, caller, {LIBVIRT: libvirt_uri, STATE: cloud.shown}, settings.source_deadline_s),
        late=(lambda: silent) if once else dict,
        images=Images(settings.instances_path, cache_path(loaded), images, meter=image_meter(loaded)),
        records=cloud.records,
    )
    return Wired(
        parts=parts,
        host=host,
        late=late,
        libvirt_uri=libvirt_uri,
        libvirt_reader=libvirt,
        placement=client,
        mark=mark,
        pauses=pauses,
        resources=resources,
    )


def _watched(
    mark: ReadMark, caller: Caller, places: Mapping[str, str], deadline_s: float
) -> Callable[[str], AbstractContextManager[None]]:
    """Return ``reading``: a function that takes a source's name and returns a context manager for reads of the source.

    During a read, ``mark`` shows the source's name to the daemon's main thread. A command also tells the operator which
    source the command waits for. ``places`` maps a source's name to its address.
    """

    @contextlib.contextmanager
    def reading(source: str) -> Iterator[None]:
        place = f" ({places[source]})" if places.get(source) else ""
        # For Placement, do not enter ``caller.watch`` here: the Placement client enters ``watch`` for each request.
        watch = contextlib.nullcontext() if source == PLACEMENT else caller.watch(f"{source}{place}", deadline_s)
        with mark.reading(source), watch:
            yield

    return reading


def configured_from(loaded: Loaded, parts: Parts, publish: Publish) -> Configured:
    """Return the settings, the times and the ``parts`` (clients, files, clock) with which the daemon runs its audits.

    The daemon calls this at start and after a reload. Raises ConfigError.
    """
    options = agent_options_from(loaded)
    return Configured(
        settings=build.settings_from(loaded),
        parts=parts,
        publish=publish,
        pacing=Pacing(settle_s=options.event_settle_s, cap_s=options.event_cap_s, peer_s=options.peer_audit_interval_s),
        interval_s=options.interval_s,
        summary_interval_s=options.summary_interval_s,
    )


def prepare_state_dir(loaded: Loaded, publish: Publish) -> None:
    """Create the state directory if it is missing, unless the role is observer or ``publish`` is NEVER.

    Raises FolderUnavailable if the directory cannot be used now but perhaps later (such as on a read-only disk). Raises
    ConfigError if the directory can never be used.
    """
    if publish is Publish.NEVER or build.settings_from(loaded).role is Role.OBSERVER:
        return
    path = agent_options_from(loaded).state_dir
    try:
        make_usable(path)
    except OSError as error:
        raise failure(f"{loaded.quote('agent', 'state_dir')}: the agent cannot use this directory", error) from error


def sweep_left_behind(loaded: Loaded) -> None:
    """Remove the unfinished files of killed processes, and make the report file unreadable to other users.

    The report file may be readable for all users, because older versions of the agent wrote it so.
    """
    options = agent_options_from(loaded)
    report = report_path(options.run_dir)
    for path in (*(os.path.join(options.state_dir, name) for name in (COMPUTE_ID, FINDINGS, STORE)), report):
        sweep(path)
    close_to_others(report)


def _notes(findings: FindingsFile, state_dir: str, role: Role) -> tuple[str, ...]:
    """Return sentences about problems of the state directory, and of the file findings.json in this directory.

    An agent with the role observer creates the directory only at its first save, so a missing directory is no problem
    in this role. The notes of an observer therefore report only problems of the file.
    """
    problem = why_not_writable(state_dir) if role is not Role.OBSERVER else None
    if problem is None or findings.is_unsaved:
        return findings.notes
    not_writable = f"{state_dir} cannot be written: {problem.strerror}"
    return (*findings.notes, f"findings are not remembered over a restart, because {not_writable}")


def journal_of(loaded: Loaded, program: str) -> Journal:
    """Return the journal in the state directory, for the changes of ``program``.

    The journal opens its file at the first use. A command has no log, so its changes also go to syslog. The daemon's
    changes are in the daemon's log.
    """
    state_dir = agent_options_from(loaded).state_dir
    journal = FileJournal(state_dir, SystemClock().now, actor=lambda: this_actor(program))
    if program == DAEMON_PROGRAM:
        return journal
    return AnnouncingJournal(journal, lambda: this_actor(program).words, to_syslog)


def host_place(uri: str, settings: Settings) -> HostPlace:
    """Return libvirt's address, the host's name, and the options that decide which capabilities the agent queries."""
    return HostPlace(uri=uri, host=settings.host, guests=GuestChoice.of(settings))


def _parts(
    loaded: Loaded,
    client: PlacementClient,
    host: LibvirtHost,
    storage: tuple[StorageSource, ...],
    state: StateSource,
    *,
    pauses: Pauses,
) -> Parts:
    options = agent_options_from(loaded)
    state_dir = options.state_dir
    findings, store = FindingsFile(state_dir, options.run_dir), StoreFile(state_dir)
    identity_files = build.identity_files(loaded)
    return Parts(
        state=state,
        host=host,
        storage=storage,
        reader=TreeReader(client),
        reporter=TreeWriter(client),
        allocations=AllocationClient(client),
        reshaper=ReshapeClient(client),
        identity_files=identity_files,
        history=findings,
        lock=FileLock(os.path.join(state_dir, LOCK_FILE), options.run_dir),
        clock=SystemClock(pauses.wait),
        names=ProviderNames(client),
        own_file=identity_files,
        store=store,
        notes=lambda: (*_notes(findings, state_dir, Role(loaded.value("agent", "role"))), *store.notes),
        tried=lambda: client.tried,
        request_scope=lambda audit_id: _scope(client, audit_id),
    )


@contextlib.contextmanager
def _scope(client: PlacementClient, audit_id: str) -> Iterator[None]:
    """Put the audit's id on log lines and on requests to Placement inside the block."""
    with audit_context(audit_id), client.global_request_id(f"req-{audit_id}"):
        yield


def cloud_of(loaded: Loaded, resources: contextlib.ExitStack) -> Cloud:
    """Return the configured source of the cloud's state. Raises ConfigError.

    When ``resources`` is closed, it closes the source's connections.
    """
    options = state_options_from(loaded)
    if options.kind is StateKind.CONDUCTOR:
        return _conductor(loaded, resources)
    if options.connection is None:
        return Cloud(NoState())
    # Import late: SQLAlchemy takes 13 MiB of memory, and only a host with this state source needs SQLAlchemy.
    from agent.sources.nova.sql import NovaSql

    source = NovaSql(options.connection)
    resources.callback(source.close)
    return Cloud(source, shown=source.shown)


def _conductor(loaded: Loaded, resources: contextlib.ExitStack) -> Cloud:
    bus = bus_options_from(loaded)
    assert bus is not None, "state_options_from requires a transport_url"
    # Import late: oslo.messaging takes 9 MiB of memory, and a host without a broker does not need oslo.messaging.
    from agent.bus.transport import Bus
    from agent.conductor.client import ConductorClient
    from agent.conductor.reader import ConductorState
    from agent.conductor.records import ConductorRecords

    client = ConductorClient(Bus(bus))
    resources.callback(client.close)
    return Cloud(ConductorState(client), ConductorRecords(client), shown=bus.shown)


def _domain_asker(loaded: Loaded) -> DomainAsker | None:
    path = probe_socket(loaded)
    if path is None:
        return None
    # Import late: only an agent without root rights asks stocktake-probe, the helper program that runs as root.
    from agent.sources.probe.capabilities import ProbeDomainAsker

    return ProbeDomainAsker(path)
