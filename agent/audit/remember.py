"""Build the memory for the next audit: the findings' history, the agent's last write, and what it must read again."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from agent.audit.act import Acted
from agent.audit.checked import with_writes
from agent.audit.ended import ended, reconfigured, settings_digest, written_to
from agent.audit.history import save_history
from agent.audit.light_or_full import Beside, kept, what_rests_on
from agent.audit.parts import AuditTask
from agent.audit.read import turn_of
from agent.books.booked import booked_by
from agent.books.causes import with_causes
from agent.books.checks import OF_RECORDS
from agent.books.compare import SHARED
from agent.books.confirm import AuditReads, Confirmed, confirm
from agent.books.losses import Failed, Moment, graded, losses_after
from agent.errors import is_denied
from agent.model.audit import AuditMemory, FullState, WrittenProvider
from agent.model.finding import Finding, GoneFinding, History, Loss, SeenFinding
from agent.model.placement import LeftProvider
from agent.model.plan import DeleteComputeNode, DeleteProvider, PutInventories
from agent.model.provider_config import Addition
from agent.model.report import Verdict
from agent.node_record.orphans import left_after, orphan_rows, taken_by_others
from agent.node_record.record import writes_records
from agent.provider_tree.rival import remembered
from agent.timing.full_read_schedule import Turn, audits_to_turn

_SUSPICIOUS = frozenset(
    {
        Verdict.ALLOCATION_LEAKED,
        Verdict.ALLOCATION_STALE_MOVE,
        Verdict.ALLOCATION_DIFFERS,
        Verdict.CONSUMER_UNKNOWN,
        Verdict.UNKNOWN,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The current findings after an audit, sorted, and the findings that ended with this audit."""

    live: tuple[SeenFinding, ...]
    gone: tuple[GoneFinding, ...] = ()


def remember(task: AuditTask, memory: AuditMemory, acted: Acted) -> tuple[Found, AuditMemory, bool]:
    """Return the current and the ended findings, the new memory, and whether another audit must follow at once."""
    before, now = memory.history or History(), task.parts.clock.monotonic()
    view, host = acted.snapshot.placement.value, acted.snapshot.host.value
    reads = _reads(task, acted)
    memory = dataclasses.replace(memory, reconfigured=reconfigured(task, memory, reads.now))
    losses = _losses(task, before, acted, reads)
    rows = acted.decision.rows
    booked = booked_by(rows) if acted.decision.findings or before.sightings else {}
    confirmed = confirm(before, _named(memory, before, graded(acted.decision.findings, losses)), reads, booked)
    found = Found(live=with_causes(confirmed.findings), gone=ended(task, memory, acted, confirmed.gone, booked))
    book_digest = acted.decision.compared.digest or memory.book_digest
    moved = memory.book_digest is not None and book_digest != memory.book_digest
    moved = moved and not reads.checks.recorded_is_fresh
    suspects = _suspects(acted, confirmed)
    unread = _newly_unread(memory, acted, suspects)
    audit_again = view is not None and (confirmed.recheck_recorded or moved or unread)
    last_good = dict(memory.last_good) | {reading.source: now for reading in acted.snapshot.readings if reading.ok}
    history = dataclasses.replace(
        _with_roots(confirmed.history, found.live),
        added=_added(task, before, acted),
        left=_left(task, memory, before, acted),
        silence=acted.decision.silence,
        nova_alive_since=acted.decision.nova_alive_since,
        losses=losses,
        root_uuid=memory.identity.uuid if memory.identity else before.root_uuid,
        settings_digest=_settings_digest(task, memory, before),
    )
    memory = save_history(task, memory, before, history, memory.ended | {sighting.id for sighting in confirmed.gone})
    return (
        found,
        dataclasses.replace(
            memory,
            book_digest=book_digest,
            recheck_recorded=audit_again or confirmed.awaits_recorded or view is None,
            audits=memory.audits + 1,
            audits_since_everything=_since_everything(task, memory, acted),
            hold_s=acted.hold_s,
            suspects=suspects,
            reported=_of_recorded(confirmed),
            consumers=view.consumer_uuids if view else memory.consumers,
            written=_written(memory, acted),
            unknown_traits=acted.unknown_traits,
            last_good=tuple(sorted(last_good.items())),
            compared=acted.decision.compared,
            guests=host.guest_uuids if host else memory.guests,
            shared_due_in=_shared_due_in(task, memory, acted, confirmed),
            full_state=_full_state(memory, acted, found),
            settings=task.settings,
            wrote=written_to(acted),
        ),
        audit_again,
    )


