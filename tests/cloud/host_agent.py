"""The agent on one host of the model cloud: the real run_audit and the real heal, with sources that read the model.

Before every single read, and before every request to Placement, the cloud may continue (``Weather``). So the data of
one audit was true at different moments, in the order in which the product reads it. Every write of heal is checked
against the truth when it is carried out.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any

from agent.audit.parts import AuditTask, Parts
from agent.audit.run import run_audit
from agent.books.histories import merged
from agent.errors import PlacementUnavailable, SourceUnavailable
from agent.healing.after_audit import AuditThenHeal
from agent.healing.heal import prepared, run_heal
from agent.healing.undo import undo
from agent.host_files.journal import Result
from agent.model.audit import AuditMemory, AuditRequest, AuditResult, Depth, Identity, Publish
from agent.model.finding import STEADY_AUDITS, History, SeenFinding
from agent.model.heal import HealNote, HealSettings
from agent.model.host.facts import Cpu, Domain, DomainState, HostFacts
from agent.model.nova import (
    FINISHED_MIGRATION_STATUSES,
    AllMigrations,
    ComputeNode,
    NovaState,
    Pulse,
    Service,
    StateKind,
)
from agent.model.own_consumers import own_consumers
from agent.model.placement import ConsumerRecord, PlacementView
from agent.model.plan import PutAllocations
from agent.model.settings import Role, Settings
from agent.model.snapshot import FILESYSTEM, LIBVIRT, STATE
from agent.placement.allocations import AllocationClient
from agent.placement.http.client import PlacementClient
from agent.placement.reader import TreeReader
from agent.placement.writer import TreeWriter
from agent.repairs import DAEMON_CODES
from agent.sources.nova.rows import pulse_from
from tests.cloud.cloud import EPOCH, Cloud
from tests.cloud.computes import Healing, Intruded, Written, WrongWrite, check_beside, check_write, heartbeat
from tests.cloud.feeds import Rows, moment
from tests.cloud.journal import MemoryJournal
from tests.cloud.rules import Reported, Run, check_answered, check_run
from tests.cloud.write_times import WriteTimes
from tests.rigs import facts

REPAIRS = (
    "allocation-leaked",
    "allocation-stale-move",
    "consumer-on-several-providers",
    "allocation-missing",
    "consumer-project-differs",
)
# In a world that changes during every audit, each audit would request another. The worker then waits; this class stops.
LOOKS = 4
REQUEST = AuditRequest(reasons=("model",))
NO_SOURCE = "no source"
BY_HAND = AuditRequest(reasons=("command heal",), publish=Publish.NEVER, depth=Depth.FULL)
FILES = facts.filesystem(16)
CPUS = tuple(Cpu(id=number, online=True) for number in range(8))


class WrongRemoval(AssertionError):
    """The agent removed a rightful allocation."""


class Weather:
    """What the cloud does before a read, and whether that read then fails."""

    def __init__(self) -> None:
        self.interlude: Callable[[], None] = lambda: None
        self.moment: Callable[[], None] = lambda: None
        self.fails: Callable[[], bool] = lambda: False
        # The source that does not answer at all.
        self.silent = NO_SOURCE
        self.second: Callable[[], int] = lambda: 0
        # When this audit, and heal after it, first and last read each path of Placement.
        self.read_at: dict[str, int] = {}
        self.last_read_at: dict[str, int] = {}

    def pass_by(self, error: Exception, source: str | None = None) -> None:
        """Let the cloud continue before a read of that source; raise ``error`` if the read is to fail."""
        self.interlude()
        if self.fails() or source == self.silent:
            raise error


class Windy:
    """A client of Placement, the model's or a real one, that applies the weather to every request."""

    def __init__(self, inner: PlacementClient, weather: Weather) -> None:
        self._inner = inner
        self._weather = weather
        self.before_put: Callable[[], None] = lambda: None
        self.maximum = inner.maximum
        self.forget = inner.forget
        self.global_request_id = inner.global_request_id
        self.post = inner.post

    @property
    def requests(self) -> int:
        """The inner client's requests."""
        return self._inner.requests

    def get(self, path: str, microversion: Any, parse: Callable[[object], Any], *bound: Any) -> Any:
        """GET."""
        self._weather.pass_by(PlacementUnavailable(f"GET {path}: no answer"))
        self._weather.read_at.setdefault(path, self._weather.second())
        self._weather.last_read_at[path] = self._weather.second()
        return self._inner.get(path, microversion, parse, *bound)

    def get_dated(self, path: str, microversion: Any, parse: Callable[[object, Any], Any]) -> Any:
        """GET with the time of the last write."""
        self._weather.pass_by(PlacementUnavailable(f"GET {path}: no answer"))
        return self._inner.get_dated(path, microversion, parse)

    def put(self, path: str, microversion: Any, body: Any, parse: Callable[[object], Any]) -> Any:
        """PUT; for allocations Watched has applied the weather already."""
        if not path.startswith("/allocations/"):
            self._weather.pass_by(PlacementUnavailable(f"PUT {path}: no answer"))
            self.before_put()
        return self._inner.put(path, microversion, body, parse)


