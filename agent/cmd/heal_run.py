"""Run ``stocktake heal``: audit until the requested findings are confirmed, plan, and carry out an approved plan.

The operator approves a plan by naming its digest. The audits publish nothing. If the run gets the write lock, it saves
the findings' history for the daemon and for the next run. A finding may be healed only when it is some minutes old, and
without a saved history no finding would ever be old enough.
"""

from __future__ import annotations

import argparse
import dataclasses
from dataclasses import dataclass

from agent.audit.parts import AuditTask
from agent.audit.run import run_audit
from agent.books.histories import merged
from agent.cmd import wiring
from agent.cmd.audited import loaded_for, task_of
from agent.cmd.exit_handling import to_stderr
from agent.cmd.wake import wake_after
from agent.config.loaded import Loaded
from agent.errors import ConfigError, FolderUnavailable, LockHeld
from agent.exit_codes import CLEAN, FINDINGS, PARTIAL, REFUSED, REPAIRED, exit_code
from agent.healing.heal import Healed, Prepared, prepared, run_heal
from agent.healing.plan import asked_for
from agent.host_files.journal import Result
from agent.model.audit import AuditMemory, AuditResult, Publish
from agent.model.finding import STEADY_AUDITS, FindingState
from agent.model.report import AuditReport, Outcome, SourceStatus
from agent.model.settings import Role
from agent.render.explain import unread
from agent.repairs import BY_CODE, DAEMON_CODES
from agent.timing.backoff import wait_s
from agent.usage_error import UsageError

