"""Read all sources of one audit in a fixed order; each read results in a Reading, even a failed read.

The order is Placement, the cloud's state, libvirt, storage. Placement must be first: if an instance has an allocation
but is missing in the *later* read of the state source, nova deleted it between the two reads or is still building it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import TypeVar

from agent.audit.current_state import current_state, deadline_of
from agent.audit.freshness import standing
from agent.audit.parts import AuditTask
from agent.errors import AgentError, ConfigError, PlacementUnavailable, SourceStale, SourceUnavailable
from agent.host_files.identity import identity_from_state
from agent.model.audit import AuditMemory, Depth, Identity, Standing
from agent.model.host.facts import HostFacts
from agent.model.host.storage import StorageFacts
from agent.model.nova import NovaState
from agent.model.placement import PlacementView
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE, Reading, Snapshot
from agent.node_record.orphans import obstacle, trees_to_read
from agent.node_record.overcommit import guest_files
from agent.ports import ViewRequest
from agent.provider_tree.identity_doubt import guests_of_an_unknown_host
from agent.timing.full_read_schedule import Turn, overdue, turn

T = TypeVar("T")
EVERY_CONSUMER = 10**9
USAGE_UNLISTED = "usage-unlisted"
# A scheduled read of allocations also reads the consumer records of this many unsuspicious consumers, in rotation. With
# one such record, an unchanged host needs fewer than 1.25 requests per audit, however many consumers it has.
UNSUSPICIOUS_READS = 1
# A read that fails this shortly before its deadline counts as late, because a library may end a call a little early.
JUST_BEFORE_S = 0.5
# An audit reads at most this many consumers of sharing providers: the state source reads their rows in one statement.
SHARED_READS = 500


def identified(task: AuditTask, memory: AuditMemory) -> AuditMemory:
    """Return the memory with the host's identity and node name; each is None while it is unknown.

    The agent reads libvirt only until both are known, and the state source only if no ``compute_id`` file has the
    identity. Raises ConfigError if the identity is lost or ambiguous.
    """
    identity = memory.identity
    if identity is None or (identity.invented and task.owns()):  # role owner (set by SIGHUP) needs a compute_id file
        identity = task.parts.identity_files.find()
    if identity is not None and memory.node_name is not None:
        return dataclasses.replace(memory, identity=identity)
    host = _host(task)
    node = memory.node_name or (host.value.hostname if host.value else None)
    if identity is None and node is not None:
        identity = _of_state(task, memory, node, host.value)
    guests = host.value.guest_uuids if host.value else memory.guests
    return dataclasses.replace(memory, identity=identity, node_name=node, guests=guests)


def _of_state(task: AuditTask, memory: AuditMemory, node: str, host: HostFacts | None) -> Identity | None:
    state = _state(task, memory, frozenset()).value
    if state is None:
        return None
    known = identity_from_state(state, node)
    if known is not None:
        return known
    if host is None or guests_of_an_unknown_host(state, host):
        # Libvirt was not read, or nova does not know the guests' host (finding identity-changed): create no identity.
        return None
    if task.owns():
        return task.parts.identity_files.create()
    origin = "generated for this run only, because this run may not save an identity"
    return Identity(uuid=task.parts.new_id(), origin=origin, invented=True)


def node_name(memory: AuditMemory, snapshot: Snapshot) -> str | None:
    """Return the node's name: the first host name that libvirt reported since the agent's start (scenario 92)."""
    return memory.node_name or (snapshot.host.value.hostname if snapshot.host.value else None)


def read(task: AuditTask, memory: AuditMemory) -> Snapshot:
    """Return a snapshot with the readings of all sources. A failed read affects only decisions that depend on it."""
    placement = read_placement(task, memory, turn_of(task, memory))
    task.stop_if_cancelled()
    view = placement.value
    consumers = view.consumer_uuids | view.shared_consumer_uuids if view else memory.consumers
    # Request the rows of the guests too: nova may have deleted a guest's instance, and the audit needs its row.
    consumers |= memory.guests
    nova = _state(task, memory, consumers, memory.identity.uuid if memory.identity else None)
    task.stop_if_cancelled()
    if view and view.name_holder:
        # Another provider has this host's name. The compute node row with its uuid shows which host it belongs to.
        nova = _with_node(task, memory, nova, view.name_holder.uuid)
    placement = with_orphans(task, memory, placement, nova.value)
    nova = _with_removable(task, memory, nova, placement.value)
    host = _host(task)
    task.stop_if_cancelled()
    storage = tuple(
        _reading(task, source.name, functools.partial(source.read, deadline_of(task.settings)))
        for source in task.parts.storage
    )
    storage = (*storage, *_images(task, host.value))
    return Snapshot(placement=placement, nova=nova, host=host, storage=storage, store=memory.store)


def turn_of(task: AuditTask, memory: AuditMemory) -> Turn:
    """Return which parts of Placement this audit reads again even if no generation has changed."""
    if memory.identity is None:
        return Turn.NOTHING
    every = task.settings.full_read_every
    return overdue(turn(memory.identity.uuid, memory.audits + 1, every), memory.audits_since_everything, every)


def read_placement(task: AuditTask, memory: AuditMemory, its: Turn) -> Reading[PlacementView]:
    """Read this host's provider tree.

    Allocations are read again if the schedule (``its``) says so or if ``recheck_recorded`` is set, because Placement
    raises no generation when an allocation is removed.
    """
    if memory.identity is None:
        error = PlacementUnavailable(
            "the agent did not read Placement, because this host's identity is unknown: libvirt or the state source "
            "failed, or finding identity-changed has the reason"
        )
        return Reading(source=PLACEMENT, taken_at=task.parts.clock.now(), duration_s=0.0, error=error)
    most, sightings = task.settings.consumer_reads, memory.history.sightings if memory.history else ()
    wanted = ViewRequest(
        root_uuid=memory.identity.uuid,
        root_name=memory.node_name or "",
        fresh_allocations=its is not Turn.NOTHING or memory.recheck_recorded,
        everything=its is Turn.EVERYTHING,
        consumer_reads=most,
        # A full read (Turn.EVERYTHING) sends the most requests. Reads of unsuspicious consumers would add a third.
        unsuspicious_reads=min(UNSUSPICIOUS_READS, most) if its is Turn.ALLOCATIONS else 0,
        suspects=memory.suspects,
        reported=memory.reported,
        shared_reads=SHARED_READS if memory.shared_due_in == 0 else 0,
        usages=its is Turn.EVERYTHING or any(sighting.code == USAGE_UNLISTED for sighting in sightings),
    )
    if task.request.depth is Depth.FULL:
        wanted = _in_full(wanted)
    return _reading(task, PLACEMENT, lambda: task.parts.reader.view(wanted))


def _in_full(wanted: ViewRequest) -> ViewRequest:
    """Return the request for an operator's command, which reads everything, whatever the schedule."""
    return dataclasses.replace(
        wanted,
        fresh_allocations=True,
        consumer_reads=EVERY_CONSUMER,
        unsuspicious_reads=None,
        shared_reads=EVERY_CONSUMER,
        usages=True,
    )


