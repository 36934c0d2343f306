"""Build the memory for the next audit: the findings' history, the agent's last write, and what must be read again."""

from __future__ import annotations

import dataclasses

from agent.audit.act import Acted
from agent.audit.light_or_full import Beside, kept, what_rests_on
from agent.audit.parts import AuditTask
from agent.audit.read import turn_of
from agent.books.causes import with_causes
from agent.books.compare import SHARED
from agent.books.confirm import Confirmed, confirm
from agent.errors import LockHeld
from agent.model.audit import AuditMemory, FullState, Publish, WrittenProvider
from agent.model.finding import History
from agent.model.placement import LeftProvider
from agent.model.plan import DeleteComputeNode, DeleteProvider, PutInventories
from agent.model.report import Verdict
from agent.node_record.orphans import left_after, orphan_rows, taken_by_others
from agent.node_record.record import writes_records
from agent.provider_tree.rival import remembered
from agent.timing.full_read_schedule import Turn, audits_to_turn

_SUSPICIOUS = frozenset(
    {
        Verdict.ALLOCATION_LEAKED,
        Verdict.ALLOCATION_STALE_MOVE,
        Verdict.ALLOCATION_DIFFERS,
        Verdict.CONSUMER_UNKNOWN,
        Verdict.UNKNOWN,
    }
)


def remember(task: AuditTask, memory: AuditMemory, acted: Acted) -> tuple[Confirmed, AuditMemory, bool]:
    """Return the findings with their history, the new memory, and whether another audit must follow at once."""
    before, now = memory.history or History(), task.parts.clock.monotonic()
    view, host = acted.snapshot.placement.value, acted.snapshot.host.value
    reads = acted.decision.reads
    counted = confirm(before, acted.decision.findings, reads)
    confirmed = dataclasses.replace(counted, findings=with_causes(counted.findings))
    book_digest = acted.decision.compared.digest or memory.book_digest
    moved = memory.book_digest is not None and book_digest != memory.book_digest and not reads.recorded_is_fresh
    suspects = _suspects(acted, confirmed)
    unread = _newly_unread(memory, acted, suspects)
    audit_again = view is not None and (confirmed.recheck_recorded or moved or unread)
    tree, left = acted.decision.tree, _left(task, memory, before, acted)
    # What provider.yaml files added. Only an audit that may write the tree replaces the remembered value.
    added = tree.added if tree is not None and task.owns() else before.added
    last_good = dict(memory.last_good) | {reading.source: now for reading in acted.snapshot.readings if reading.ok}
    kept = dataclasses.replace(
        confirmed.history,
        added=added,
        left=left,
        silence=acted.decision.silence,
        nova_alive_since=acted.decision.nova_alive_since,
    )
    confirmed = dataclasses.replace(confirmed, history=kept)
    unsaved, saved_at = _save(task, memory, before, confirmed.history)
    return (
        confirmed,
        dataclasses.replace(
            memory,
            history=confirmed.history,
            unsaved_history=unsaved,
            history_saved_at=saved_at,
            book_digest=book_digest,
            recheck_recorded=audit_again or confirmed.awaits_recorded or view is None,
            audits=memory.audits + 1,
            audits_since_everything=_since_everything(task, memory, acted),
            hold_s=acted.hold_s,
            suspects=suspects,
            reported=_of_recorded(confirmed),
            consumers=view.consumer_uuids if view else memory.consumers,
            written=_written(memory, acted),
            unknown_traits=acted.unknown_traits,
            last_good=tuple(sorted(last_good.items())),
            compared=acted.decision.compared,
            guests=host.guest_uuids if host else memory.guests,
            shared_due_in=_shared_due_in(task, memory, acted),
            full_state=_full_state(memory, acted, confirmed),
        ),
        audit_again,
    )


def with_history(task: AuditTask, memory: AuditMemory) -> AuditMemory:
    """Return the memory with the findings' history, which is read from disk only once."""
    return memory if memory.history is not None else dataclasses.replace(memory, history=task.parts.history.load())


def _save(task: AuditTask, memory: AuditMemory, before: History, after: History) -> tuple[bool, float]:
    """Save the findings' history if it changed. Return whether changes are still unsaved, and the last save's time."""
    now, saved_at = task.parts.clock.monotonic(), memory.history_saved_at
    is_due = _content(before) != _content(after) or memory.unsaved_history or _has_aged(task, after, now - saved_at)
    if task.request.publish is Publish.NEVER or not is_due:
        return memory.unsaved_history, saved_at
    try:
        with task.parts.lock.hold():
            is_saved = task.parts.history.save(after)
    except LockHeld:
        return True, saved_at
    return not is_saved, now if is_saved else saved_at


def _has_aged(task: AuditTask, after: History, age_s: float) -> bool:
    """Return whether the saved history will soon be too old to confirm findings (``confirm_within_s``).

    A command that reads an outdated history counts the audits of each finding from 0. Without findings there is nothing
    to confirm, so the age of the file does not matter.
    """
    within_s = task.settings.confirm_within_s
    return bool(after.sightings) and within_s is not None and age_s > within_s / 3


