"""The types of heal's guards. A guard checks one finding, and may refuse its repair. Pure: no I/O.

Each module of this package defines one guard. A guard returns None, or the reason to refuse: a text, with the numbers
that the guard compared. A guard never changes an action, and does not rely on the checks of other guards. A guard with
the decorator ``beside_nova`` never refuses outside of role companion.

A refusal either lasts until the operator or nova changes something, or ends by itself: ``Guard.waits`` says which. In
heal's output a refusal that ends by itself is called "waiting".
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass

from agent.model.finding import SeenFinding
from agent.model.heal import AnyAction, HealSettings
from agent.model.settings import Role
from agent.repairs.base import AnyRepair, Scene


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedFinding:
    """One finding that heal was asked to repair, as the guards see it.

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
        """The consumers whose allocations the repair changes.

        Most repairs change one consumer. A reshape changes all consumers that have an allocation of the class.
        """
        if self.repair is not None:
            return self.repair.consumers(self.scene, self.seen)
        return (self.seen.finding.consumer_uuid,) if self.seen.finding.consumer_uuid is not None else ()

    @property
    def age_s(self) -> float:
        """Seconds since an audit first saw the finding's current evidence; negative if the clock was set back."""
        since = self.seen.stands_since or self.seen.first_seen_at
        now, first = (datetime.datetime.fromisoformat(text) for text in (self.scene.now, since))
        return (now - first).total_seconds()


@dataclass(frozen=True, slots=True)
class Wait:
    """The refusal ends by itself after ``seconds``. If ``seconds`` is None, a later audit or run ends the refusal."""

    seconds: float | None = None


def never(_: GuardedFinding) -> Wait | None:
    """Return None: the refusals of this guard do not end by themselves."""
    return None


def always(_: GuardedFinding) -> Wait | None:
    """Return a wait of unknown length: this guard may refuse now and accept after a later audit or in a later run."""
    return Wait()


def next_run(heal: HealSettings) -> str:
    """Return a text for repairs beyond the limit of one run of heal.

    The text says when the daemon's next run begins, or that the operator must run ``stocktake heal`` again.
    """
    if heal.interval_s is None:
        return "after this run, run `stocktake heal` again for the remaining changes"
    return f"next run in {heal.interval_s:.0f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """One guard rail. ``refuses`` returns the reason to refuse the repair; None lets the repair pass.

    ``waits`` says how long the refusal of a repair lasts: None if the refusal does not end by itself.
    """

    name: str
    refuses: Callable[[GuardedFinding], str | None]
    waits: Callable[[GuardedFinding], Wait | None] = never


def beside_nova(refuses: Callable[[GuardedFinding], str | None]) -> Callable[[GuardedFinding], str | None]:
    """Return a guard function that calls ``refuses`` in role companion, and never refuses in the other roles.

    Only in role companion does nova-compute run on the host.
    """

    def in_companion(guarded: GuardedFinding) -> str | None:
        return refuses(guarded) if guarded.scene.settings.role is Role.COMPANION else None

    return in_companion
