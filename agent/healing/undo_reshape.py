"""Undo a reshape by another reshape: the resource class and all its allocations return to their old providers.

The undo is refused in two cases: the class's inventories or the moved consumers changed after the reshape, or a new
consumer uses the class on a provider that loses the class. Without these checks, the new consumer could lose its
allocation. A provider could also keep the class although the root gets the class back, and Placement would offer the
class twice. The undo does not change other classes of these providers.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.audit.current_state import state_for_a_change
from agent.audit.parts import AuditTask
from agent.healing.attempt import NO_ACCESS, WriteAttempt, refused
from agent.healing.consumer_json import is_as, record_json, whereabouts
from agent.healing.reshape import reshape
from agent.healing.reshape_journal import (
    JournalledConsumer,
    JournalledReshape,
    after_document,
    before_json,
    reshape_from,
)
from agent.healing.tree_fingerprint import tree_of
from agent.healing.write import undoing
from agent.host_files.journal import Entry, Journal
from agent.model.heal import ConsumerChange, ProviderChange, Reshaping
from agent.model.nova import NovaState
from agent.model.placement import ConsumerRecord, Inventory, PlacementView
from agent.model.plan import PutAllocations
from agent.ports import AllocationWriter, ViewRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Now:
    """The present state: Placement's tree, nova's rows, and the reshaped consumers in the journal entry's order."""

    view: PlacementView
    records: tuple[ConsumerRecord, ...]
    state: NovaState

    def where(self, consumer_uuid: str) -> str:
        """Return where the consumer's instance is."""
        return whereabouts(self.state, consumer_uuid)


def undo_reshape(task: AuditTask, journal: Journal, entry: Entry) -> WriteAttempt:
    """Undo an entry of kind ``reshape``; the caller must have the write lock."""
    old = reshape_from(entry.change.before, entry.change.after)
    if old is None or not old.providers or not old.consumers:
        return refused("cannot undo: the journal entry does not contain the state before the change")
    if task.parts.allocations is None:
        return refused(NO_ACCESS)
    now = _read(task, task.parts.allocations, old)
    problem = _of_consumers(old, now) or _of_providers(old, now)
    if problem is not None:
        return refused(problem)
    reshaping = _back(old, now)
    line = undoing(entry, before_json(reshaping, now.where), after_document(reshaping))
    return reshape(task, journal, line, reshaping, tree_of(now.view, old.providers[0].name))


def _read(task: AuditTask, allocations: AllocationWriter, old: JournalledReshape) -> _Now:
    root = old.providers[0]
    request = ViewRequest(root_uuid=root.uuid, root_name=root.name, fresh_allocations=True, consumer_reads=0)
    view = task.parts.reader.view(request)
    consumers = tuple(each.before.consumer_uuid for each in old.consumers)
    records = tuple(map(allocations.consumer, consumers))
    state = state_for_a_change(task, frozenset(consumers))
    return _Now(view=view, records=records, state=state)


def _of_consumers(old: JournalledReshape, now: _Now) -> str | None:
    pairs = list(zip(old.consumers, now.records, strict=True))
    if all(is_as(record, record_json(each.before)) for each, record in pairs):
        return "the consumers have their earlier allocations, so there is nothing to undo"
    return next((why for each, record in pairs if (why := _changed(each, record, now))), None)


def _changed(each: JournalledConsumer, record: ConsumerRecord, now: _Now) -> str | None:
    uuid = record.consumer_uuid
    if not is_as(record, each.after):
        return f"consumer {uuid} was changed since the journal entry was written (generation {record.generation} now)"
    where = now.where(uuid)
    if where != each.instance:
        return f"instance {uuid} is {where} now; it was {each.instance} when the journal entry was written"
    return None


def _of_providers(old: JournalledReshape, now: _Now) -> str | None:
    """Return what has changed in the moved class since the journalled reshape, None if nothing has changed."""
    name, own = old.resource_class, {provider.uuid: provider for provider in old.providers}
    for there in now.view.providers:
        left = own.get(there.uuid)
        wanted = _of_class(left.after, name) if left else None
        if there.inventory(name) != wanted:
            now_offered, then_offered = _in_words(there.inventory(name)), _in_words(wanted)
            return (
                f"provider {there.name} offers {now_offered} of {name} now; after the reshape, the provider offered "
                f"{then_offered}"
            )
    lost = [p.name for p in old.providers if p.after is not None and now.view.provider(p.uuid) is None]
    if lost:
        return f"provider {', '.join(lost)}, which the journal entry names, no longer exists"
    moved = {each.before.consumer_uuid for each in old.consumers}
    leaving = {p.uuid for p in old.providers if _of_class(p.before, name) is None}
    others = sorted(
        a.consumer_uuid
        for a in now.view.allocations
        if a.resource_class == name and a.provider_uuid in leaving and a.consumer_uuid not in moved
    )
    if not others:
        return None
    who = ", ".join(others)
    return f"consumer {who} has an allocation of {name} that the reshape did not make: the undo could delete it"


def _back(old: JournalledReshape, now: _Now) -> Reshaping:
    providers = tuple(_provider_back(each, old.resource_class, now.view) for each in old.providers)
    changes = tuple(
        ConsumerChange(before=record, write=_write_back(each, record))
        for each, record in zip(old.consumers, now.records, strict=True)
    )
    return Reshaping(resource_class=old.resource_class, providers=providers, changes=changes)


def _provider_back(old: ProviderChange, name: str, view: PlacementView) -> ProviderChange:
    there = view.provider(old.uuid)
    before = there.inventories if there else None
    after = old.before
    if there is not None:
        rest = [each for each in there.inventories if each.resource_class != name]
        restored = _of_class(old.before, name)
        after = tuple(sorted((*rest, *([restored] if restored else [])), key=lambda each: each.resource_class))
    has_children = any(provider.parent_uuid == old.uuid for provider in view.providers)
    is_made_by_it = old.before is None and there is not None
    if is_made_by_it and not after and not has_children:
        after = None
    return ProviderChange(uuid=old.uuid, name=old.name, parent_uuid=old.parent_uuid, before=before, after=after)


def _write_back(old: JournalledConsumer, now: ConsumerRecord) -> PutAllocations:
    return PutAllocations(
        consumer_uuid=now.consumer_uuid,
        consumer_generation=now.generation,
        project_id=old.before.project_id or "",
        user_id=old.before.user_id or "",
        allocations=old.before.allocations,
    )


def _of_class(inventories: tuple[Inventory, ...] | None, name: str) -> Inventory | None:
    return next((each for each in inventories or () if each.resource_class == name), None)


def _in_words(inventory: Inventory | None) -> str:
    if inventory is None:
        return "nothing"
    return f"{inventory.total} ({inventory.reserved} reserved, ratio {inventory.allocation_ratio:g})"