# The sources that at least one repair needs.
_NEEDED = frozenset(source for repair in BY_CODE.values() for source in repair.needs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """The operator's request: the digest of the approved plan, and the finding ids.

    Without ids, the request is for all findings that the daemon may repair too.
    """

    ids: frozenset[str]
    digest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HealRun:
    """An audit's report, heal's plan for it and the outcomes; ``differs``: the operator approved another plan."""

    ordered: Ordered
    report: AuditReport
    prepared: Prepared | None
    healed: tuple[Healed, ...] = ()
    differs: bool = False

    @property
    def unread(self) -> tuple[SourceStatus, ...]:
        """The sources that the audit could not read."""
        return tuple(source for source in self.report.sources if not source.ok)

    @property
    def undecided(self) -> bool:
        """Whether the run cannot decide if the approved plan is still current.

        The current plan differs from the approved plan, but perhaps only because a source that repairs need failed.
        """
        return self.differs and any(source.name in _NEEDED for source in self.unread)

    @property
    def stale(self) -> bool:
        """Whether the approved plan is no longer the current plan."""
        return self.differs and not self.undecided


def healed(options: argparse.Namespace, ordered: Ordered) -> HealRun:
    """Run heal once. Raises ConfigError, FolderUnavailable, and UsageError if a requested finding does not exist."""
    loaded = loaded_for(options)
    _prepare(loaded, ordered)
    with task_of(options, loaded, "heal") as task:
        result = _audited(task, ordered)
        _remember(task, result)
        _check_ids(result.report, ordered)
        run = _decided_again(task, _run(task, result, ordered))
    wake_after(loaded, (each.outcome for each in run.healed))
    for line in unread(run.report):
        to_stderr(f"some data could not be read: {line}")
    return run


def code_of(run: HealRun) -> int:
    """Return the exit code. The first that applies of 5 (refused), 2 (partial), 3 (findings), 4 (repaired) wins."""
    plan = run.prepared.plan if run.prepared else None
    unknown = {seen.finding.id for seen in run.report.findings if seen.state is FindingState.UNKNOWN}
    refused = [refusal for refusal in (plan.refusals if plan else ()) if refusal.finding_id not in unknown]
    refused_by_name = bool(run.ordered.ids and refused)
    outcomes = [each.outcome for each in run.healed]
    if run.stale or refused_by_name or any(o.result is Result.REFUSED and not o.unread for o in outcomes):
        return REFUSED
    audit = exit_code(run.report)
    if audit not in (CLEAN, FINDINGS):
        return audit
    if run.undecided or any(outcome.result is not Result.DONE for outcome in outcomes):
        return PARTIAL
    if not run.healed:
        return audit
    return FINDINGS if _left(run) else REPAIRED


def _prepare(loaded: Loaded, ordered: Ordered) -> None:
    """Make the state directory. Heal cannot change anything without the directory, but it can print a plan.

    If the directory cannot be made and the operator has approved a plan, raises ConfigError or FolderUnavailable.
    """
    try:
        wiring.prepare_state_dir(loaded, Publish.BY_ROLE)
    except (ConfigError, FolderUnavailable) as error:
        if ordered.digest is not None:
            raise
        to_stderr(f"the findings of this run cannot be saved for later runs: {error}")


def _audited(task: AuditTask, ordered: Ordered) -> AuditResult:
    """Run audits until every requested finding is confirmed, but at most as many audits as that needs.

    In role companion, the guard ``allocation-steady`` needs STEADY_AUDITS audits.
    """
    memory, steady = AuditMemory(), STEADY_AUDITS if task.settings.role is Role.COMPANION else 0
    needed = max(1, task.settings.confirm_audits, steady)
    for audits_before in range(needed):
        spacing_s = task.settings.confirm_spacing_s if audits_before else 0.0
        if spacing_s:
            # Without the pause, all audits could run during one build or delete, and confirm a temporary finding.
            to_stderr(f"more audits must see the findings: next audit in {spacing_s:.0f} s ([agent] confirm_spacing)")
            task.parts.clock.wait(spacing_s)
        result = run_audit(task.request, task.settings, task.parts, memory, task.cancelled)
        memory = result.memory
        asked = asked_for(result.report.findings, DAEMON_CODES, ordered.ids)
        waiting = [seen for seen in asked if seen.state is not FindingState.UNKNOWN and seen.times < needed]
        if result.report.outcome is Outcome.UNREADABLE or not waiting:
            break
    return result


def _remember(task: AuditTask, result: AuditResult) -> None:
    seen = result.memory.history
    if task.settings.role is Role.OBSERVER or seen is None:
        return
    try:
        with task.parts.lock.hold():
            # Replace only what this run's audits decide. Keep all that the daemon has saved since the start of the run.
            stored = task.parts.history.load()
            own = merged(seen, stored, result.memory.ended)
            task.parts.history.save(dataclasses.replace(own, added=stored.added, left=stored.left))
    except LockHeld as error:
        to_stderr(f"the findings of this run were not saved for later runs: {error}")


def _check_ids(report: AuditReport, ordered: Ordered) -> None:
    unknown = sorted(ordered.ids - {seen.finding.id for seen in report.findings})
    if not unknown:
        return
    if all(source.ok for source in report.sources):
        raise UsageError(
            f"unknown finding {', '.join(unknown)}: `stocktake audit -f json` lists all current findings with their ids"
        )
    to_stderr(f"the audit did not find {', '.join(unknown)}, but it could not read every source")


def _run(task: AuditTask, result: AuditResult, ordered: Ordered) -> HealRun:
    with task.parts.request_scope(result.report.audit_id):
        # A repair that only an operator starts needs the finding's id: it rests on the operator's judgement.
        found = prepared(task, result, DAEMON_CODES, ordered.ids)
        run = HealRun(ordered=ordered, report=result.report, prepared=found)
        if found is None or ordered.digest is None:
            return run
        if found.plan.digest != ordered.digest:
            return dataclasses.replace(run, differs=True)
        return dataclasses.replace(run, healed=run_heal(task, found))


def _decided_again(task: AuditTask, run: HealRun) -> HealRun:
    """If every action failed because Placement's data had changed since the audit, audit and carry out the plan again.

    Carry out the plan at most ``conflict_rounds`` times; stop when the new plan is not the approved plan. For example,
    Placement rejects a reshape if nova made an allocation after the audit, and nova schedules instances all the time.
    """
    for conflict in range(1, task.settings.conflict_rounds):
        if not run.healed or not all(each.outcome.moved for each in run.healed):
            break
        task.parts.clock.wait(wait_s(conflict, task.parts.random()))
        again = _run(task, _audited(task, run.ordered), run.ordered)
        if again.differs or again.prepared is None:
            break
        run = again
    return run


def _left(run: HealRun) -> bool:
    """Return whether findings remain among the requested ids, or among all findings if no id was requested."""
    actions = [each.action for each in run.healed if each.outcome.result is Result.DONE]
    # The repair of one finding about a consumer also repairs all other findings about that consumer.
    done = {id_ for action in actions for id_ in (action.finding_id, action.consumer_uuid) if id_}
    ended = {id_ for action in actions for id_ in action.also_ends}
    refused = {refusal.finding_id for refusal in run.prepared.plan.refusals} if run.prepared else set()
    return any(
        seen.finding.id in refused
        or not done & {seen.finding.id, seen.finding.consumer_uuid}
        or seen.finding.code not in BY_CODE
        for seen in run.report.findings
        if seen.finding.id not in ended and (not run.ordered.ids or seen.finding.id in run.ordered.ids)
    )
