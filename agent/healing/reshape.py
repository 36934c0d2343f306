"""Carry out a reshape: create missing children, move everything with one POST, then delete the children that go.

The POST sends the generations of the decision. So Placement refuses the whole reshape if anything was added to one of
the providers since then: an equal consumer may have been deleted and created again, with another device.

Nothing is sent twice here; the caller decides whether to decide again. Children that were created before a refusal
stay, since an empty provider offers nothing. After a lost response the consumers are read to find out whether the
reshape was done, as for a change of a single consumer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from agent.audit.parts import AuditTask
from agent.errors import GenerationConflict, PlacementError, PlacementUnavailable
from agent.healing.preconditions import looked_up, not_now
from agent.healing.tree_fingerprint import TreeFingerprint
from agent.healing.write import NO_ACCESS, WriteAttempt, journalled
from agent.host_files.journal import Change, Journal, Result
from agent.model.heal import ProviderChange, Reshaping
from agent.model.plan import CreateProvider, Reshape
from agent.ports import AllocationWriter, Reshaper

DONE_WORDS = "moved as planned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The reshape to carry out, the tree that it was decided on, and its journal line."""

    reshaping: Reshaping
    tree: TreeFingerprint
    change: Change


@dataclass(frozen=True, slots=True, kw_only=True)
class _Desk:
    """An order that is being carried out, with the writers that it uses and the id of its journal line."""

    task: AuditTask
    order: Order
    reshaper: Reshaper
    allocations: AllocationWriter
    entry_id: str

    def ended(self, result: Result, words: str) -> WriteAttempt:
        """Return the outcome of this order."""
        return WriteAttempt(result=result, words=words, entry_id=self.entry_id)


def reshape(task: AuditTask, journal: Journal, order: Order) -> WriteAttempt:
    """Carry out the order; the caller must have the write lock. Errors are in the outcome: never raises AgentError."""
    reshaper, allocations = task.parts.reshaper, task.parts.allocations
    if reshaper is None or allocations is None:
        return WriteAttempt(result=Result.REFUSED, words=NO_ACCESS)
    problem = not_now(task, allocations, order.reshaping.changes, order.tree)
    if problem is not None:
        return WriteAttempt(result=Result.REFUSED, words=problem.words, unread=problem.unread, moved=not problem.unread)
    desk = partial(_Desk, task=task, order=order, reshaper=reshaper, allocations=allocations)
    return journalled(journal, order.change, lambda entry_id: _carried_out(desk(entry_id=entry_id)))


def _carried_out(desk: _Desk) -> WriteAttempt:
    made: dict[str, int] = {}
    try:
        for provider in desk.order.reshaping.providers:
            if provider.before is None and provider.after is not None:
                made[provider.uuid] = desk.reshaper.create(_creation(provider))
        desk.reshaper.reshape(_body(desk.order, made))
    except GenerationConflict as error:
        said = f"the state changed meanwhile, nothing was moved: {error}"
        return replace(desk.ended(Result.REFUSED, said + _left(desk.order, made)), moved=True)
    except PlacementUnavailable as error:
        return _looked_up(desk, made, error)
    except PlacementError as error:
        return desk.ended(Result.REFUSED, f"nothing was moved: {error}{_left(desk.order, made)}")
    return desk.ended(Result.DONE, DONE_WORDS + _removed(desk))


def _creation(provider: ProviderChange) -> CreateProvider:
    return CreateProvider(provider_uuid=provider.uuid, name=provider.name, parent_uuid=provider.parent_uuid)


def _body(order: Order, made: Mapping[str, int]) -> Reshape:
    """Return the POST: each provider with its whole inventory, empty for a provider that goes (scenario 156)."""
    known = {uuid: generation for uuid, generation in order.tree.generations if generation is not None}
    known.update(made)
    return Reshape(
        inventories=tuple(
            (provider.uuid, known[provider.uuid], provider.after or ())
            for provider in order.reshaping.providers
            if provider.uuid in known
        ),
        allocations=tuple(change.write for change in order.reshaping.changes),
    )


def _removed(desk: _Desk) -> str:
    """Delete the providers that go; return a message about those that cannot be deleted.

    Such a provider does no harm: it offers nothing any more.
    """
    said = ""
    for provider in reversed(desk.order.reshaping.providers):
        if provider.after is None and provider.before is not None:
            try:
                desk.reshaper.delete(provider.uuid)
            except PlacementError as error:
                said += f"; provider {provider.name} has no inventory now and could not be removed: {error}"
    return said


def _left(order: Order, made: Mapping[str, int]) -> str:
    names = ", ".join(provider.name for provider in order.reshaping.providers if provider.uuid in made)
    return f"; created for the move and not removed, without inventory: {names}" if names else ""


def _looked_up(desk: _Desk, made: Mapping[str, int], lost: PlacementError) -> WriteAttempt:
    """Find out whether a reshape without a response was done; if so, delete the providers that go."""
    fate = looked_up(desk.task.parts.clock, desk.allocations, desk.order.reshaping.changes, lost)
    if fate.result is Result.DONE:
        return desk.ended(Result.DONE, fate.words + _removed(desk))
    left = _left(desk.order, made) if fate.untouched else ""
    return replace(desk.ended(fate.result, fate.words + left), unread=True)
