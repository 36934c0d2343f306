"""What a repair is made from (a Scene) and what it offers (a REPAIR). Pure.

A repair says what one consumer should hold instead; whether that may be done is the
guard rails' to say (agent/guards). Both see the same Scene, so a repair need not doubt
that sources were read, and does not ask who else writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import os_traits

from agent.model.audit import Identity
from agent.model.compared import Row, Subject
from agent.model.finding import SeenFinding
from agent.model.heal import HealAction, ReshapeAction
from agent.model.placement import Allocation, ConsumerRecord, PlacementView
from agent.model.plan import PutAllocations
from agent.model.report import Verdict
from agent.model.settings import Settings
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE, Snapshot
from agent.text.amounts import with_class

#: What a verdict on an instance's consumer rests on (books/compare.py).
THREE_BOOKS = frozenset({PLACEMENT, STATE, LIBVIRT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """All that one run of heal knows: an audit's facts, rows and findings, and what was read after it.

    ``identity`` is what the audit went by, ``persisted`` what the files say now (None: no file speaks).
    ``records`` are whole consumer records, read after the audit; ``now`` is ISO 8601 UTC. ``has_moved``: a provider of
    our tree has another generation than the audit saw, looked at after the records.
    ``undone`` are ids of findings whose repair an operator put back; none where an operator asks for it.
    """

    snapshot: Snapshot
    settings: Settings
    subject: Subject
    rows: tuple[Row, ...]
    findings: tuple[SeenFinding, ...]
    identity: Identity | None
    persisted: Identity | None
    records: tuple[ConsumerRecord, ...]
    now: str
    undone: frozenset[str] = frozenset()
    has_moved: bool = False

    @property
    def view(self) -> PlacementView | None:
        """Placement as the audit saw it, or None."""
        return self.snapshot.placement.value

    @property
    def tree(self) -> frozenset[str]:
        """Our root and all below it, but for another compute node that somebody put there and what is below that."""
        others: set[str] = set()
        for provider in self.view.providers if self.view else ():
            is_node = os_traits.COMPUTE_NODE in provider.traits and provider.uuid != self.subject.root_uuid
            if is_node or provider.parent_uuid in others:
                others.add(provider.uuid)
        return frozenset(p.uuid for p in self.view.providers) - others if self.view else frozenset()

    def record(self, consumer_uuid: str | None) -> ConsumerRecord | None:
        """What that consumer held when it was read after the audit; None where it was not."""
        return next((r for r in self.records if r.consumer_uuid == consumer_uuid), None)

    def rows_of(self, consumer_uuid: str, verdict: Verdict) -> tuple[Row, ...]:
        """That consumer's rows of that verdict."""
        return tuple(row for row in self.rows if row.key == consumer_uuid and row.verdict is verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """A repair that is not this one's to make, in words."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """How findings of one code are repaired. ``needs`` are the sources that the verdict rests on."""

    code: str
    needs: frozenset[str]
    propose: Callable[[Scene, SeenFinding, ConsumerRecord], HealAction | Declined]

    def consumers(self, scene: Scene, seen: SeenFinding) -> tuple[str, ...]:  # noqa: ARG002
        """The one that the finding is about."""
        return (seen.finding.consumer_uuid,) if seen.finding.consumer_uuid is not None else ()

    def proposed(self, scene: Scene, seen: SeenFinding) -> HealAction | Declined:
        """What to do, from the record that was read."""
        record = scene.record(seen.finding.consumer_uuid)
        return Declined(why="its whole record was not read") if record is None else self.propose(scene, seen, record)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRepair:
    """How findings about our providers and all who hold something there are repaired, in one change or not at all.

    ``consumers`` are those whose whole records must be read first: all of them.
    """

    code: str
    needs: frozenset[str]
    consumers: Callable[[Scene, SeenFinding], tuple[str, ...]]
    propose: Callable[[Scene, SeenFinding], ReshapeAction | Declined]

    def proposed(self, scene: Scene, seen: SeenFinding) -> ReshapeAction | Declined:
        """What to do, from the records that were read."""
        return self.propose(scene, seen)


AnyRepair = Repair | TreeRepair


def here_and_elsewhere(scene: Scene, record: ConsumerRecord) -> tuple[tuple[Allocation, ...], tuple[Allocation, ...]]:
    """What the consumer holds on our tree, and what it holds on others."""
    tree = scene.tree
    here = tuple(a for a in record.allocations if a.provider_uuid in tree)
    return here, tuple(a for a in record.allocations if a.provider_uuid not in tree)


def without_our_part(scene: Scene, seen: SeenFinding, record: ConsumerRecord, because: str) -> HealAction | Declined:
    """The change that takes this tree's part from the consumer and keeps what it holds elsewhere.

    With nothing elsewhere the consumer is emptied, which is a PUT with its generation: a DELETE would
    take away whatever somebody wrote since.
    """
    here, elsewhere = here_and_elsewhere(scene, record)
    if not here:
        return Declined(why="it holds nothing on this host any more")
    if record.project_id is None or record.user_id is None:
        return Declined(why="Placement does not say whose it is, and a change must")
    kept = f"what it holds elsewhere stays: {amounts_text(elsewhere)}" if elsewhere else "it holds nothing elsewhere"
    return HealAction(
        finding_id=seen.finding.id,
        code=seen.finding.code,
        before=record,
        write=rewritten(record, elsewhere),
        why=f"{because}: {amounts_text(here)} on this host go; {kept}",
    )


def rewritten(record: ConsumerRecord, allocations: tuple[Allocation, ...]) -> PutAllocations:
    """All that the consumer is to hold, with its own generation, project and user; at 1.28, which keeps its type."""
    return PutAllocations(
        consumer_uuid=record.consumer_uuid,
        consumer_generation=record.generation,
        project_id=record.project_id or "",
        user_id=record.user_id or "",
        allocations=allocations,
    )


def amounts_text(allocations: Iterable[Allocation]) -> str:
    """Such as "8 VCPU, 8192 MiB of MEMORY_MB"; "nothing" for none."""
    return ", ".join(with_class(a.resource_class, a.amount) for a in allocations) or "nothing"
