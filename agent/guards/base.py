"""What a guard rail is (GUARD) and what it is asked about (a Case). Pure.

A guard says no with numbers, or says nothing. It never changes an action, and it trusts
no other guard: each is to hold alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent.model.finding import SeenFinding
from agent.model.heal import AnyAction
from agent.model.placement import ConsumerRecord
from agent.repairs.base import AnyRepair, Scene


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One finding that is to be repaired.

    ``repair`` is None where its code has none; ``action`` is what is proposed, None before
    that; ``chosen`` are the actions that this run has taken on already.
    """

    scene: Scene
    seen: SeenFinding
    repair: AnyRepair | None
    action: AnyAction | None = None
    chosen: tuple[AnyAction, ...] = ()

    @property
    def consumer_uuids(self) -> tuple[str, ...]:
        """Whose allocations it is about: one, or of a reshape all who hold the class."""
        if self.repair is not None:
            return self.repair.consumers(self.scene, self.seen)
        return (self.seen.finding.consumer_uuid,) if self.seen.finding.consumer_uuid is not None else ()

    def record(self, consumer_uuid: str) -> ConsumerRecord | None:
        """All that the consumer held when it was read after the audit."""
        return self.scene.record(consumer_uuid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """``refuses`` gives the reason, None where this guard has none."""

    name: str
    refuses: Callable[[Case], str | None]