class Watched:
    """AllocationWriter that checks every write against the truth."""

    def __init__(self, inner: AllocationClient, cloud: Cloud, weather: Weather) -> None:
        self._inner = inner
        self._cloud = cloud
        self._weather = weather
        self.writes = 0
        self.before_put: Callable[[str], None] = lambda consumer: None
        self.was_rewritten: Callable[[str], bool] = lambda consumer: False

    def consumer(self, consumer_uuid: str) -> ConsumerRecord:
        """Read the consumer as the inner writer does."""
        return self._inner.consumer(consumer_uuid)

    def put(self, write: PutAllocations) -> None:
        """Write as the inner writer does; raise WrongRemoval if a rightful amount shrinks."""
        # One round trip, and so one step of the cloud, lies between heal's last read of the consumer and its PUT. A
        # consumer that is deleted and recreated in that step has a generation that heal has seen before, and
        # Placement's API offers no way to detect it.
        uuid = write.consumer_uuid
        if self.was_rewritten(uuid):
            raise Intruded(f"another client wrote the allocations of {uuid} after the audit had read them")
        self._weather.moment()
        before = {host: dict(self._cloud.recorded(uuid, host)) for host in self._cloud.roots}
        needed = {host: dict(self._cloud.needed(uuid, host)) for host in self._cloud.roots}
        self.before_put(uuid)
        self._inner.put(write)
        self.writes += 1
        for host, had in before.items():
            has = self._cloud.recorded(uuid, host)
            for name, amount in needed[host].items():
                if has.get(name, 0) < min(amount, had.get(name, 0)):
                    raise WrongRemoval(f"{name} of {uuid} on {host}: {had.get(name)} became {has.get(name, 0)}")


