"""Heal in the daemon: after each audit, if [heal] enabled is set, repair findings with the codes in [heal] codes.

Healing starts after the audit has ended. The audit's report is complete then; only the results of heal are added.
If a finding rests on allocations that an earlier audit read, heal does not act yet: it makes the next audit read the
allocations, and repairs the finding after that audit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from oslo_log import log as logging

from agent.audit.parts import AuditTask, Parts
from agent.audit.run import run_audit
from agent.errors import SourceUnavailable
from agent.guards.after_nova import GUARD as AFTER_NOVA
from agent.guards.allocation_steady import GUARD as ALLOCATION_STEADY
from agent.guards.confirmed import GUARD as CONFIRMED
from agent.guards.minimum_age import GUARD as MINIMUM_AGE
from agent.guards.recorded_fresh import GUARD as RECORDED_FRESH
from agent.healing.heal import Healed, Prepared, prepared, run_heal
from agent.host_files.journal import Result
from agent.model.audit import AuditMemory, AuditRequest, AuditResult
from agent.model.heal import HealNote, HealProgress
from agent.model.settings import Settings
from agent.telemetry import events

LOG = logging.getLogger(__name__)

# The refusals of these guards end by themselves after a while, so the daemon does not log them.
_WAITING = frozenset(guard.name for guard in (CONFIRMED, MINIMUM_AGE, RECORDED_FRESH, AFTER_NOVA, ALLOCATION_STEADY))
_EVENTS = {Result.DONE: events.FINDING_HEALED, Result.REFUSED: events.HEAL_REFUSED, Result.UNKNOWN: events.HEAL_UNKNOWN}


# After a failed wait for proof that the state source is current, heal waits this long before it tries again.
PROOF_AGAIN_S = 300.0


class AuditThenHeal:
    """Runs an audit, then heals; the daemon's worker calls this. Remembers refusals in order to log only new ones."""

    def __init__(self) -> None:
        self._refused: frozenset[tuple[str, str]] = frozenset()
        self._not_tried: frozenset[tuple[str, str]] = frozenset()
        self._proof_due_at = 0.0

    def __call__(
        self,
        request: AuditRequest,
        settings: Settings,
        parts: Parts,
        memory: AuditMemory,
        cancelled: Callable[[], bool],
    ) -> AuditResult:
        """Run an audit (``run_audit``), then heal. Raises AuditCancelled in the audit or between two actions."""
        result = run_audit(request, settings, parts, memory, cancelled)
        task = AuditTask(request=request, settings=settings, parts=parts, cancelled=cancelled)
        if not settings.heal.enabled or not task.may_publish():
            return _with_progress(result, HealProgress(enabled=False, waiting=0))
        codes = frozenset(settings.heal.codes)
        found = [seen for seen in result.report.findings if seen.finding.code in codes]
        all_wait = HealProgress(enabled=True, waiting=len(found))
        if not any(seen.confirmed for seen in found):
            self._refused = self._not_tried = frozenset()
            return _with_progress(result, all_wait)
        if parts.clock.monotonic() < self._proof_due_at:
            return _with_progress(result, all_wait)
        with parts.request_scope(result.report.audit_id):
            wanted = prepared(task, result, codes, undone=_undone(parts))
            if wanted is None:
                return _with_progress(result, HealProgress(enabled=True, waiting=None))
            healed = run_heal(task, wanted)
            self._log(wanted, healed)
            if any(each.outcome.unproven for each in healed):
                # The wait for the proof blocks the worker, so after a failed wait the next audits must not wait again.
                self._proof_due_at = parts.clock.monotonic() + PROOF_AGAIN_S
        return _with_healed(result, wanted, healed)

    def _log(self, wanted: Prepared, healed: tuple[Healed, ...]) -> None:
        for each in healed:
            if _log_key(each) not in self._not_tried:
                fields = dataclasses.asdict(_note(each)) | {"why": each.action.why}
                LOG.info(_EVENTS[each.outcome.result], extra=fields)
        self._not_tried = frozenset(_log_key(each) for each in healed if each.outcome.unproven)
        refused = [refusal for refusal in wanted.plan.refusals if refusal.guard not in _WAITING]
        for refusal in refused:
            if (refusal.finding_id, refusal.guard) not in self._refused:
                LOG.info(events.HEAL_REFUSED, extra=dataclasses.asdict(refusal))
        self._refused = frozenset((refusal.finding_id, refusal.guard) for refusal in refused)


def _undone(parts: Parts) -> frozenset[str]:
    """Return the ids of findings whose repair was undone; none if the journal is unreadable (heal then fails too)."""
    try:
        entries = parts.journal.read().entries if parts.journal is not None else ()
    except SourceUnavailable:
        return frozenset()
    return frozenset(e.change.finding_id for e in entries if e.undone_by and e.change.finding_id is not None)


def _log_key(each: Healed) -> tuple[str, str]:
    """Return what identifies a log line that would repeat in each audit: the finding and the reason without numbers."""
    return (each.action.finding_id, each.outcome.result.value if each.outcome.unproven else each.outcome.words)


def _with_progress(result: AuditResult, progress: HealProgress) -> AuditResult:
    return dataclasses.replace(result, report=dataclasses.replace(result.report, heal=progress))


def _with_healed(result: AuditResult, wanted: Prepared, healed: tuple[Healed, ...]) -> AuditResult:
    stale = any(refusal.guard == RECORDED_FRESH.name for refusal in wanted.plan.refusals)
    waiting = sum(refusal.guard in _WAITING for refusal in wanted.plan.refusals)
    result = _with_progress(result, HealProgress(enabled=True, waiting=waiting))
    memory = result.memory
    if stale or healed:
        memory = dataclasses.replace(memory, recheck_recorded=True)
    return dataclasses.replace(
        result,
        report=dataclasses.replace(result.report, healed=tuple(map(_note, healed))),
        memory=memory,
        audit_again=result.audit_again or stale,
    )


def _note(each: Healed) -> HealNote:
    return HealNote(
        finding_id=each.action.finding_id,
        code=each.action.code,
        consumer_uuid=each.action.consumer_uuid,
        result=each.outcome.result.value,
        words=each.outcome.words,
        entry_id=each.outcome.entry_id,
    )