def _left(task: AuditTask, memory: AuditMemory, before: History, acted: Acted) -> tuple[LeftProvider, ...]:
    """Return providers whose compute node records the agent deleted or will delete; only this list still names them."""
    state, settings = acted.snapshot.nova.value, task.settings
    root_uuid = memory.identity.uuid if memory.identity else None
    is_writer = task.owns() and writes_records(settings, state)
    return left_after(
        before.left,
        acted.snapshot.placement.value,
        deleted=[write for write in acted.done if isinstance(write, DeleteComputeNode)],
        removed=frozenset(write.provider_uuid for write in acted.done if isinstance(write, DeleteProvider)),
        root_uuid=root_uuid,
        taken=taken_by_others(state),
        rows=orphan_rows(state, memory.node_name, root_uuid) if is_writer else (),
    )


def _content(history: History) -> tuple[object, ...]:
    seen = [(s.id, s.times, s.evidence_digest) for s in history.sightings]
    return (seen, history.added, history.left, history.silence, history.nova_alive_since)


def _since_everything(task: AuditTask, memory: AuditMemory, acted: Acted) -> int:
    """Return the number of audits since the last full read; the first read of a process is always a full read."""
    is_read = acted.snapshot.placement.ok and (not memory.audits or turn_of(task, memory) is Turn.EVERYTHING)
    return 0 if is_read else memory.audits_since_everything + 1


def _shared_due_in(task: AuditTask, memory: AuditMemory, acted: Acted) -> int:
    """Return after how many audits the agent reads sharing providers again.

    These reads are due with each read of allocations, and in every audit while a sharing provider's row is suspicious.
    """
    view = acted.snapshot.placement.value
    if view is None or not view.shared_is_read:
        return max(0, memory.shared_due_in - 1)
    suspicious = any(row.provider_key.kind == SHARED and row.verdict in _SUSPICIOUS for row in acted.decision.rows)
    return 0 if suspicious else audits_to_turn(view.root_uuid, memory.audits + 1, task.settings.full_read_every) - 1


def _full_state(memory: AuditMemory, acted: Acted, confirmed: Confirmed) -> FullState | None:
    """Return the last full read for the next audit; None after a write: what the audit wrote is not in its reads."""
    snapshot = acted.snapshot
    if acted.done:
        return None
    found = Beside(
        node_uuid=memory.identity.uuid if memory.identity else None,
        host=snapshot.host.value,
        view=snapshot.placement.value,
        rests=what_rests_on(confirmed.findings, acted.decision.rows),
    )
    return kept(memory.full_state, snapshot.state_read, snapshot.nova.value, found)


def _of_recorded(confirmed: Confirmed) -> tuple[str, ...]:
    """Return the consumers of findings about *recorded* allocations; the next audit reads their records again."""
    consumers = {s.finding.consumer_uuid for s in confirmed.findings if s.finding.rests_on_recorded}
    return tuple(sorted(uuid for uuid in consumers if uuid is not None))


def _suspects(acted: Acted, confirmed: Confirmed) -> tuple[str, ...]:
    """Return the suspicious consumers, whose records the next audit reads first.

    While libvirt or the state source cannot be read, most verdicts are UNKNOWN, so UNKNOWN is not suspicious then.
    """
    all_read = acted.snapshot.nova.ok and acted.snapshot.host.ok
    verdicts = _SUSPICIOUS if all_read else _SUSPICIOUS - {Verdict.UNKNOWN}
    suspicious = {row.key for row in acted.decision.rows if row.verdict in verdicts}
    return tuple(sorted(suspicious | set(confirmed.unconfirmed_recorded)))


def _newly_unread(memory: AuditMemory, acted: Acted, suspects: tuple[str, ...]) -> bool:
    """Return whether a newly suspicious consumer's record was not read yet, so that an audit must follow at once."""
    view = acted.snapshot.placement.value
    read = {record.consumer_uuid for record in view.consumers} if view else set()
    holding = view.consumer_uuids if view else frozenset()
    return bool((set(suspects) & holding) - read - set(memory.suspects))


def _written(memory: AuditMemory, acted: Acted) -> WrittenProvider | None:
    decision, view = acted.decision, acted.snapshot.placement.value
    if decision.tree is None or decision.rival is not None:
        return decision.written
    root = decision.tree.root
    if any(isinstance(write, PutInventories) and write.provider_uuid == root.uuid for write in acted.done):
        return remembered(decision.written, root)
    if decision.written is None:
        return None
    there = view.root if view else None
    if there is not None and all(there.inventory(i.resource_class) == i for i in root.inventories):
        # Nothing to write: Placement already has the desired inventory, whichever client wrote it.
        return remembered(decision.written, root)
    # Placement does not have the desired inventory, because it refused the write, or because a source could not be read
    # and the agent postponed the write. So the inventory in Placement is not a new overwrite by another writer.
    return memory.written
