"""What ``heal`` would do and what keeps it from doing more: actions, refusals, a digest, and the journal's entries."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from agent.model.placement import ConsumerRecord, Inventory
from agent.model.plan import PutAllocations

#: Findings that heal knows how to repair: the codes of agent/repairs, for those who may not look there.
HEALABLE = (
    "allocation-leaked",
    "allocation-missing",
    "allocation-stale-move",
    "consumer-on-several-providers",
    "consumer-project-differs",
    "pci-allocation-missing",
    "reshape-needed",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerChange:
    """``before`` is all that the consumer holds now, ``write`` all that it is to hold."""

    before: ConsumerRecord
    write: PutAllocations


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

    @property
    def changes(self) -> tuple[ConsumerChange, ...]:
        """That change alone."""
        return (ConsumerChange(before=self.before, write=self.write),)

    @property
    def consumer_uuid(self) -> str | None:
        """Whose it is."""
        return self.before.consumer_uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderChange:
    """The whole inventory of one provider, before and after; None: there is no such provider then.

    Generations are not part of it: every instance that is scheduled raises the root's, and
    a plan that was shown would be another one a moment later. Who carries it out looks again.
    """

    uuid: str
    name: str
    parent_uuid: str | None
    before: tuple[Inventory, ...] | None
    after: tuple[Inventory, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reshaping:
    """A class that moves between providers of one tree, with all who hold it: all of it or nothing.

    ``providers`` parents first; ``changes`` sorted by consumer.
    """

    resource_class: str
    providers: tuple[ProviderChange, ...]
    changes: tuple[ConsumerChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReshapeAction:
    """One change of several providers and consumers at once; ``why`` as in HealAction."""

    finding_id: str
    code: str
    reshaping: Reshaping
    why: str

    @property
    def changes(self) -> tuple[ConsumerChange, ...]:
        """Those of all its consumers."""
        return self.reshaping.changes

    @property
    def consumer_uuid(self) -> str | None:
        """It is about no single one."""
        return None


AnyAction = HealAction | ReshapeAction


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

    actions: tuple[AnyAction, ...] = ()
    refusals: tuple[HealRefusal, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the actions: equal digests change the same consumers from the same to the same."""
        body = [_body(action) for action in self.actions]
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _body(action: AnyAction) -> dict[str, Any]:
    """A provider that a first try made and left empty is no other plan than one that is not there yet."""
    if isinstance(action, ReshapeAction):
        providers = tuple(replace(each, before=each.before or ()) for each in action.reshaping.providers)
        action = replace(action, reshaping=replace(action.reshaping, providers=providers))
    return asdict(action)


@dataclass(frozen=True, slots=True, kw_only=True)
class HealNote:
    """What the daemon's step after an audit did about one finding: ``result`` and ``entry_id`` are the journal's.

    ``consumer_uuid`` is None of a reshape, which is about several.
    """

    finding_id: str
    code: str
    consumer_uuid: str | None
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
