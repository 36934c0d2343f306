"""The plan of ``stocktake heal`` (actions, refusals, a digest), and the daemon's heal: its results and settings."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from agent.model.placement import ConsumerRecord, Inventory
from agent.model.plan import PutAllocations


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerChange:
    """A consumer's allocations: ``before`` has all current allocations, ``write`` all allocations after the change."""

    before: ConsumerRecord
    write: PutAllocations


@dataclass(frozen=True, slots=True, kw_only=True)
class HealAction:
    """One change of one consumer.

    ``before`` has all current allocations of the consumer, ``write`` all allocations after the change. ``why`` is one
    sentence for the operator: what the change removes or adds, and why. ``also_ends`` are the ids of other findings
    that the change ends, because the repaired finding causes them.
    """

    finding_id: str
    code: str
    before: ConsumerRecord
    write: PutAllocations
    why: str
    also_ends: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[ConsumerChange, ...]:
        """The change of this action, as a tuple with one item."""
        return (ConsumerChange(before=self.before, write=self.write),)

    @property
    def consumer_uuid(self) -> str | None:
        """The uuid of the consumer."""
        return self.before.consumer_uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderChange:
    """The whole inventory of one provider ``before`` and ``after`` a reshape; None if the provider does not exist then.

    The plan contains no provider generations: the module that executes the plan reads the generations. Every scheduled
    instance raises the generation of the root provider. With generations, the plan's digest would therefore change
    moments after the operator has seen the plan.
    """

    uuid: str
    name: str
    parent_uuid: str | None
    before: tuple[Inventory, ...] | None
    after: tuple[Inventory, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reshaping:
    """One atomic request that moves a resource class, with its allocations, to other providers of the same tree.

    In ``providers``, every parent comes before its children. ``changes`` are sorted by consumer.
    """

    resource_class: str
    providers: tuple[ProviderChange, ...]
    changes: tuple[ConsumerChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReshapeAction:
    """One change of several providers and consumers at once. ``also_ends``: ids of further findings that it ends."""

    finding_id: str
    code: str
    reshaping: Reshaping
    why: str
    also_ends: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[ConsumerChange, ...]:
        """The changed allocations of all consumers of the resource class."""
        return self.reshaping.changes

    @property
    def consumer_uuid(self) -> str | None:
        """None: a reshape changes several consumers."""
        return None


AnyAction = HealAction | ReshapeAction


@dataclass(frozen=True, slots=True, kw_only=True)
class HealRefusal:
    """A finding that heal does not repair, because a guard rail refuses the repair.

    ``guard`` is the name of the guard rail, and ``why`` is the reason with numbers. ``waits`` is true if the refusal
    ends by itself, without the operator. ``wait_s`` is the number of seconds until the refusal ends, None if unknown.
    """

    finding_id: str
    code: str
    consumer_uuid: str | None
    guard: str
    why: str
    waits: bool = False
    wait_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """The repairs that the daemon must not repeat, because an operator undid them with ``stocktake undo``.

    ``findings``: the ids of the repaired findings. ``consumers``: the uuids of the consumers whose allocations an
    operator put back. ``unread_because``: why the journal could not be read; empty if it was read.
    """

    findings: frozenset[str] = frozenset()
    consumers: frozenset[str] = frozenset()
    unread_because: str = ""


NOTHING_UNDONE = Undone()


@dataclass(frozen=True, slots=True, kw_only=True)
class HealPlan:
    """The plan of heal: the actions in execution order, and the findings that heal refuses to repair."""

    actions: tuple[AnyAction, ...] = ()
    refusals: tuple[HealRefusal, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the actions: plans with equal digests make the same changes to the same initial values."""
        body = [_body(action) for action in self.actions]
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _body(action: AnyAction) -> dict[str, Any]:
    """Return the fields of an action that go into the digest."""
    if isinstance(action, ReshapeAction):
        # A failed attempt may leave the new provider behind, without inventory. Treat an empty provider like a missing
        # provider, so that the plan keeps its digest.
        providers = tuple(replace(each, before=each.before or ()) for each in action.reshaping.providers)
        action = replace(action, reshaping=replace(action.reshaping, providers=providers))
    body = asdict(action)
    # ``also_ends`` lists the other findings that the action would end. The digest leaves the list out, because the
    # action makes the same changes whatever the list contains.
    del body["also_ends"]
    for change in (body, *body.get("reshaping", {}).get("changes", ())):
        # Leave the age of the consumer's record out of the digest, because the age grows even if nothing changes. A
        # real change also changes the allocations or the generation, and so the digest.
        change.get("before", {}).pop("written", None)
    return body


@dataclass(frozen=True, slots=True, kw_only=True)
class HealNote:
    """What the daemon's heal did about one finding. ``result`` and ``entry_id`` are as in the journal.

    ``consumer_uuid`` is None for a reshape, which changes several consumers.
    """

    finding_id: str
    code: str
    consumer_uuid: str | None
    result: str
    words: str
    entry_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HealProgress:
    """Whether the daemon heals by itself, and how many findings wait because a guard refuses the repair for now.

    ``waiting`` is 0 if the daemon does not heal by itself, and None if this audit could not plan the repairs.
    """

    enabled: bool
    waiting: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HealSettings:
    """Options of [heal]: whether the daemon heals by itself, which codes it heals, and the limits of one run.

    ``min_age_s`` is the minimum age of a finding in seconds. One run changes at most ``max_consumers`` consumers, and
    at most ``max_percent`` of the host's consumers. Even if that percentage is less than one consumer, the run may
    change one consumer. ``nova_audits_s`` is the time in seconds that a nova-compute on this host needs for three of
    its own audits; 0 if nova-compute's audits are switched off.
    ``interval_s`` is the time between two runs of the daemon; None if no timer starts the next run, as in a run of the
    command ``stocktake heal``.
    """

    enabled: bool = False
    codes: tuple[str, ...] = ("allocation-leaked",)
    min_age_s: float = 300.0
    max_consumers: int = 2
    max_percent: float = 5.0
    nova_audits_s: float = 180.0
    interval_s: float | None = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """The user and the process that made a change.

    ``user``: the name of the process's user. ``login_uid``: the user id of the login session, which sudo and su keep;
    None if there was no login (a service, a boot script). ``sudo_user``: the user who called sudo, None without sudo.
    ``program``: ``stocktake-agent``, or a command such as ``stocktake heal``. ``host``: the machine's host name.
    """

    user: str
    login_uid: int | None
    sudo_user: str | None
    program: str
    version: str
    host: str
    pid: int

    @property
    def words(self) -> str:
        """Return the person and the program in few words: ``alice (sudo), stocktake heal``."""
        if self.sudo_user:
            return f"{self.sudo_user} (sudo), {self.program}"
        return f"{self.user}, {self.program}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalCounts:
    """Counts of the changes in the agent's journal file.

    ``new_changes``: (code or kind, result, number) of the changes that ended since the last call.
    ``open_entries``: the number of changes without an outcome.

    If the journal cannot be read, ``new_changes`` is () and ``open_entries`` is the last known number. The command
    ``stocktake journal`` says why the journal cannot be read.
    """

    new_changes: tuple[tuple[str, str, int], ...] = ()
    open_entries: int = 0
