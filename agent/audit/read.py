"""Read all sources of one audit in a fixed order; each read results in a Reading, even a failed read.

The order is Placement, nova's data, libvirt, storage. If nova's data were read before Placement, an instance created
between the two reads would have an allocation but no row in nova's data, and the allocation would look leaked.
"""

from __future__ import annotations

import dataclasses
import functools

from agent.audit.current_state import deadline_of
from agent.audit.freshness import standing
from agent.audit.light_or_full import guests_changed
from agent.audit.parts import AuditTask
from agent.audit.read_state import in_full, read_state
from agent.audit.readings import reading
from agent.errors import PlacementNotAsked, SourceStale
from agent.host_files.identity import identity_from_state
from agent.model.audit import AuditMemory, Depth, Identity, Standing
from agent.model.host.facts import HostFacts
from agent.model.host.storage import StorageFacts
from agent.model.nova import NovaState
from agent.model.placement import PlacementView
from agent.model.snapshot import LIBVIRT, PLACEMENT, Reading, Snapshot
from agent.node_record.orphans import obstacle, trees_to_read
from agent.node_record.overcommit import guest_files
from agent.ports import ViewRequest
from agent.provider_tree.identity_doubt import guests_of_an_unknown_host
from agent.timing.full_read_schedule import Turn, overdue, turn

EVERY_CONSUMER = 10**9
_IDENTITY = "this host's provider uuid is not known"
USAGE_UNLISTED = "usage-unlisted"
# Some audits read all allocations of the host again. Each of these audits also reads this many consumers that do not
# look suspicious, and each reads other consumers. With 1 consumer, an unchanged host needs on average fewer than 1.25
# requests per audit.
UNSUSPICIOUS_READS = 1
# The maximum number of consumers of sharing providers that an audit reads. The limit exists because one SQL statement
# selects nova's rows of all these consumers.
SHARED_READS = 500


def identified(task: AuditTask, memory: AuditMemory) -> AuditMemory:
    """Find the host's provider uuid (``identity``) and node name, and return them in AuditMemory.

    Each is None while it is unknown. The agent reads libvirt only until both are known, and nova's data only if no
    ``compute_id`` file has the uuid. Raises ConfigError if the uuid is lost or ambiguous.
    """
    identity = memory.identity
    # An ``invented`` uuid was generated for one run only. An agent in role owner needs the lasting uuid of a compute_id
    # file. The operator may set role owner while the daemon runs.
    if identity is None or (identity.invented and task.owns()):
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
    state = in_full(task, memory, frozenset()).value
    if state is None:
        return None
    known = identity_from_state(state, node)
    if known is not None:
        return known
    if host is None or guests_of_an_unknown_host(state, host) or task.parts.identity_files.may_be_elsewhere:
        # Do not create a provider uuid if libvirt was not read, or if only root can read a compute_id file. Also do not
        # create one if nova's guests are here, but nova's database does not know this host (finding identity-changed).
        return None
    if task.owns():
        return task.parts.identity_files.create()
    origin = "generated for this run only, because this run must not write a compute_id file"
    return Identity(uuid=task.parts.new_id(), origin=origin, invented=True)


def node_name(memory: AuditMemory, snapshot: Snapshot) -> str | None:
    """Return the node's name: the first host name that libvirt reported since the agent's start (scenario 92)."""
    return memory.node_name or (snapshot.host.value.hostname if snapshot.host.value else None)


def read(task: AuditTask, memory: AuditMemory) -> Snapshot:
    """Return a snapshot with the readings of all sources. A failed read affects only decisions that depend on it."""
    its = turn_of(task, memory)
    placement = read_placement(task, memory, its)
    task.stop_if_cancelled()
    nova, how = read_state(task, memory, placement.value, is_due=its is not Turn.NOTHING)
    task.stop_if_cancelled()
    placement, nova = _with_other_nodes(task, memory, placement, nova)
    snapshot = Snapshot(placement=placement, nova=nova, host=_host(task), store=memory.store, state_read=how)
    if how.is_light and guests_changed(memory.full_state, snapshot.host.value):
        snapshot = with_full_state(task, memory, snapshot, "libvirt's guests changed, or were not read")
    return with_storage(task, _why_not_asked(task, snapshot))


