"""Run ``stocktake heal``: audit until the requested findings are confirmed, plan, and carry out an approved plan.

The operator approves a plan by naming its digest. The audits publish nothing. If the run gets the write lock, it saves
the findings' history for the daemon and for the next run. heal repairs a finding only when the finding is some minutes
old. Without a saved history, no finding would ever be old enough.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
from dataclasses import dataclass

from agent.audit.parts import AuditTask
from agent.audit.run import run_audit
from agent.books.histories import merged
from agent.cmd import wiring
from agent.cmd.audited import loaded_for, not_saved, task_of
from agent.cmd.exit_handling import to_stderr
from agent.cmd.naming.ended import ended_words
from agent.cmd.naming.prefixes import only_match
from agent.cmd.not_root import closed_to_us, require_root
from agent.cmd.unread import refuse_unreadable, unread_lines
from agent.cmd.waits.progress import waits_shown
from agent.cmd.wake import wake_after
from agent.config.loaded import Loaded
from agent.errors import ConfigError, FolderUnavailable, LockHeld, SourceUnavailable
from agent.healing.heal import Healed, Prepared, prepared, run_heal
from agent.healing.plan import asked_for
from agent.healing.recheck import WAIT_S
from agent.host_files.journal import Entry
from agent.model.audit import AuditMemory, AuditResult, Publish
from agent.model.finding import STEADY_AUDITS, FindingState, GoneFinding
from agent.model.heal import HealPlan
from agent.model.report import AuditReport, Outcome, SourceStatus
from agent.model.settings import Role
from agent.repairs import BY_CODE, DAEMON_CODES
from agent.timing.backoff import wait_s
from agent.usage_error import UsageError

# Shown to the operator while a run that makes changes waits for this heartbeat (agent/healing/recheck.py).
_HEARTBEAT = "a new heartbeat of a nova service (proof that nova's database is up to date)"
# The sources that at least one repair needs.
_NEEDED = frozenset(source for repair in BY_CODE.values() for source in repair.needs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """The operator's request: which findings to repair, and the ``digest`` of the plan that the operator approved.

    With ``ids`` (whole ids, or their first characters), the operator requests these findings. Without ids, the request
    is for all findings with one of the ``codes``. Without ids and codes, it is for all findings that the daemon may
    repair by itself.
    """

    ids: frozenset[str]
    digest: str | None
    codes: frozenset[str] = frozenset()

    @property
    def wanted_codes(self) -> frozenset[str]:
        """If the operator names no finding by its id, all findings with one of these codes are requested."""
        return self.codes or DAEMON_CODES


@dataclass(frozen=True, slots=True, kw_only=True)
class HealRun:
    """An audit's report, heal's plan for the report's findings, and the outcomes of the plan's actions.

    ``differs``: the plan that the operator approved is not the current plan. ``min_age_s`` is ``[heal] min_age``.
    """

    ordered: Ordered
    report: AuditReport
    prepared: Prepared | None
    healed: tuple[Healed, ...] = ()
    differs: bool = False
    min_age_s: float = 0.0

    @property
    def plan(self) -> HealPlan:
        """The current plan, empty if the audit compared no amounts."""
        return self.prepared.plan if self.prepared else HealPlan()

    @property
    def unread(self) -> tuple[SourceStatus, ...]:
        """The sources that the audit could not read."""
        return tuple(source for source in self.report.sources if not source.ok)

    @property
    def undecided(self) -> bool:
        """Whether the plan differs from the approved plan, but perhaps only because a source was not read."""
        return self.differs and any(source.name in _NEEDED for source in self.unread)

    @property
    def stale(self) -> bool:
        """Whether the approved plan is no longer the current plan."""
        return self.differs and not self.undecided


def healed(options: argparse.Namespace, ordered: Ordered) -> HealRun:
    """Run heal once.

    Raises ConfigError if the configuration is wrong. Raises UsageError if a requested finding does not exist. Raises
    NoDocument (exit code 75) if the audit could not read enough sources. An approved plan needs the state directory:
    without this directory, the function raises ConfigError or FolderUnavailable.
    """
    _check_codes(ordered)
    loaded = loaded_for(options)
    if ordered.digest is not None:
        require_root(loaded)
    closed = closed_to_us(loaded)
    if closed is None:
        _prepare(loaded, ordered)
    with task_of(options, loaded, "heal") as task:
        result = _audited(task, ordered) if closed is None else _without_own_files(task)
        if closed is None:
            _remember(task, result)
        refuse_unreadable(result.report, closed)
        _check_ids(task, result.report, ordered)
        with waits_shown(options) as watch, watch(_HEARTBEAT, WAIT_S):
            run = _decided_again(task, _run(task, result, ordered))
    wake_after(loaded, (each.outcome for each in run.healed))
    for line in unread_lines(run.report, closed):
        to_stderr(line)
    return run


def _prepare(loaded: Loaded, ordered: Ordered) -> None:
    """Create the state directory.

    heal changes nothing without the directory, but can still print a plan. So this function raises ConfigError or
    FolderUnavailable only if the operator has approved a plan.
    """
    try:
        wiring.prepare_state_dir(loaded, Publish.BY_ROLE)
    except (ConfigError, FolderUnavailable) as error:
        if ordered.digest is not None:
            raise
        to_stderr(not_saved(loaded, error))


def _audited(task: AuditTask, ordered: Ordered) -> AuditResult:
    """Run audits until every requested finding is confirmed. The number of audits is limited.

    The limit is the number of audits that a confirmation needs. In role companion, the limit is at least STEADY_AUDITS,
    because the guard ``allocation-steady`` needs so many. The returned report names each finding that ended in one of
    these audits. No later command can name such a finding, because the saved history no longer has it.
    """
    gone: tuple[GoneFinding, ...] = ()
    memory, steady = AuditMemory(), STEADY_AUDITS if task.settings.role is Role.COMPANION else 0
    needed = max(1, task.settings.confirm_audits, steady)
    for audits_before in range(needed):
        spacing_s = task.settings.confirm_spacing_s if audits_before else 0.0
        if spacing_s:
            # Without the pause, all audits could run while nova builds or deletes one instance. They would confirm a
            # finding that ends as soon as nova has finished.
            to_stderr(f"the findings are not confirmed yet: next audit in {spacing_s:.0f} s ([agent] confirm_spacing)")
            task.parts.clock.wait(spacing_s)
        result = _audited_once(task, memory)
        memory, gone = result.memory, (*gone, *result.report.gone)
        asked = asked_for(result.report.findings, ordered.wanted_codes, ids_of(result.report, ordered))
        waiting = [seen for seen in asked if seen.state is not FindingState.UNKNOWN and seen.times < needed]
        if result.report.outcome is Outcome.UNREADABLE or not waiting:
            break
    return dataclasses.replace(result, report=dataclasses.replace(result.report, gone=gone))


def _audited_once(task: AuditTask, memory: AuditMemory) -> AuditResult:
    return run_audit(task.request, task.settings, task.parts, memory, task.cancelled)


def _without_own_files(task: AuditTask) -> AuditResult:
    """Run only one audit. More audits would confirm findings, but this process cannot save the confirmations."""
    result = _audited_once(task, AuditMemory())
    return dataclasses.replace(result, report=dataclasses.replace(result.report, own_files_read=False))


def _remember(task: AuditTask, result: AuditResult) -> None:
    seen = result.memory.history
    if task.settings.role is Role.OBSERVER or seen is None:
        return
    try:
        with task.parts.lock.hold():
            # The daemon may have saved findings since this run began. So this run adds its findings to the stored
            # history, and does not replace the whole history.
            stored = task.parts.history.load()
            own = merged(seen, stored, result.memory.ended)
            task.parts.history.save(dataclasses.replace(own, added=stored.added, left=stored.left))
    except LockHeld as error:
        to_stderr(f"findings of this run are not saved: {error}")


def ids_of(report: AuditReport, ordered: Ordered) -> frozenset[str]:
    """Return the requested findings' ids. The operator may have typed only the first characters of an id.

    If no finding has the id, return the typed text. Raises UsageError if several findings' ids begin with it.
    """
    known = [seen.finding.id for seen in report.findings]
    return frozenset(only_match("finding", typed, known) or typed for typed in ordered.ids)


def _check_codes(ordered: Ordered) -> None:
    unknown = sorted(ordered.codes - BY_CODE.keys())
    if unknown:
        raise UsageError(f"heal has no repair for {', '.join(unknown)}; heal repairs {', '.join(sorted(BY_CODE))}")


def _check_ids(task: AuditTask, report: AuditReport, ordered: Ordered) -> None:
    asked = ids_of(report, ordered)
    unknown = sorted(asked - {seen.finding.id for seen in report.findings})
    if not unknown:
        return
    if all(source.ok for source in report.sources):
        entries = _journal_entries(task)
        ended = [words for each in unknown if (words := ended_words(each, report.gone, entries))]
        if ordered.digest is not None and len(unknown) == len(asked) == len(ended):
            # Each requested finding ended after the operator read the plan, so the plan is stale and nothing is done.
            for words in ended:
                to_stderr(words)
            return
        listing = "`stocktake findings` lists all current findings with their ids"
        if ended:
            raise UsageError(f"{'; '.join(ended)}; {listing}")
        raise UsageError(f"unknown finding {', '.join(unknown)}: {listing}")
    to_stderr(f"the audit did not find {', '.join(unknown)}, but the audit could not read every source")


def _journal_entries(task: AuditTask) -> tuple[Entry, ...]:
    """Return the journal's entries; () without a journal, or if the journal cannot be read."""
    with contextlib.suppress(SourceUnavailable):
        return task.parts.journal.read().entries if task.parts.journal else ()
    return ()