def _reads(task: AuditTask, acted: Acted) -> AuditReads:
    """Return when the audit read its sources, and which findings it could check, also those about its writes."""
    reads = acted.decision.reads
    checks = with_writes(reads.checks, task, acted.decision.plan, acted.attempts, acted.error)
    return dataclasses.replace(reads, checks=checks)


def _losses(task: AuditTask, before: History, acted: Acted, reads: AuditReads) -> tuple[Loss, ...]:
    """Return for each unread source since when it could not be read, and how many audits in a row failed to read it."""
    failed = [
        Failed(reading.source, is_denied(reading.error), reading.asked)
        for reading in acted.snapshot.readings
        if not reading.ok
    ]
    at = Moment(now=reads.now, now_s=reads.seen_at, boot=reads.boot)
    return losses_after(before.losses, before.boot, failed, at, task.settings)


def _named(memory: AuditMemory, before: History, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return the findings, with the host's provider uuid in each finding that an earlier audit reported.

    A finding's id depends on this uuid. A new process does not know the uuid at first. Then a finding without the uuid
    would look new, although an earlier audit reported it.
    """
    if memory.identity is not None or before.root_uuid is None:
        return findings
    known = {sighting.id for sighting in before.sightings}
    named = [dataclasses.replace(finding, provider_uuid=before.root_uuid) for finding in findings]
    return tuple(
        other if finding.provider_uuid is None and other.id in known else finding
        for finding, other in zip(findings, named, strict=True)
    )


def _with_roots(history: History, live: tuple[SeenFinding, ...]) -> History:
    """Return the history with the causes of each finding.

    If a repair of a cause ends the finding, a later audit can then name this repair.
    """
    roots = {seen.finding.id: seen.caused_by for seen in live}
    if all(sighting.caused_by == roots[sighting.id] for sighting in history.sightings):
        return history
    sightings = (dataclasses.replace(sighting, caused_by=roots[sighting.id]) for sighting in history.sightings)
    return dataclasses.replace(history, sightings=tuple(sightings))


def _added(task: AuditTask, before: History, acted: Acted) -> tuple[Addition, ...]:
    """Return what provider.yaml files added to the tree.

    If this audit must not write the tree, return what the last audit remembered.
    """
    tree = acted.decision.tree
    return tree.added if tree is not None and task.owns() else before.added


def _settings_digest(task: AuditTask, memory: AuditMemory, before: History) -> str:
    """Return the digest of the settings; compute it only if the settings changed since the last audit."""
    is_same = memory.settings is not None and memory.settings == task.settings
    return before.settings_digest if is_same else settings_digest(task.settings)


def _left(task: AuditTask, memory: AuditMemory, before: History, acted: Acted) -> tuple[LeftProvider, ...]:
    """Return this host's old providers. The agent deleted their compute node records, or will delete these records.

    Once the record of such a provider is deleted, only this list names the provider.
    """
    state, settings = acted.snapshot.nova.value, task.settings
    root_uuid = memory.identity.uuid if memory.identity else None
    is_writer = task.owns() and writes_records(settings, state)
    return left_after(
        before.left,
        acted.snapshot.placement.value,
        deleted=[write for write in acted.done if isinstance(write, DeleteComputeNode)],
        removed=frozenset(write.provider_uuid for write in acted.done if isinstance(write, DeleteProvider)),
        root_uuid=root_uuid,
        taken=taken_by_others(state),
        rows=orphan_rows(state, memory.node_name, root_uuid) if is_writer else (),
    )


def _since_everything(task: AuditTask, memory: AuditMemory, acted: Acted) -> int:
    """Return the number of audits since the last full read of Placement. The process's first read is a full read."""
    is_read = acted.snapshot.placement.ok and (not memory.audits or turn_of(task, memory) is Turn.EVERYTHING)
    return 0 if is_read else memory.audits_since_everything + 1


def _shared_due_in(task: AuditTask, memory: AuditMemory, acted: Acted, confirmed: Confirmed) -> int:
    """Return how many audits come before the next read of sharing providers; 0 if the next audit reads them.

    Sharing providers are read whenever allocations are read. They are also read in every audit while one of them has a
    finding or a suspicious amount.
    """
    view = acted.snapshot.placement.value
    if view is None or not view.shared_is_read:
        return max(0, memory.shared_due_in - 1)
    suspicious = any(row.provider_key.kind == SHARED and row.verdict in _SUSPICIOUS for row in acted.decision.rows)
    suspicious = suspicious or any(one.shared for s in confirmed.history.sightings for one in s.booked)
    return 0 if suspicious else audits_to_turn(view.root_uuid, memory.audits + 1, task.settings.full_read_every) - 1


def _full_state(memory: AuditMemory, acted: Acted, found: Found) -> FullState | None:
    """Return the last full read of nova's rows, for the next audit; None if this audit wrote after that read."""
    snapshot = acted.snapshot
    if acted.done:
        return None
    beside = Beside(
        node_uuid=memory.identity.uuid if memory.identity else None,
        host=snapshot.host.value,
        view=snapshot.placement.value,
        rests=what_rests_on(found.live, acted.decision.rows),
    )
    return kept(memory.full_state, snapshot.state_read, snapshot.nova.value, beside)


def _of_recorded(confirmed: Confirmed) -> tuple[str, ...]:
    """Return the consumers that have a finding about their allocations. The next audit reads these consumers again."""
    consumers = {s.finding.consumer_uuid for s in confirmed.findings if s.finding.rests_on_recorded}
    return tuple(sorted(uuid for uuid in consumers if uuid is not None))


def _suspects(acted: Acted, confirmed: Confirmed) -> tuple[str, ...]:
    """Return the suspicious consumers. The next audit reads the allocations of these consumers first.

    A consumer is suspicious if, for example, an amount has the verdict ALLOCATION_LEAKED or UNKNOWN. While libvirt or
    nova's data cannot be read, the verdict UNKNOWN does not count, because most amounts have this verdict then.
    """
    all_read = acted.snapshot.nova.ok and acted.snapshot.host.ok
    verdicts = _SUSPICIOUS if all_read else _SUSPICIOUS - {Verdict.UNKNOWN}
    suspicious = {row.key for row in acted.decision.rows if row.verdict in verdicts}
    # Only the answer to GET /allocations/{consumer} shows whether a finding with a code in OF_RECORDS still exists. So
    # the next audit must send this request for the finding's consumer.
    of_records = {s.finding.consumer_uuid for s in confirmed.findings if s.finding.code in OF_RECORDS}
    return tuple(sorted(suspicious | set(confirmed.unconfirmed_recorded) | {uuid for uuid in of_records if uuid}))


def _newly_unread(memory: AuditMemory, acted: Acted, suspects: tuple[str, ...]) -> bool:
    """Return whether the next audit must follow at once, to read a consumer that has just become suspicious.

    The next audit reads this consumer's record in Placement. The read is not urgent if the consumer has no allocations,
    or if this audit has already read the record.
    """
    view = acted.snapshot.placement.value
    read = {record.consumer_uuid for record in view.consumers} if view else set()
    holding = view.consumer_uuids if view else frozenset()
    return bool((set(suspects) & holding) - read - set(memory.suspects))


def _written(memory: AuditMemory, acted: Acted) -> WrittenProvider | None:
    decision, view = acted.decision, acted.snapshot.placement.value
    if decision.tree is None or decision.rival is not None:
        return decision.written
    root = decision.tree.root
    if any(isinstance(write, PutInventories) and write.provider_uuid == root.uuid for write in acted.done):
        return remembered(decision.written, root)
    if decision.written is None:
        return None
    there = view.root if view else None
    if there is not None and all(there.inventory(i.resource_class) == i for i in root.inventories):
        # Nothing to write: Placement already has the desired inventory, whichever client wrote it.
        return remembered(decision.written, root)
    # Placement refused the desired inventory, or the agent postponed the write because a source could not be read. No
    # other client overwrote the inventory. So the agent remembers the same inventory as after the last audit.
    return memory.written