def _with_removable(
    task: AuditTask, memory: AuditMemory, nova: Reading[NovaState], view: PlacementView | None
) -> Reading[NovaState]:
    """Add the compute node rows with the uuids of left providers that could be deleted: a row may be another host's.

    A left provider stayed in Placement when the agent deleted its compute node record. Its uuid may be in use again.
    """
    trees = {tree.uuid: tree for tree in (view.orphans if view else ()) if tree.providers}
    for left in memory.history.left if memory.history else ():
        tree = trees.get(left.uuid)
        if tree is not None and obstacle(tree, left.name) is None:
            nova = _with_node(task, memory, nova, left.uuid)
    return nova


def _with_node(task: AuditTask, memory: AuditMemory, nova: Reading[NovaState], uuid: str) -> Reading[NovaState]:
    """Add the compute node row with this uuid, whichever host the row names."""
    state = nova.value
    if state is None or uuid in {node.uuid for node in state.nodes}:
        return nova
    asked = _state(task, memory, frozenset(), uuid)
    if asked.value is None:
        return asked
    known = {node.id: node for node in (*asked.value.nodes, *state.nodes)}
    nodes = tuple(known[number] for number in sorted(known))
    return dataclasses.replace(nova, value=dataclasses.replace(state, nodes=nodes))


def with_orphans(
    task: AuditTask, memory: AuditMemory, placement: Reading[PlacementView], state: NovaState | None
) -> Reading[PlacementView]:
    """Return the view with the trees of orphaned nodes. Without such nodes, return the same view and send nothing."""
    view, root = placement.value, memory.identity.uuid if memory.identity else None
    uuids = trees_to_read(state, memory.node_name, root, memory.history.left if memory.history else ())
    if view is None or not uuids:
        return placement
    seen = _reading(task, PLACEMENT, lambda: task.parts.reader.orphans(view, uuids))
    return dataclasses.replace(seen, taken_at=placement.taken_at, duration_s=placement.duration_s + seen.duration_s)


def _host(task: AuditTask) -> Reading[HostFacts]:
    return _reading(task, LIBVIRT, lambda: task.parts.host.read(deadline_of(task.settings)))


def _images(task: AuditTask, host: HostFacts | None) -> tuple[Reading[StorageFacts], ...]:
    """Measure the guests' disk files that libvirt reported. An operator's command ignores earlier measurements."""
    images = task.parts.images
    if images is None:
        return ()
    if task.request.depth is Depth.FULL:
        images.forget()
    task.stop_if_cancelled()
    disks = guest_files(host) if host else frozenset()
    return (_reading(task, images.name, lambda: images.read(disks, deadline_of(task.settings))),)


def _state(
    task: AuditTask, memory: AuditMemory, consumers: frozenset[str], node_uuid: str | None = None
) -> Reading[NovaState]:
    ask = functools.partial(current_state, task, consumers, node_uuid, before=memory.heartbeat)
    return _reading(task, STATE, ask)


def heartbeat_after(task: AuditTask, memory: AuditMemory, snapshot: Snapshot) -> Standing | None:
    """Return the cell's newest heartbeat and since when it is unchanged; the next audit compares with both."""
    state, error = snapshot.nova.value, snapshot.nova.error
    read_now = state.heartbeat if state else error.heartbeat if isinstance(error, SourceStale) else None
    return standing(memory.heartbeat, read_now, task.parts.clock.monotonic())


def _reading(task: AuditTask, source: str, ask: Callable[[], T]) -> Reading[T]:
    """Call ``ask`` and return its value or its AgentError as a Reading; no other function makes readings of errors.

    Raises ConfigError, because only the operator can correct the configuration.
    """
    if (late := task.late.get(source)) is not None:
        return late
    clock = task.parts.clock
    taken_at, began = clock.now(), clock.monotonic()
    value, error = None, None
    try:
        with task.parts.reading():
            value = ask()
        if value is None:
            raise SourceUnavailable(source, "returned no value")
    except ConfigError:
        raise
    except AgentError as failed:
        error = failed
    duration_s = clock.monotonic() - began
    reading: Reading[T] = Reading(source=source, taken_at=taken_at, duration_s=duration_s, value=value, error=error)
    if error is not None and duration_s >= task.settings.source_deadline_s - JUST_BEFORE_S:
        task.late[source] = reading
    return reading