class HostAgent:
    """One host's agent. Its identity is in a file; the findings' history survives a crash, other memory does not."""

    def __init__(self, cloud: Cloud, host: str, client: PlacementClient, settings: Settings) -> None:
        self.cloud = cloud
        self.host = host
        self.weather = Weather()
        self.weather.second = lambda: cloud.seconds
        self.feed = cloud.feed()
        self.settings = dataclasses.replace(settings, host=host)
        self.allocations = Watched(AllocationClient(_as_client(client, self.weather)), cloud, self.weather)
        self._client = client
        self.history = SavedHistory()
        self.journal = MemoryJournal()
        # The compute_id file. A clone of another host's disk has the identity of that host.
        self.identity = cloud.roots[host]
        self.undone: set[str] = set()
        self.undone_consumers: set[str] = set()
        self.unread: dict[str, bool] = {}
        self._reported: dict[str, Reported] = {}
        self._memory = AuditMemory()
        self._parts = self._new_parts()
        self._act = AuditThenHeal()
        self._observing = dataclasses.replace(
            self.settings, heal=dataclasses.replace(self.settings.heal, enabled=False)
        )
        self._began: list[int] = []
        self._looked: list[int] = []
        self._writes = WriteTimes()
        self._holders: set[str] = set()
        self.allocations.was_rewritten = self._was_rewritten
        owns = self.settings.role is Role.OWNER
        self.allocations.before_put = self._check_alone if owns else self._check_beside
        self.audits = 0
        self.result: AuditResult | None = None

    # Sources. The agent's own parts are this object: each protocol is a method or two.

    def _new_parts(self) -> Parts:
        return Parts(
            state=_State(self),
            host=_Libvirt(self),
            storage=(_Files(self),),
            reader=TreeReader(_as_client(self._client, self.weather)),
            reporter=TreeWriter(self._watched_client()),
            identity_files=_IdentityFile(self),
            history=_Histories(self.history),
            lock=_Lock(),
            clock=_Clock(self.cloud),
            allocations=self.allocations,
            journal=self.journal,
            random=lambda: 0.5,
            new_id=lambda: "00000000-0000-4000-8000-000000000000",
        )

    def _watched_client(self) -> PlacementClient:
        client = Windy(self._client, self.weather)
        client.before_put = self._check_write
        return client  # type: ignore[return-value]

    def saw_written(self, states: Mapping[str, str], here: Set[str]) -> None:
        """Keep the time of a write that led to these states by consumer; ``here``: those with allocations here now."""
        looks = self._looks()
        for consumer, state in states.items():
            if consumer in here or consumer in self._holders:
                self._writes.note(consumer, state, self.cloud.seconds, looks[-1] if looks else None)
            (self._holders.add if consumer in here else self._holders.discard)(consumer)

    def _check_write(self) -> None:
        if self.settings.role is Role.COMPANION:
            raise WrongWrite(f"the companion of {self.host} wrote a provider")
        check_write(self.cloud, Written(self.host, self._began[-1]))

    def _check_alone(self, consumer: str) -> None:
        check_write(self.cloud, Written(self.host, self._began[-1]))

    def _check_beside(self, consumer: str) -> None:
        if consumer in own_consumers(self.cloud.roots[self.host]):
            return
        age_s, written, is_current = self.settings.heal.min_age_s, self._writes.visible, self.feed.is_current
        check_beside(self.cloud, Healing(self.host, consumer, age_s, self._began, written, self._looks(), is_current))

    def crash(self) -> None:
        """Restart the process: only data on disk remains."""
        self._memory = AuditMemory()
        self._parts = self._new_parts()
        self.result = None

    def audit(self, *, heals: bool = True) -> AuditResult:
        """Run one audit, with heal after it if ``heals``; keep its memory as the worker does."""
        self._begin_audit()
        settings = self.settings if heals else self._observing
        self.result = self._act(REQUEST, settings, self._parts, self._memory, _never)
        self._memory = self.result.memory
        self._note(self.result)
        undone = frozenset(self.undone | self.undone_consumers)
        self._check_run(self.result, self.result.report.healed, undone)
        return self.result

    def _begin_audit(self) -> None:
        self._looked = self._looks()
        self.audits += 1
        self._began.append(self.cloud.seconds)
        self.unread = {}
        self.weather.read_at, self.weather.last_read_at = {}, {}

    def _looks(self) -> list[int]:
        """Return when each audit so far last read the allocations on the host; when it began if it read none.

        An audit that reads them again reports what its last read found.
        """
        if not self._began:
            return []
        return [*self._looked, self.weather.last_read_at.get(self._allocations_path, self._began[-1])]

    def _note(self, result: AuditResult) -> None:
        """Keep since when, and by how many audits in a row, each finding has been reported."""
        known, began = self._reported, self._began[-1]
        found = [seen.finding.id for seen in result.report.findings]
        self._reported = {each: known.get(each, Reported(began)).again(began, self.settings) for each in found}

    def heal_by_hand(self, ids: frozenset[str], *, approves: bool) -> None:
        """Do as ``stocktake heal`` does, in a process of its own: audit until the findings count, then plan.

        Without ``ids`` the plan is for all findings. The operator lets heal carry it out, unless not ``approves``.
        """
        parts, memory = self._new_parts(), AuditMemory()
        task = AuditTask(request=BY_HAND, settings=self.settings, parts=parts, cancelled=_never)
        steady = STEADY_AUDITS if self.settings.role is Role.COMPANION else 0
        for number in range(max(self.settings.confirm_audits, steady)):
            parts.clock.wait(self.settings.confirm_spacing_s if number else 0)
            self._begin_audit()
            result = run_audit(BY_HAND, self.settings, parts, memory, _never)
            memory = result.memory
            self._note(result)
        self._remember(parts, memory)
        wanted = prepared(task, result, DAEMON_CODES, ids)
        if wanted is not None:
            check_answered(wanted)
        healed = run_heal(task, wanted) if wanted and approves else ()
        notes = [
            HealNote(
                finding_id=each.action.finding_id,
                code=each.action.code,
                consumer_uuid=each.action.consumer_uuid,
                result=each.outcome.result.value,
                words=each.outcome.words,
                entry_id=each.outcome.entry_id,
            )
            for each in healed
        ]
        self._check_run(result, tuple(notes), frozenset())

    def _remember(self, parts: Parts, memory: AuditMemory) -> None:
        """Save the findings for the daemon, as the command does; an observer's command saves nothing."""
        if self.settings.role is not Role.OBSERVER and memory.history is not None:
            parts.history.save(merged(memory.history, parts.history.load(), memory.ended))

    def undo_last(self) -> str | None:
        """Put back the newest repair that nobody has put back; return its consumer, or None if nothing was put back."""
        known = {entry.id: entry for entry in self.journal.read().entries}
        repairs = [e for e in known.values() if e.result is Result.DONE and not e.undone_by and not e.change.undoes]
        if not repairs:
            return None
        # An operator may put back a wrong state, so nothing checks these writes against the truth.
        parts = dataclasses.replace(self._parts, allocations=AllocationClient(_as_client(self._client, self.weather)))
        task = AuditTask(request=REQUEST, settings=self.settings, parts=parts, cancelled=_never)
        if undo(task, self.journal, repairs[-1], known).result is not Result.DONE:
            return None
        self.undone.add(repairs[-1].change.finding_id or "")
        self.undone_consumers.add(repairs[-1].change.consumer_uuid or "")
        return repairs[-1].change.consumer_uuid

    def _check_run(self, result: AuditResult, tried: tuple[HealNote, ...], undone: frozenset[str]) -> None:
        view = result.snapshot.placement.value if result.snapshot else None
        check_run(
            Run(
                host=self.host,
                settings=self.settings,
                tried=tried,
                failed=frozenset(source for source, failed in self.unread.items() if failed),
                undone=undone,
                consumers=len(view.consumer_uuids) if view else 0,
                reported=self._reported,
                second=self.cloud.seconds,
                has_read_allocations=self._has_read_allocations(view),
                is_cloned=self.identity != self.cloud.roots[self.host],
            )
        )

    def _has_read_allocations(self, view: PlacementView | None) -> bool:
        """Return whether this audit read the allocations. The agent asks no provider that never had any."""
        return self._allocations_path in self.weather.read_at or (view is not None and not view.consumer_uuids)

    @property
    def _allocations_path(self) -> str:
        return f"/resource_providers/{self.cloud.roots[self.host]}/allocations"

    def _was_rewritten(self, consumer: str) -> bool:
        read_at = self.weather.read_at.get(self._allocations_path)
        return read_at is not None and self._writes.last.get(consumer, read_at) > read_at

    def pass_by(self, source: str) -> None:
        """Let the cloud continue before a read of that source; raise SourceUnavailable if the read is to fail."""
        try:
            self.weather.pass_by(SourceUnavailable(source, "no answer"), source)
        except SourceUnavailable:
            # Only the audit's own read counts, which is the first: heal reads the state again.
            self.unread.setdefault(source, True)
            raise
        self.unread.setdefault(source, False)

    def occasion(self, *, heals: bool = True) -> tuple[AuditResult, int]:
        """Run a periodic audit and its follow-ups (agent/daemon/worker.py); return the last result and the count."""
        count, result = 1, self.audit(heals=heals)
        while result.audit_again and count < LOOKS:
            count, result = count + 1, self.audit(heals=heals)
        return result, count

    def findings(self) -> tuple[SeenFinding, ...]:
        """Return the findings of the last audit."""
        return self.result.report.findings if self.result else ()


