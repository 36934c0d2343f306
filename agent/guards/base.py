"""The types of heal's guard rails: the GUARD of each module, and the GuardedFinding that a guard judges. Pure.

A guard returns None, or the reason to refuse: a text, with the numbers that it compared. A guard never changes an
action, and does not rely on the checks of other guards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent.model.finding import SeenFinding
from agent.model.heal import AnyAction
from agent.repairs.base import AnyRepair, Scene


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedFinding:
    """One finding that heal should repair.

    ``repair`` is None if the finding's code has no repair. ``action`` is the proposed change, None before there is a
    proposal. ``chosen`` are the actions that this run already contains.
    """

    scene: Scene
    seen: SeenFinding
    repair: AnyRepair | None
    action: AnyAction | None = None
    chosen: tuple[AnyAction, ...] = ()

    @property
    def consumer_uuids(self) -> tuple[str, ...]:
        """The consumers whose allocations the repair changes: one, or for a reshape all consumers of the class."""
        if self.repair is not None:
            return self.repair.consumers(self.scene, self.seen)
        return (self.seen.finding.consumer_uuid,) if self.seen.finding.consumer_uuid is not None else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """One guard rail. ``refuses`` returns the reason to refuse the repair; None lets it pass."""

    name: str
    refuses: Callable[[GuardedFinding], str | None]
