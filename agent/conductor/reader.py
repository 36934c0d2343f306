"""Read the cloud's state of one host from nova-conductor.

A full read makes seven calls. A light read, which only finds out whether anything has changed, makes four.

The result equals that of agent/sources/nova/sql.py. No transaction spans the calls. As in nova-compute, the call for
instances comes before the call for migrations. If a move ends between the two calls, the result shows the instance and
also the move. In the other order, the result could show neither.

The agent requests the migrations of each node: of the nodes in the host's compute node records, and of the nodes that
the host's instances name.

The agent requests an instance's boot disks only once, because the answer is large: it contains the connection data of
each volume. The agent caches the answer until a read no longer returns the instance. The cached answer stays right: an
instance that boots from an image never changes to a volume, and the reverse never happens either.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable

from agent.conductor import wire
from agent.conductor.client import ConductorClient
from agent.conductor.node_wire import record_from_fields
from agent.conductor.questions import Questions
from agent.model.nova import AllMigrations, ComputeHost, LightState, NovaState, Pulse, StateKind, StateSign
from agent.model.snapshot import STATE
from agent.ports import Deadline
from agent.sources.nova.all_migrations import all_migrations
from agent.sources.nova.compute_hosts import compute_hosts_from_rows
from agent.sources.nova.documents import Cells, Row, texts
from agent.sources.nova.guest_rows_cache import LastGuests
from agent.sources.nova.light import is_settled, light_state
from agent.sources.nova.rows import CellRows, disks_by_instance, pulse_from, state_from_rows

# A heartbeat is recent if it is less than A_MOMENT old, and less than A_SECOND ahead of this host's clock.
# nova-compute writes a heartbeat every 10 s (report_interval), so A_MOMENT allows three missed heartbeats.
A_MOMENT = datetime.timedelta(seconds=30)
A_SECOND = datetime.timedelta(seconds=1)


class ConductorState:
    """Reads nova's state over RPC, for one thread at a time. Does not close ``client``, which others may share."""

    name = STATE

    def __init__(self, client: ConductorClient, now: Callable[[], datetime.datetime] | None = None) -> None:
        """``now`` returns the time (naive UTC). By default it reads this host's clock: conductor reports no time."""
        self._client = client
        self._now = now or _own_clock
        self._disks: dict[str, tuple[Row, ...]] = {}
        self._guests = LastGuests()

    def read(self, host: str, consumers: frozenset[str], deadline: Deadline, node_uuid: str | None = None) -> NovaState:
        """See StateSource. Raises SourceUnavailable, and SourceInconsistent if an answer violates nova's schema."""
        questions = Questions(self._client, deadline)
        # Read the heartbeats before all rows, so that the rows are at least as new as the heartbeats.
        conductors = questions.conductors()
        pulse_at = self._now()
        services = questions.services(host)
        live = questions.nodes(host)
        nodes = tuple(map(wire.node_row, live))
        if node_uuid is not None and node_uuid not in texts(nodes, "uuid"):
            nodes += questions.node_named(node_uuid)
        rows = self._guest_rows(questions, host, consumers, nodes)
        rows = dataclasses.replace(
            rows,
            heartbeats=_heartbeats(conductors + services),
            pulse_at=pulse_at,
            services=services,
            nodes=nodes,
            pci_devices=tuple(row for node in live for row in questions.pci_devices(node.get("id"))),
        )
        state = state_from_rows(host, rows, self._guests.parsed(rows), StateKind.CONDUCTOR)
        return dataclasses.replace(
            state,
            records=tuple(sorted(map(record_from_fields, live), key=lambda r: r.id or 0)),
            conductor_versions=_versions(conductors),
        )

    def light(self, last: NovaState, consumers: frozenset[str], deadline: Deadline) -> LightState:
        """See StateSource. Makes four calls, and more if nova-compute's heartbeat is old.

        A further call reads instances on other hosts, if ``consumers`` or unfinished migrations name such instances.
        A light read does not read compute nodes, boot disks, PCI devices or finished evacuations. So a light read does
        not see a change of these rows. docs/explanation/what-the-cloud-pays.md says how long such a change may stay
        unseen.
        """
        questions = Questions(self._client, deadline)
        services = questions.services(last.host)
        pulse = self._light_pulse(questions, services)
        here = questions.uuids(last.host)
        changed = questions.last_changed(last.host)
        moving = tuple(row for node in _node_names(last) for row in questions.migrations(last.host, node))
        # ``elsewhere``: the instances on other hosts that are consumers in Placement or are migrating. A full read also
        # looks up the instances of finished evacuations.
        elsewhere = consumers.union(move.instance_uuid for move in last.migrations if move.in_progress) - here
        parts = (
            ("instances", here),
            ("last change", tuple((row["uuid"], row["updated_at"]) for row in changed)),
            ("migrations", _contents(moving)),
            ("instances elsewhere", _contents(questions.bare_instances(elsewhere) if elsewhere else ())),
        )
        newest = next((Cells("instances", row).moment("updated_at") for row in changed), None)
        sign = StateSign(parts=parts, is_settled=is_settled(newest, pulse))
        return light_state(last.host, services, pulse, self._now(), sign)

    def _light_pulse(self, questions: Questions, services: tuple[Row, ...]) -> Pulse:
        """Return the heartbeats and the current time.

        Ask for the conductors' heartbeats only if this host's nova-compute has no recent heartbeat.
        """
        own = pulse_from(self._now(), _heartbeats(services))
        if own.now is not None and own.heartbeat is not None and A_MOMENT > own.now - own.heartbeat > -A_SECOND:
            return own
        heartbeats = _heartbeats(questions.conductors() + services)
        return pulse_from(self._now(), heartbeats)

    def pulse(self, host: str, deadline: Deadline) -> Pulse:
        """See StateSource. Reads the heartbeats of the conductors and of this host's services. Raises SourceError."""
        questions = Questions(self._client, deadline)
        heartbeats = _heartbeats(questions.conductors() + questions.services(host))
        return pulse_from(self._now(), heartbeats)

    def migrations_of(self, host: str, instances: frozenset[str], deadline: Deadline) -> AllMigrations:
        """See StateSource. Makes two calls for the heartbeats, and then one call for each instance."""
        pulse, questions = self.pulse(host, deadline), Questions(self._client, deadline)
        rows = tuple(row for uuid in sorted(instances) for row in questions.migrations_of(uuid))
        return all_migrations(instances, rows, pulse)

    def compute_hosts(self, deadline: Deadline) -> tuple[ComputeHost, ...]:
        """Return the hosts of the cell's nova-compute services. Raises SourceError if no usable answer comes."""
        return compute_hosts_from_rows(Questions(self._client, deadline).computes())

    def _guest_rows(
        self, questions: Questions, host: str, consumers: frozenset[str], nodes: tuple[Row, ...]
    ) -> CellRows:
        """Return the rows of migrations, finished evacuations, instances, and the instances' boot disks.

        The migrations are those of the host, and those whose uuid is in ``consumers``. The instances are those on the
        host, those in ``consumers``, and those that a migration or a finished evacuation names.
        """
        here = questions.instances(host)
        names = texts((row for row in nodes if row["host"] == host), "hypervisor_hostname") | texts(here, "node")
        moving = tuple(row for node in sorted(names) for row in questions.migrations(host, node))
        evacuated = questions.finished_evacuations(host)
        seen = texts(here, "uuid")
        recorded = questions.migrations_named(consumers - seen - texts(moving, "uuid"))
        others = (consumers | texts((*moving, *evacuated, *recorded), "instance_uuid")) - seen
        instances = here + questions.instances_named(others)
        return CellRows(
            now=self._now(),
            instances=instances,
            boot_disks=self._boot_disks(questions, texts(instances, "uuid")),
            migrations=moving + recorded,
            finished_evacuations=evacuated,
        )

    def _boot_disks(self, questions: Questions, uuids: set[str]) -> tuple[Row, ...]:
        """Return the boot disks of these instances. Cache the disks of these instances only."""
        known = {uuid: rows for uuid, rows in self._disks.items() if uuid in uuids}
        self._disks = known | disks_by_instance(questions.boot_disks(uuids - set(known)))
        return tuple(row for uuid in sorted(self._disks) for row in self._disks[uuid])


def _node_names(state: NovaState) -> list[str]:
    """Return the names of the nodes that the last full read found on this host."""
    here = {instance.node for instance in state.instances if instance.host == state.host and not instance.deleted}
    names = {node.hypervisor_hostname for node in state.nodes if node.host == state.host} | here
    return sorted(name for name in names if name)


def _contents(rows: tuple[Row, ...]) -> frozenset[tuple[object, ...]]:
    return frozenset(tuple(row.values()) for row in rows)


def _own_clock() -> datetime.datetime:
    """Return this host's time in UTC."""
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def _versions(services: tuple[Row, ...]) -> tuple[int, ...]:
    return tuple(sorted({version for row in services if isinstance(version := row["version"], int)}))


def _heartbeats(services: tuple[Row, ...]) -> tuple[object, ...]:
    return tuple(row["last_seen_up"] for row in services)
