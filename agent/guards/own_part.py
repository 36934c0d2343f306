"""own-part: what a consumer holds on other trees goes out exactly as it came in, and with its own generation."""

from __future__ import annotations

from agent.guards.base import Case, Guard
from agent.model.placement import Allocation


def _refuses(case: Case) -> str | None:
    action = case.action
    if action is None:
        return None
    if action.write.consumer_uuid != action.before.consumer_uuid or action.write.consumer_uuid != case.consumer_uuid:
        return "the change is of another consumer"
    if action.write.consumer_generation != action.before.generation:
        return "the change does not rest on the generation that was read"
    tree = case.scene.tree
    if _elsewhere(tree, action.before.allocations) != _elsewhere(tree, action.write.allocations):
        return "the change would touch what it holds on another host's tree"
    return None


def _elsewhere(tree: frozenset[str], allocations: tuple[Allocation, ...]) -> list[tuple[str, str, int]]:
    return sorted((a.provider_uuid, a.resource_class, a.amount) for a in allocations if a.provider_uuid not in tree)


GUARD = Guard(name="own-part", refuses=_refuses)
