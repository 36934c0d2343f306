"""own-part: refuse a repair that changes allocations outside this host's tree, or sends a generation not read by heal.

A reshape must stay in this host's tree and only move amounts: every consumer must keep its total of each class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from agent.guards.base import Guard, GuardedFinding
from agent.model.heal import ConsumerChange, ReshapeAction
from agent.model.placement import Allocation


def _refuses(guarded: GuardedFinding) -> str | None:
    action = guarded.action
    if action is None:
        return None
    if sorted(change.before.consumer_uuid for change in action.changes) != sorted(guarded.consumer_uuids):
        return "the change and the finding are about different consumers"
    tree = guarded.scene.tree
    if isinstance(action, ReshapeAction):
        problem = _strange(guarded, action)
        if problem is not None:
            return problem
        tree |= {provider.uuid for provider in action.reshaping.providers}
    return next((why for change in action.changes if (why := _wrong(change, tree))), None)


def _wrong(change: ConsumerChange, tree: frozenset[str]) -> str | None:
    before, write = change.before, change.write
    if write.consumer_uuid != before.consumer_uuid:
        return "the change writes to one consumer, but is based on the record of another consumer"
    if write.consumer_generation != before.generation:
        return "the consumer's generation in the change differs from the generation that heal had read"
    if _elsewhere(tree, before.allocations) != _elsewhere(tree, write.allocations):
        return "the change would alter the consumer's allocations on providers of another host"
    return None


def _strange(guarded: GuardedFinding, action: ReshapeAction) -> str | None:
    """Return why the reshape must not be done, or None if it may be done.

    A reshape must not change a provider outside this host's tree, or the sum of a consumer's allocations of any class.
    """
    tree = guarded.scene.tree
    for provider in action.reshaping.providers:
        there = provider.uuid in tree
        if there != (provider.before is not None) or (not there and provider.parent_uuid not in tree):
            return f"provider {provider.name} is not in this host's tree"
    for change in action.changes:
        if _sums(change.before.allocations) != _sums(change.write.allocations):
            return f"consumer {change.before.consumer_uuid} would not have the same amounts as before"
    return None


def _sums(allocations: Iterable[Allocation]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for allocation in allocations:
        sums[allocation.resource_class] += allocation.amount
    return sums


def _elsewhere(tree: frozenset[str], allocations: tuple[Allocation, ...]) -> list[tuple[str, str, int]]:
    return sorted((a.provider_uuid, a.resource_class, a.amount) for a in allocations if a.provider_uuid not in tree)


GUARD = Guard(name="own-part", refuses=_refuses)
