"""Heal in the daemon: repair findings with the codes in [heal] codes. after_audit.py calls this module's DaemonHeal.

Healing starts after the audit has ended. The audit's report is complete then; only the results of heal are added. If a
finding is based on allocations that an earlier audit read, heal does not act yet: heal makes the next audit read the
allocations, and repairs the finding after that audit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from agent.audit.parts import AuditTask, Parts
from agent.errors import SourceUnavailable
from agent.guards.recorded_fresh import GUARD as RECORDED_FRESH
from agent.healing import heal_log
from agent.healing.after_audit import with_progress
from agent.healing.heal import KIND as ALLOCATIONS
from agent.healing.heal import Healed, Prepared, prepared, run_heal
from agent.model.audit import AuditResult
from agent.model.finding import SeenFinding
from agent.model.heal import HealNote, HealProgress, Undone
from agent.model.settings import Settings
from agent.telemetry.event_log import emit

# Before a repair, heal may have to wait until nova's rows are known to be up to date. If this wait times out, the
# daemon does not heal again for this number of seconds.
PROOF_AGAIN_S = 300.0


class DaemonHeal:
    """Heals after audits. The object remembers refusals in order to log only new refusals."""

    def __init__(self) -> None:
        self._log_state = heal_log.HealLogState()
        self._proof_due_at = 0.0

    def __call__(self, task: AuditTask, result: AuditResult) -> AuditResult:
        """Repair findings; return ``result`` with the repairs added. Raises AuditCancelled if a stop is requested."""
        codes = frozenset(task.settings.heal.codes)
        found = [seen for seen in result.report.findings if seen.finding.code in codes]
        all_wait = HealProgress(enabled=True, waiting=len(found))
        if not may_change(found, task.settings):
            self._log_state, _nothing = heal_log.lines(self._log_state, (), (), result.report)
            return with_progress(result, all_wait)
        if task.parts.clock.monotonic() < self._proof_due_at:
            return with_progress(result, all_wait)
        with task.parts.request_scope(result.report.audit_id):
            wanted = prepared(task, result, codes, undone=_undone(task.parts))
            if wanted is None:
                return with_progress(result, HealProgress(enabled=True, waiting=None))
            healed = run_heal(task, wanted)
            refusals = wanted.plan.refusals
            self._log_state, logged = heal_log.lines(self._log_state, refusals, healed, result.report)
            emit(logged)
            if any(each.outcome.unproven for each in healed):
                # heal waited for proof that nova's rows are up to date, but the wait timed out. Such a wait blocks the
                # daemon's worker thread, so the daemon does not heal again before ``_proof_due_at``.
                self._proof_due_at = task.parts.clock.monotonic() + PROOF_AGAIN_S
        return _with_healed(result, wanted, healed)


def may_change(found: Iterable[SeenFinding], settings: Settings) -> bool:
    """Return whether at least one finding was seen in enough audits to be confirmed.

    Otherwise heal would refuse every finding, so heal need not read anything.
    """
    return any(seen.times >= settings.confirm_audits for seen in found)


def _undone(parts: Parts) -> Undone:
    """Return the repairs that an operator undid, according to the journal."""
    try:
        entries = parts.journal.read().entries if parts.journal is not None else ()
    except SourceUnavailable as error:
        return Undone(unread_because=str(error))
    changes = [entry.change for entry in entries if entry.undone_by]
    return Undone(
        findings=frozenset(change.finding_id for change in changes if change.finding_id),
        consumers=frozenset(c.consumer_uuid for c in changes if c.kind == ALLOCATIONS and c.consumer_uuid),
    )


def _with_healed(result: AuditResult, wanted: Prepared, healed: tuple[Healed, ...]) -> AuditResult:
    stale = any(refusal.guard == RECORDED_FRESH.name for refusal in wanted.plan.refusals)
    waiting = sum(refusal.waits for refusal in wanted.plan.refusals)
    result = with_progress(result, HealProgress(enabled=True, waiting=waiting))
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
