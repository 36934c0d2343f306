"""Undo a reshape by another reshape: the class returns to its old providers, with the allocations of all its consumers.

The undo is refused unless the class is as the entry left it: the same inventories on the same providers, and no other
consumers on the providers that lose the class. A consumer scheduled onto a child meanwhile would lose its allocation. A
child that offered the class beside the root would offer it twice. Other classes of these providers do not change.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.audit.current_state import current_state
from agent.audit.parts import AuditTask
from agent.errors import PlacementError, SourceError
from agent.healing.consumer_json import is_as, record_json, whereabouts
from agent.healing.reshape import Order, reshape
from agent.healing.reshape_journal import JournalledConsumer, JournalledReshape, after_document, before_json, told_of
from agent.healing.tree_fingerprint import tree_of
from agent.healing.write import NO_ACCESS, WriteAttempt
from agent.host_files.journal import Change, Entry, Journal, Result
from agent.model.heal import ConsumerChange, ProviderChange, Reshaping
from agent.model.nova import NovaState
from agent.model.placement import ConsumerRecord, Inventory, PlacementView
from agent.model.plan import PutAllocations
from agent.ports import AllocationWriter, ViewRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Now:
    """The current state: the provider tree with its allocations, the consumers in the entry's order, the cloud."""

    view: PlacementView
    records: tuple[ConsumerRecord, ...]
    state: NovaState

    def where(self, consumer_uuid: str) -> str:
        """Return where the consumer's instance is."""
        return whereabouts(self.state, consumer_uuid)


def undo_reshape(task: AuditTask, journal: Journal, entry: Entry) -> WriteAttempt:
    """Undo an entry of kind ``reshape``; the caller must have the write lock."""
    told = told_of(entry.change.before, entry.change.after)
    if told is None or not told.providers or not told.consumers:
        return _refused("the entry does not contain the state before the change")
    if task.parts.allocations is None:
        return _refused(NO_ACCESS)
    try:
        now = _read(task, task.parts.allocations, told)
    except (PlacementError, SourceError) as error:
        return WriteAttempt(result=Result.REFUSED, words=f"nothing was changed: {error}", unread=True)
    problem = _of_consumers(told, now) or _of_providers(told, now)
    if problem is not None:
        return _refused(problem)
    reshaping = _back(told, now)
    change = Change(
        kind=entry.change.kind,
        why=f"put back what entry {entry.id} changed ({entry.change.code or entry.change.kind})",
        before=before_json(reshaping, now.where),
        after=after_document(reshaping),
        finding_id=entry.change.finding_id,
        code=entry.change.code,
        provider_uuid=entry.change.provider_uuid,
        undoes=entry.id,
    )
    tree = tree_of(now.view, told.providers[0].name)
    return reshape(task, journal, Order(reshaping=reshaping, tree=tree, change=change))


def _read(task: AuditTask, allocations: AllocationWriter, told: JournalledReshape) -> _Now:
    """Read the current state. Raises PlacementError, SourceError."""
    root = told.providers[0]
    request = ViewRequest(root_uuid=root.uuid, root_name=root.name, fresh_allocations=True, consumer_reads=0)
    view = task.parts.reader.view(request)
    consumers = tuple(each.before.consumer_uuid for each in told.consumers)
    records = tuple(map(allocations.consumer, consumers))
    state = current_state(task, frozenset(consumers))
    return _Now(view=view, records=records, state=state)


def _of_consumers(told: JournalledReshape, now: _Now) -> str | None:
    pairs = list(zip(told.consumers, now.records, strict=True))
    if all(is_as(record, record_json(each.before)) for each, record in pairs):
        return "the consumers have their earlier allocations: there is nothing to put back"
    return next((why for each, record in pairs if (why := _changed(each, record, now))), None)


def _changed(each: JournalledConsumer, record: ConsumerRecord, now: _Now) -> str | None:
    uuid = record.consumer_uuid
    if not is_as(record, each.after):
        return f"consumer {uuid} was changed since (it is at generation {record.generation} now)"
    where = now.where(uuid)
    if where != each.instance:
        return f"the cloud says that instance {uuid} is {where}; it was {each.instance} when the entry was written"
    return None


def _of_providers(told: JournalledReshape, now: _Now) -> str | None:
    """Return how the moved class differs from what the entry left, None if it does not differ."""
    name, ours = told.resource_class, {provider.uuid: provider for provider in told.providers}
    for there in now.view.providers:
        left = ours.get(there.uuid)
        wanted = _of_class(left.after, name) if left else None
        if there.inventory(name) != wanted:
            return f"provider {there.name} offers {_text(there.inventory(name))} of {name} now, not {_text(wanted)}"
    lost = [p.name for p in told.providers if p.after is not None and now.view.provider(p.uuid) is None]
    if lost:
        return f"provider {', '.join(lost)} no longer exists"
    moved = {each.before.consumer_uuid for each in told.consumers}
    leaving = {p.uuid for p in told.providers if _of_class(p.before, name) is None}
    others = sorted(
        a.consumer_uuid
        for a in now.view.allocations
        if a.resource_class == name and a.provider_uuid in leaving and a.consumer_uuid not in moved
    )
    if not others:
        return None
    return f"consumer {', '.join(others)} now has {name} of the children too, and would lose it"


def _back(told: JournalledReshape, now: _Now) -> Reshaping:
    providers = tuple(_provider_back(each, told.resource_class, now.view) for each in told.providers)
    changes = tuple(
        ConsumerChange(before=record, write=_write_back(each, record))
        for each, record in zip(told.consumers, now.records, strict=True)
    )
    return Reshaping(resource_class=told.resource_class, providers=providers, changes=changes)


def _provider_back(told: ProviderChange, name: str, view: PlacementView) -> ProviderChange:
    there = view.provider(told.uuid)
    before = there.inventories if there else None
    after = _with_class(before or (), name, _of_class(told.before, name)) if there else told.before
    has_children = any(provider.parent_uuid == told.uuid for provider in view.providers)
    is_made_by_it = told.before is None and there is not None
    if is_made_by_it and not after and not has_children:
        after = None
    return ProviderChange(uuid=told.uuid, name=told.name, parent_uuid=told.parent_uuid, before=before, after=after)


def _write_back(told: JournalledConsumer, now: ConsumerRecord) -> PutAllocations:
    return PutAllocations(
        consumer_uuid=now.consumer_uuid,
        consumer_generation=now.generation,
        project_id=told.before.project_id or "",
        user_id=told.before.user_id or "",
        allocations=told.before.allocations,
    )


def _with_class(before: tuple[Inventory, ...], name: str, wanted: Inventory | None) -> tuple[Inventory, ...]:
    rest = [each for each in before if each.resource_class != name]
    return tuple(sorted((*rest, *([wanted] if wanted else [])), key=lambda each: each.resource_class))


def _of_class(inventories: tuple[Inventory, ...] | None, name: str) -> Inventory | None:
    return next((each for each in inventories or () if each.resource_class == name), None)


def _text(inventory: Inventory | None) -> str:
    if inventory is None:
        return "nothing"
    return f"{inventory.total} ({inventory.reserved} reserved, ratio {inventory.allocation_ratio:g})"


def _refused(words: str) -> WriteAttempt:
    return WriteAttempt(result=Result.REFUSED, words=words)
