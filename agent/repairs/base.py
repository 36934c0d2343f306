"""The types of repairs: the facts that a repair reads (Scene), and what each repair module defines (Repair).

Pure: no I/O.

A repair proposes the right allocations of one consumer, or moves allocations between providers (reshape). Safety checks
(agent/guards) then decide whether heal may make the change. They check, for example, that the sources were read, so a
repair does not check this again.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import os_traits

from agent.model.audit import Identity
from agent.model.compared import Row, Subject
from agent.model.finding import SeenFinding
from agent.model.heal import NOTHING_UNDONE, HealAction, ReshapeAction, Undone
from agent.model.nova import Migration
from agent.model.placement import Allocation, ConsumerRecord, PlacementView
from agent.model.plan import PutAllocations
from agent.model.report import Verdict
from agent.model.settings import Settings
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE, Snapshot
from agent.text.amounts import with_class

#: The sources whose amounts are compared for each instance (books/verdict.py).
THREE_BOOKS = frozenset({PLACEMENT, STATE, LIBVIRT})
#: The vm_states in which no operation of nova is running if the instance also has no task.
AT_REST = frozenset({"active", "stopped", "paused", "suspended", "shelved", "rescued", "error"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """All facts of one run of heal: an audit's facts, rows and findings, and what heal read after the audit.

    - ``identity``: the root provider's uuid that the audit used.
    - ``persisted``: the uuid that is in the host's files now; None if no file contains a uuid.
    - ``records``: whole consumer records, which heal read after the audit.
    - ``now``: the time as ISO 8601 UTC.
    - ``has_moved``: whether a provider of this host's tree has another generation than in the audit. Heal reads the
      generations after the records.
    - ``read_ago_s``: the seconds from the start of the audit to the end of heal's reads.
    - ``undone``: repairs that an operator undid, so the daemon must not repeat them. Empty if heal runs for an
      operator.
    - ``nova_alive_s``: for how many seconds all audits have found this host's nova-compute alive; None if it is not
      alive.
    - ``migrations``: all migrations of an instance between any hosts, by the instance's uuid; None if the read failed.
      Heal reads them only for the instances in ``records``, and only if nova-compute runs on this host (role
      companion).
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
    undone: Undone = NOTHING_UNDONE
    has_moved: bool = False
    read_ago_s: float = 0.0
    nova_alive_s: int | None = None
    migrations: Mapping[str, tuple[Migration, ...] | None] = field(default_factory=dict)

    @property
    def view(self) -> PlacementView | None:
        """What the audit read from Placement; None if the audit did not read Placement."""
        return self.snapshot.placement.value

    @property
    def tree(self) -> frozenset[str]:
        """The uuids of this host's root provider and of all providers below it.

        Another compute node that was moved below the root is left out, with all providers below that node.
        """
        others: set[str] = set()
        for provider in self.view.providers if self.view else ():
            is_node = os_traits.COMPUTE_NODE in provider.traits and provider.uuid != self.subject.root_uuid
            if is_node or provider.parent_uuid in others:
                others.add(provider.uuid)
        return frozenset(p.uuid for p in self.view.providers) - others if self.view else frozenset()

    def record(self, consumer_uuid: str | None) -> ConsumerRecord | None:
        """Return the consumer's record as heal read it after the audit; None if heal did not read the record."""
        return next((r for r in self.records if r.consumer_uuid == consumer_uuid), None)

    def rows_of(self, consumer_uuid: str, verdict: Verdict) -> tuple[Row, ...]:
        """Return the consumer's ledger rows with this verdict."""
        return tuple(row for row in self.rows if row.key == consumer_uuid and row.verdict is verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """The reason why a repair declines, that is, proposes no change."""

    why: str


class BesideNova(enum.Enum):
    """Who repairs a finding if nova-compute runs on the same host (role companion). Each finding code has one value.

    AGENT: the agent, because nova-compute never repairs such findings. AFTER_NOVA: the agent, if nova-compute has not
    repaired the finding in three of its own audits. NOVA_REPAIRS: nova-compute alone.
    """

    AGENT = "agent"
    AFTER_NOVA = "after-nova"
    NOVA_REPAIRS = "nova-repairs"


class StartedBy(enum.Enum):
    """Who may start a repair: an operator's ``stocktake heal`` only, or also the daemon (``[heal] codes``)."""

    OPERATOR = "operator"
    DAEMON_TOO = "daemon-too"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Repairs all findings that have the finding code ``code``, one consumer at a time.

    ``needs``: the sources that an audit needs to decide whether there is such a finding.
    """

    code: str
    beside_nova: BesideNova
    started_by: StartedBy = StartedBy.DAEMON_TOO
    needs: frozenset[str]
    propose: Callable[[Scene, SeenFinding, ConsumerRecord], HealAction | Declined]

    def consumers(self, scene: Scene, seen: SeenFinding) -> tuple[str, ...]:  # noqa: ARG002
        """Return the uuid of the finding's consumer in a tuple; an empty tuple if the finding has no consumer."""
        return (seen.finding.consumer_uuid,) if seen.finding.consumer_uuid is not None else ()

    def proposed(self, scene: Scene, seen: SeenFinding) -> HealAction | Declined:
        """Return the change to make, based on the consumer's record, or Declined with the reason for no change."""
        record = scene.record(seen.finding.consumer_uuid)
        return (
            Declined(why="Placement's record of the consumer was not read completely")
            if record is None
            else self.propose(scene, seen, record)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRepair:
    """Repairs all findings that have one finding code, by one reshape.

    A reshape is atomic: Placement changes all its providers and consumers, or nothing.

    ``consumers`` returns all consumers of the reshape. The reshape replaces all their allocations, so heal reads these
    first.
    """

    code: str
    beside_nova: BesideNova
    started_by: StartedBy = StartedBy.DAEMON_TOO
    needs: frozenset[str]
    consumers: Callable[[Scene, SeenFinding], tuple[str, ...]]
    proposed: Callable[[Scene, SeenFinding], ReshapeAction | Declined]


AnyRepair = Repair | TreeRepair


def here_and_elsewhere(scene: Scene, record: ConsumerRecord) -> tuple[tuple[Allocation, ...], tuple[Allocation, ...]]:
    """Return the consumer's allocations as a pair: those on this host's tree, and those on other trees."""
    tree = scene.tree
    here = tuple(a for a in record.allocations if a.provider_uuid in tree)
    return here, tuple(a for a in record.allocations if a.provider_uuid not in tree)


def without_own_part(scene: Scene, seen: SeenFinding, record: ConsumerRecord, because: str) -> HealAction | Declined:
    """Return the change that removes the consumer's allocations on this host's tree and keeps its other allocations.

    If no allocation remains, the change is an empty PUT with the consumer's generation, because a DELETE would also
    remove what another client has written in the meantime.
    """
    here, elsewhere = here_and_elsewhere(scene, record)
    if not here:
        return Declined(why="the consumer has no allocation on this host any more")
    if record.project_id is None or record.user_id is None:
        return Declined(why="Placement reports no project or no user for this consumer, and a change must contain both")
    others = f"the consumer keeps its allocations on other hosts: {amounts_text(elsewhere)}"
    kept = others if elsewhere else "the consumer has no other allocation"
    why = f"{because}: heal removes {amounts_text(here)} from this host; {kept}"
    return healing(seen, record, rewritten(record, elsewhere), why)


def healing(seen: SeenFinding, record: ConsumerRecord, write: PutAllocations, why: str) -> HealAction:
    """Return the action that repairs the finding with ``write``, the new allocations of the consumer."""
    return HealAction(finding_id=seen.finding.id, code=seen.finding.code, before=record, write=write, why=why)


def rewritten(record: ConsumerRecord, allocations: tuple[Allocation, ...]) -> PutAllocations:
    """Return the PUT of these allocations, with the consumer's own generation, project and user.

    The PUT is sent at microversion 1.28, which keeps the consumer's type.
    """
    return PutAllocations(
        consumer_uuid=record.consumer_uuid,
        consumer_generation=record.generation,
        project_id=record.project_id or "",
        user_id=record.user_id or "",
        allocations=allocations,
    )


def allocations_of(record: ConsumerRecord, amounts: Mapping[tuple[str, str], int]) -> tuple[Allocation, ...]:
    """Return the consumer's allocations; ``amounts`` maps (provider's uuid, resource class) to the allocated amount."""
    return tuple(
        Allocation(
            consumer_uuid=record.consumer_uuid,
            consumer_generation=record.generation,
            provider_uuid=provider,
            resource_class=resource_class,
            amount=amount,
        )
        for (provider, resource_class), amount in sorted(amounts.items())
    )


def not_offered(scene: Scene, rows: tuple[Row, ...]) -> str | None:
    """Return a reason to decline if nova promised a class that the root provider lacks, else None."""
    root = scene.snapshot.observed_root
    offered = {inventory.resource_class for inventory in root.inventories} if root else set()
    absent = sorted({row.resource_class for row in rows if row.promised} - offered)
    return (
        f"this host's provider offers no {', '.join(absent)}, so the allocation may belong to another provider"
        if absent
        else None
    )


def amounts_text(allocations: Iterable[Allocation]) -> str:
    """Return the amounts as text: "8 VCPU, 8192 MiB of MEMORY_MB"; "nothing" without amounts."""
    return ", ".join(with_class(a.resource_class, a.amount) for a in allocations) or "nothing"
