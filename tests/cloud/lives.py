"""Run many episodes one after the other, and cut a failing one down to the events that it needs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agent.model.settings import Role
from tests.cloud.cloud import Cloud
from tests.cloud.episode import NO_LIMITS, VERBS, Episode, Event, Limits, Tally, events_of
from tests.cloud.model_client import ModelClient
from tests.cloud.placement_model import PlacementModel

LENGTH = 500
# Most lives have no limit, so that heal changes much.
LIMITS = (NO_LIMITS, Limits(confirm_audits=5), Limits(consumers=1), NO_LIMITS, Limits(percent=20.0))


class LifeFailed(Exception):
    """A life raised ``error``, a broken rule; ``steps`` is the number of steps up to its end, of all lives."""

    def __init__(self, number: int, events: Sequence[Event], steps: int, error: Exception) -> None:
        super().__init__(f"life {number}, step {steps}: {type(error).__name__}: {error}")
        self.number = number
        self.events = events
        self.steps = steps
        self.error = error


@dataclass(slots=True)
class Life:
    """The progress of a run."""

    number: int = 0
    tally: Tally = field(default_factory=Tally)

    def words(self, seconds: float) -> str:
        """Return one line of progress for people."""
        tally = dataclasses.asdict(self.tally)
        rate = self.tally.steps / seconds if seconds else 0.0
        return f"{self.number + 1} lives, {seconds:.0f} s, {rate:.0f} steps/s: " + ", ".join(
            f"{name} {count}" for name, count in tally.items()
        )


def play_until(
    steps: int,
    seed: int,
    length: int,
    tell: Callable[[Life], None],
    chances: Mapping[str, float] = VERBS,
    role: Role = Role.OWNER,
) -> Life:
    """Play episodes of ``length`` events for ``steps`` steps. Raise AssertionError with a shortened failing life."""
    try:
        return play_as_they_are(steps, seed, length, tell, chances, role)
    except LifeFailed as failed:
        words = explained(failed.number, failed.events, failed.error, role)
        raise AssertionError(words) from failed.error


def play_as_they_are(
    steps: int,
    seed: int,
    length: int,
    tell: Callable[[Life], None],
    chances: Mapping[str, float],
    role: Role,
    words: str = "",
) -> Life:
    """Play as ``play_until`` does, but raise LifeFailed with the whole failing life.

    Only a broken rule whose text contains ``words`` fails; any other one just ends its life.
    """
    life = Life()
    while life.tally.steps < steps:
        events = events_of(hash((seed, life.number)), length, chances)
        try:
            new_episode(life.number, life.tally, role).play(events)
        except Exception as error:
            if words in str(error):
                raise LifeFailed(life.number, events, life.tally.steps, error) from error
        tell(life)
        life.number += 1
    return life


def new_episode(number: int, tally: Tally, role: Role = Role.OWNER) -> Episode:
    """Return an episode on its own model; its number decides heal's minimum age and the cloud's speed."""
    model = PlacementModel()
    client = ModelClient(model)
    # Beside a nova-compute, heal acts so early that a short minimum age meets more operations.
    oldest_s = 300.0 if role is Role.OWNER else 40.0
    min_age_s, step_s = ((0.0, 1), (oldest_s, 30), (0.0, 30), (oldest_s, 1), (0.0, 5), (oldest_s, 5))[number % 6]
    cloud = Cloud(model)
    model.second = lambda: cloud.seconds
    episode = Episode(
        cloud,
        client,  # type: ignore[arg-type]
        tally,
        min_age_s=min_age_s,
        step_s=step_s,
        role=role,
        limits=LIMITS[number % len(LIMITS)],
        observers=frozenset({"h3"} if number % 7 == 0 else {}),
    )
    episode.watch_writes()
    if role is Role.OWNER:
        episode.shared = frozenset({"h2"} if number % 3 == 2 else {})
    return episode


def explained(number: int, events: Sequence[Event], error: Exception, role: Role = Role.OWNER) -> str:
    """Return the shortest life that fails in the same way, and its trace."""
    kind = type(error)
    least = shrunk(events, lambda some: _fails(number, some, role) == kind)
    episode = new_episode(number, Tally(), role)
    try:
        episode.play(least)
    except Exception as again:  # noqa: BLE001 - whatever it was, it is told
        error = again
    story = "\n".join(episode.trace)
    return f"episode {number}, {len(least)} of {len(events)} events\n{story}\n{kind.__name__}: {error}"


def _fails(number: int, events: Sequence[Event], role: Role) -> type[Exception] | None:
    try:
        new_episode(number, Tally(), role).play(events)
    except Exception as error:  # noqa: BLE001 - its kind is what is asked for
        return type(error)
    return None


def shrunk(events: Sequence[Event], fails: Callable[[Sequence[Event]], bool]) -> list[Event]:
    """Return as few events as still fail, found by leaving out smaller and smaller pieces."""
    least, size = list(events), max(1, len(events) // 2)
    while size:
        start = 0
        while start < len(least):
            fewer = least[:start] + least[start + size :]
            if fails(fewer):
                least = fewer
            else:
                start += size
        size //= 2
    return least
