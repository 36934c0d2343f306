"""Undo heal's change of one consumer: restore the consumer's old allocations, project and user.

If the consumer no longer exists, the undo creates the consumer again with its old type.

The undo is refused if the consumer changed after the journal entry was written, or if the instance is no longer on the
host where it was at that time. In these cases the old allocations could be a new leak, or take capacity that other
instances use now.
"""

from __future__ import annotations

from agent.audit.current_state import state_for_a_change
from agent.audit.parts import AuditTask
from agent.healing.attempt import NO_ACCESS, WriteAttempt, refused
from agent.healing.consumer_json import Document, after_json, is_as, record_from_json, record_json, whereabouts
from agent.healing.write import rewrite, undoing
from agent.host_files.journal import Entry, Journal
from agent.model.heal import ConsumerChange
from agent.model.placement import ConsumerRecord
from agent.model.plan import PutAllocations


def undo_allocations(task: AuditTask, journal: Journal, entry: Entry) -> WriteAttempt:
    """Undo an entry of kind ``allocations``; the caller must have the write lock."""
    before = record_from_json(_member(entry.change.before, "consumer"))
    after = _member(entry.change.after, "consumer")
    if before is None or not isinstance(after, dict):
        return refused("cannot undo: the journal entry does not contain the state before the change")
    if task.parts.allocations is None:
        return refused(NO_ACCESS)
    now = task.parts.allocations.consumer(before.consumer_uuid)
    where = whereabouts(state_for_a_change(task, frozenset({before.consumer_uuid})), before.consumer_uuid)
    if is_as(now, record_json(before)):
        return refused("the consumer has its earlier allocations, so there is nothing to undo")
    problem = _changed(entry, after, now, where)
    if problem is not None:
        return refused(problem)
    change = ConsumerChange(before=now, write=_write_back(before, now))
    line = undoing(
        entry, {"consumer": record_json(now), "instance": where}, {"consumer": after_json(now, change.write)}
    )
    return rewrite(task, journal, line, change)


def _changed(entry: Entry, after: Document, now: ConsumerRecord, where: str) -> str | None:
    """Return why ``undo`` is impossible, None if it is possible.

    ``undo`` is impossible if the consumer has changed since the journal entry was written, or if the consumer's
    instance is no longer where it was then.
    """
    if not is_as(now, after):
        changed = f"consumer {now.consumer_uuid} was changed since the journal entry was written"
        return f"{changed} (generation {now.generation} now)"
    was = _member(entry.change.before, "instance")
    if where != was:
        return f"the instance is {where} now; it was {was} when the journal entry was written"
    return None


def _write_back(before: ConsumerRecord, now: ConsumerRecord) -> PutAllocations:
    # Placement deletes a consumer that has no allocations. If the consumer is gone, this write creates the consumer
    # again and must name its type. If the consumer still exists, the type None leaves its type unchanged.
    return PutAllocations(
        consumer_uuid=before.consumer_uuid,
        consumer_generation=now.generation,
        project_id=before.project_id or now.project_id or "",
        user_id=before.user_id or now.user_id or "",
        allocations=before.allocations,
        consumer_type=None if now.allocations else before.consumer_type,
    )


def _member(document: object, name: str) -> object:
    return document.get(name) if isinstance(document, dict) else None