def _never() -> bool:
    return False


def _as_client(client: PlacementClient, weather: Weather) -> PlacementClient:
    return Windy(client, weather)  # type: ignore[return-value]


@dataclasses.dataclass(frozen=True, slots=True)
class _State:
    """StateSource: the rows that agent/sources/nova/sql.py reads in one transaction, so of one moment."""

    agent: HostAgent
    name: str = STATE

    def read(self, host: str, consumers: frozenset[str], deadline: object, node_uuid: str | None = None) -> NovaState:
        """Return the rows of this host, of its migrations, and of the consumers, including deleted rows."""
        self.agent.pass_by(STATE)
        cloud = self.agent.cloud
        found = self.agent.feed.read(cloud.seconds)
        live = [m for m in found.migrations.values() if not m.deleted]
        moving = [
            m for m in live if host in (m.source_host, m.dest_host) and m.status not in FINISHED_MIGRATION_STATUSES
        ]
        evacuated = [m for m in live if m.kind == "evacuation" and m.source_host == host and m.status in _EVACUATED]
        recorded = [m for m in found.migrations.values() if m.uuid in consumers and m not in moving]
        named = consumers | {m.instance_uuid for m in (*moving, *evacuated, *recorded)}
        rows = [i for i in found.instances.values() if i.uuid in named or (i.host == host and not i.deleted)]
        node = ComputeNode(
            id=1, uuid=cloud.roots[host], host=host, hypervisor_hostname=cloud.node_of(host), deleted=False
        )
        return NovaState(
            kind=StateKind.SQL,
            host=host,
            nodes=() if host in cloud.retired else (node,),
            instances=tuple(sorted(rows, key=lambda i: i.uuid)),
            migrations=tuple(sorted((*moving, *recorded), key=lambda m: m.id)),
            finished_evacuations=tuple(sorted(evacuated, key=lambda m: m.id)),
            service=_service(found, host),
            now=cloud.now(),
            heartbeat=_pulse(cloud, found).heartbeat,
            newest_heartbeat=_pulse(cloud, found).newest,
        )

    def pulse(self, host: str, deadline: object) -> Pulse:
        """Return the clock and the newest heartbeat; the weather applies here too."""
        self.agent.weather.pass_by(SourceUnavailable(STATE, "no answer"))
        cloud = self.agent.cloud
        return _pulse(cloud, self.agent.feed.read(cloud.seconds))

    def migrations_of(self, host: str, instances: frozenset[str], deadline: object) -> AllMigrations:
        """Return the rows of one answer; the weather applies here too."""
        self.agent.weather.pass_by(SourceUnavailable(STATE, "no answer"))
        cloud = self.agent.cloud
        found = self.agent.feed.read(cloud.seconds)
        live = [m for m in found.migrations.values() if not m.deleted]
        of = {uuid: tuple(m for m in live if m.instance_uuid == uuid) for uuid in instances}
        return AllMigrations(of=of, pulse=_pulse(cloud, found))


