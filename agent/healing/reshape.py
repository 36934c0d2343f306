"""Carry out a reshape: create missing child providers, move a class with one POST, then delete obsolete children.

The POST sends the provider generations that the decision is based on, so Placement rejects the whole reshape if one of
the providers got allocations since the decision.

This module never repeats a request. After a conflict, the caller may make a new decision. If Placement rejects the
reshape, the new children stay, because a provider without inventory offers nothing. If the response is lost, the module
reads the consumers' allocations to find out whether Placement did the reshape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agent.audit.parts import AuditTask
from agent.errors import GenerationConflict, PlacementError, PlacementUnavailable
from agent.healing.attempt import NO_ACCESS, WriteAttempt, refused
from agent.healing.preconditions import fate_of, not_now
from agent.healing.tree_fingerprint import TreeFingerprint
from agent.healing.write import journalled
from agent.host_files.journal import Change, Journal, Result
from agent.model.heal import Reshaping
from agent.model.plan import CreateProvider, Reshape
from agent.ports import AllocationWriter, Reshaper


def reshape(
    task: AuditTask, journal: Journal, line: Change, reshaping: Reshaping, tree: TreeFingerprint
) -> WriteAttempt:
    """Carry out the reshape, if Placement still has the provider tree ``tree``. Write ``line`` into the journal.

    The caller must have the write lock. The function raises no AgentError: errors are in the result.
    """
    reshaper, allocations = task.parts.reshaper, task.parts.allocations
    if reshaper is None or allocations is None:
        return refused(NO_ACCESS)
    problem = not_now(task, allocations, reshaping.changes, tree)
    if problem is not None:
        return replace(problem, moved=not problem.unread)
    return journalled(journal, line, lambda: _carried_out(task, reshaper, allocations, reshaping, tree))


def _carried_out(
    task: AuditTask, reshaper: Reshaper, allocations: AllocationWriter, reshaping: Reshaping, tree: TreeFingerprint
) -> WriteAttempt:
    made: dict[str, int] = {}
    try:
        for provider in reshaping.providers:
            if provider.before is None and provider.after is not None:
                create = CreateProvider(
                    provider_uuid=provider.uuid, name=provider.name, parent_uuid=provider.parent_uuid
                )
                made[provider.uuid] = reshaper.create(create)
        reshaper.reshape(_body(reshaping, tree, made))
    except GenerationConflict as error:
        words = f"nothing was moved, because Placement changed meanwhile: {error}{_note_on_created(reshaping, made)}"
        return replace(refused(words), moved=True)
    except PlacementUnavailable as error:
        fate = fate_of(task.parts.clock, allocations, reshaping.changes, error)
        if fate.result is Result.DONE:
            return WriteAttempt(result=Result.DONE, words=fate.words + _removed(reshaper, reshaping))
        left = _note_on_created(reshaping, made) if fate.untouched else ""
        return WriteAttempt(result=fate.result, words=fate.words + left, unread=True)
    except PlacementError as error:
        return refused(f"nothing was moved: {error}{_note_on_created(reshaping, made)}")
    return WriteAttempt(result=Result.DONE, words="moved as planned" + _removed(reshaper, reshaping))


def _body(reshaping: Reshaping, tree: TreeFingerprint, made: dict[str, int]) -> Reshape:
    """Return the body of the request: the whole inventory of each provider, and the new allocations.

    A child provider that the reshape removes gets an empty inventory (scenario 156).
    """
    known = {uuid: generation for uuid, generation in tree.generations if generation is not None} | made
    return Reshape(
        inventories=tuple((p.uuid, known[p.uuid], p.after or ()) for p in reshaping.providers if p.uuid in known),
        allocations=tuple(change.write for change in reshaping.changes),
    )


def _removed(reshaper: Reshaper, reshaping: Reshaping) -> str:
    """Delete obsolete children, and return a text that names the children that could not be deleted.

    A child that remains is harmless, because it has no inventory any more.
    """
    message = ""
    for provider in reversed(reshaping.providers):
        if provider.after is None and provider.before is not None:
            try:
                reshaper.delete(provider.uuid)
            except PlacementError as error:
                message += f"; provider {provider.name} has no inventory now and could not be removed: {error}"
    return message


def _note_on_created(reshaping: Reshaping, made: Mapping[str, int]) -> str:
    names = ", ".join(provider.name for provider in reshaping.providers if provider.uuid in made)
    return f"; these providers were created for the move and not removed, but offer nothing: {names}" if names else ""