def _why_not_asked(task: AuditTask, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot. If Placement was not asked, put the reason into Placement's reading, as its error."""
    if snapshot.placement.asked:
        return snapshot
    unread = [reading.source for reading in (snapshot.host, snapshot.nova) if not reading.ok]
    why = "this host's provider uuid is not known yet (see finding identity-changed)"
    if unread:
        why = f"{unread[0]} was not read, so {_IDENTITY}"
    if task.parts.identity_files.may_be_elsewhere:
        why = f"only root can read the file compute_id, so {_IDENTITY}"
    placement = dataclasses.replace(snapshot.placement, error=PlacementNotAsked(why))
    return dataclasses.replace(snapshot, placement=placement)


def with_storage(task: AuditTask, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with new readings of storage.

    Storage must be read after nova's data. In the other order, nova could delete an instance and its disk between the
    two reads, and the disk would look orphaned.
    """
    task.stop_if_cancelled()
    storage = tuple(
        reading(task, source.name, functools.partial(source.read, deadline_of(task.settings)))
        for source in task.parts.storage
    )
    return dataclasses.replace(snapshot, storage=(*storage, *_images(task, snapshot.host.value)))


def with_full_state(task: AuditTask, memory: AuditMemory, snapshot: Snapshot, why: str) -> Snapshot:
    """Read all of nova's data, then libvirt again. ``why``: why the smaller read before was not enough.

    Every audit reads Placement, nova, libvirt and storage in this order. This function does not read storage: a caller
    that has read storage already must call ``with_storage`` again.
    """
    how = dataclasses.replace(snapshot.state_read, why_full=why, saw_change=True)
    nova = in_full(task, memory, how.consumers)
    task.stop_if_cancelled()
    placement, nova = _with_other_nodes(task, memory, snapshot.placement, nova)
    return dataclasses.replace(snapshot, placement=placement, nova=nova, host=_host(task), state_read=how)


def _with_other_nodes(
    task: AuditTask, memory: AuditMemory, placement: Reading[PlacementView], nova: Reading[NovaState]
) -> tuple[Reading[PlacementView], Reading[NovaState]]:
    """Add data about other nodes to both readings.

    Placement's reading gets the trees of orphaned nodes. Nova's reading gets the compute node rows of two kinds of
    providers: another provider with this host's name, and orphaned providers that the agent may now delete.
    """
    view = placement.value
    if view and view.name_holder:
        # Another provider has this host's name. The compute node row with that provider's uuid shows to which host
        # the provider belongs.
        nova = _with_node(task, memory, nova, view.name_holder.uuid)
    placement = with_orphans(task, memory, placement, nova.value)
    return placement, _with_removable(task, memory, nova, placement.value)


def turn_of(task: AuditTask, memory: AuditMemory) -> Turn:
    """Return which parts of Placement this audit reads again even if no generation has changed."""
    if memory.identity is None:
        return Turn.NOTHING
    every = task.settings.full_read_every
    return overdue(turn(memory.identity.uuid, memory.audits + 1, every), memory.audits_since_everything, every)


def read_placement(task: AuditTask, memory: AuditMemory, its: Turn) -> Reading[PlacementView]:
    """Read this host's provider tree.

    The audit reads the allocations again if the schedule ``its`` says so, or if ``recheck_recorded`` is set. Unchanged
    generations do not prove that the allocations are unchanged, because the removal of an allocation increases no
    provider's generation.
    """
    if memory.identity is None:
        error = PlacementNotAsked(_IDENTITY)
        return Reading(source=PLACEMENT, taken_at=task.parts.clock.now(), duration_s=0.0, error=error)
    most, sightings = task.settings.consumer_reads, memory.history.sightings if memory.history else ()
    wanted = ViewRequest(
        root_uuid=memory.identity.uuid,
        root_name=memory.node_name or "",
        fresh_allocations=its is not Turn.NOTHING or memory.recheck_recorded,
        everything=its is Turn.EVERYTHING,
        consumer_reads=most,
        # A full read (Turn.EVERYTHING) already sends the most requests, so it does not read unsuspicious consumers.
        unsuspicious_reads=min(UNSUSPICIOUS_READS, most) if its is Turn.ALLOCATIONS else 0,
        suspects=memory.suspects,
        reported=memory.reported,
        shared_reads=SHARED_READS if memory.shared_due_in == 0 else 0,
        usages=its is Turn.EVERYTHING or any(sighting.code == USAGE_UNLISTED for sighting in sightings),
    )
    if task.request.depth is Depth.FULL:
        wanted = _in_full(wanted)
    return reading(task, PLACEMENT, lambda: task.parts.reader.view(wanted))


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
    """Return ``nova`` with the compute node rows of the orphaned providers that the agent may now delete.

    The agent has already deleted the rows of these providers. If one of these rows is undeleted now, a compute node of
    this or another host uses the provider again.
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
    asked = in_full(task, memory, frozenset(), uuid)
    if asked.value is None:
        return asked
    known = {node.id: node for node in (*asked.value.nodes, *state.nodes)}
    nodes = tuple(known[number] for number in sorted(known))
    return dataclasses.replace(nova, value=dataclasses.replace(state, nodes=nodes))


def with_orphans(
    task: AuditTask, memory: AuditMemory, placement: Reading[PlacementView], state: NovaState | None
) -> Reading[PlacementView]:
    """Return the reading of Placement, with the provider trees of orphaned compute nodes added.

    If there are no such nodes, send no request and return the reading as it is.
    """
    view, root = placement.value, memory.identity.uuid if memory.identity else None
    uuids = trees_to_read(state, memory.node_name, root, memory.history.left if memory.history else ())
    if view is None or not uuids:
        return placement
    seen = reading(task, PLACEMENT, lambda: task.parts.reader.orphans(view, uuids))
    return dataclasses.replace(seen, taken_at=placement.taken_at, duration_s=placement.duration_s + seen.duration_s)


def _host(task: AuditTask) -> Reading[HostFacts]:
    return reading(task, LIBVIRT, lambda: task.parts.host.read(deadline_of(task.settings)))


def _images(task: AuditTask, host: HostFacts | None) -> tuple[Reading[StorageFacts], ...]:
    """Measure the guests' disk files that libvirt reported. An operator's command ignores earlier measurements."""
    images = task.parts.images
    if images is None:
        return ()
    if task.request.depth is Depth.FULL:
        images.forget()
    task.stop_if_cancelled()
    disks = guest_files(host) if host else frozenset()
    return (reading(task, images.name, lambda: images.read(disks, deadline_of(task.settings))),)


def heartbeat_after(task: AuditTask, memory: AuditMemory, snapshot: Snapshot) -> Standing | None:
    """Return, for the next audit, nova's newest heartbeat and the time when the agent first read this heartbeat."""
    state, error = snapshot.nova.value, snapshot.nova.error
    read_now = state.heartbeat if state else error.heartbeat if isinstance(error, SourceStale) else None
    return standing(memory.heartbeat, read_now, task.parts.clock.monotonic())