def _pulse(cloud: Cloud, found: Rows) -> Pulse:
    return pulse_from(cloud.now(), [moment(EPOCH, second) for second in found.heartbeats])


def _service(found: Rows, host: str) -> Service | None:
    life = found.lives.get(host)
    if life is None:
        return None
    seen = heartbeat(life, found.second)
    return Service(
        id=1,
        version=68,
        disabled=False,
        forced_down=False,
        last_seen_up=None if seen is None else moment(EPOCH, seen),
        created_at=EPOCH,
    )


_EVACUATED = ("done", "completed")


@dataclasses.dataclass(frozen=True, slots=True)
class _Libvirt:
    """HostSource."""

    agent: HostAgent
    name: str = LIBVIRT

    def read(self, deadline: object) -> HostFacts:
        """Return eight CPUs, 2 GiB of memory, and the guests."""
        self.agent.pass_by(LIBVIRT)
        cloud, host = self.agent.cloud, self.agent.host
        domains = tuple(
            Domain(uuid=u, name=u[:8], state=DomainState.RUNNING, vcpus=f.vcpus, memory_mib=f.memory_mib)
            for u, f in sorted(cloud.guests[host].items())
        )
        return HostFacts(
            hostname=cloud.node_of(host),
            driver="QEMU",
            libvirt_version=9000000,
            hypervisor_version=7002000,
            cpus=CPUS,
            memory_mib=2048,
            memory_used_mib=100,
            domains=domains,
        )

    def forget(self) -> None:
        """Do nothing: there is no cache."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Files:
    """StorageSource: the file system of the instances."""

    agent: HostAgent
    name: str = FILESYSTEM

    def read(self, deadline: object) -> Any:
        """Return a file system of 16 GiB."""
        self.agent.weather.pass_by(SourceUnavailable(FILESYSTEM, "no answer"))
        return FILES


@dataclasses.dataclass(frozen=True, slots=True)
class _IdentityFile:
    agent: HostAgent

    def find(self) -> Identity:
        return Identity(uuid=self.agent.identity, origin="compute_id")

    def create(self) -> Identity:
        raise AssertionError("there is a file")


@dataclasses.dataclass(slots=True)
class SavedHistory:
    """The file with the findings' history, which the daemon and the commands of a host share."""

    history: History = dataclasses.field(default_factory=History)
    saves: int = 0


