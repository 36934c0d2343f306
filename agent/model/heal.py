"""What ``heal`` would do and what keeps it from doing more: actions, refusals, a digest, and the journal's entries."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from agent.model.placement import ConsumerRecord
from agent.model.plan import PutAllocations

#: Findings that heal knows how to repair: the codes of agent/repairs, for those who may not look there.
HEALABLE = (
    "allocation-leaked",
    "allocation-missing",
    "allocation-stale-move",
    "consumer-on-several-providers",
    "consumer-project-differs",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HealAction:
    """One change of one consumer: ``before`` is all that it holds now, ``write`` all that it is to hold.

    ``why`` is one sentence for people: what goes, or comes, and because of what.
    """

    finding_id: str
    code: str
    before: ConsumerRecord
    write: PutAllocations
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HealRefusal:
    """A finding that is not healed, the guard rail that says so (its name), and its words with numbers."""

    finding_id: str
    code: str
    consumer_uuid: str | None
    guard: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HealPlan:
    """Actions in execution order and what was refused."""

    actions: tuple[HealAction, ...] = ()
    refusals: tuple[HealRefusal, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the actions: equal digests change the same consumers from the same to the same."""
        body = [asdict(action) for action in self.actions]
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class HealNote:
    """What the daemon's step after an audit did about one finding: ``result`` and ``entry_id`` are the journal's."""

    finding_id: str
    code: str
    consumer_uuid: str
    result: str
    words: str
    entry_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HealSettings:
    """[heal]: whether the daemon heals by itself, which codes, and the limits of a run (design 2.6).

    ``min_age_s`` is seconds since a finding was first seen; ``max_percent`` of the host's consumers, at least one.
    """

    enabled: bool = False
    codes: tuple[str, ...] = ("allocation-leaked",)
    min_age_s: float = 300.0
    max_consumers: int = 2
    max_percent: float = 5.0