def _run(task: AuditTask, result: AuditResult, ordered: Ordered) -> HealRun:
    with task.parts.request_scope(result.report.audit_id):
        # Heal makes some repairs only if the operator names the finding with --finding or --code.
        ids = ids_of(result.report, ordered)
        found = prepared(_started_by_hand(task), result, ordered.wanted_codes, ids)
        run = HealRun(ordered=ordered, report=result.report, prepared=found, min_age_s=task.settings.heal.min_age_s)
        if found is None or ordered.digest is None:
            return run
        if only_match("plan", ordered.digest, (found.plan.digest,)) is None:
            return dataclasses.replace(run, differs=True)
        return dataclasses.replace(run, healed=run_heal(task, found))


def _started_by_hand(task: AuditTask) -> AuditTask:
    """Return the task without ``[heal] interval``, the time between the daemon's runs of heal.

    Messages then say "run `stocktake heal` again" instead of the time of the daemon's next run.
    """
    heal = dataclasses.replace(task.settings.heal, interval_s=None)
    return dataclasses.replace(task, settings=dataclasses.replace(task.settings, heal=heal))


def _decided_again(task: AuditTask, run: HealRun) -> HealRun:
    """Audit and plan again if every action failed because Placement's data had changed since the audit.

    The run tries the plan at most ``conflict_rounds`` times, and only as long as each new plan equals the approved
    plan. For example, Placement rejects a reshape if nova made an allocation after the audit, and nova schedules
    instances all the time.
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