class _Histories:
    """The HistoryStore of one process."""

    def __init__(self, file: SavedHistory) -> None:
        self._file = file
        self._seen = 0

    def load(self) -> History:
        self._seen = self._file.saves
        return self._file.history

    def changed(self) -> History | None:
        """Return the history if another process of the host has saved it since this process last loaded or saved it."""
        return None if self._seen == self._file.saves else self.load()

    def save(self, history: History) -> bool:
        self._file.history, self._file.saves = history, self._file.saves + 1
        self._seen = self._file.saves
        return True


class _Lock:
    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        yield


@dataclasses.dataclass(frozen=True, slots=True)
class _Clock:
    cloud: Cloud

    def now(self) -> str:
        return self.cloud.now().isoformat(timespec="milliseconds") + "Z"

    def monotonic(self) -> float:
        return float(self.cloud.seconds)

    def boot(self) -> str:
        return "one"

    def wait(self, seconds: float) -> None:
        """Advance the cloud's time by whole seconds."""
        self.cloud.seconds += math.ceil(seconds)


def settings_of(
    role: Role, *, min_age_s: float, most: int = 5, percent: float = 100.0, confirm_audits: int = 2
) -> Settings:
    """Return settings: audits ten seconds apart confirm a finding, and a run makes that many changes."""
    heal = HealSettings(enabled=True, codes=REPAIRS, min_age_s=min_age_s, max_consumers=most, max_percent=percent)
    owner = role is Role.OWNER
    return facts.settings(
        role=role,
        heal=heal,
        takeover=owner,
        confirm_audits=confirm_audits,
        confirm_spacing_s=10.0,
        confirm_within_s=180.0,
    )
