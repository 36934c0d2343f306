"""Decide the exit code of a run of heal, from the plan, the outcomes and what could not be read.

The code says what became of the repairs that the operator asked for. Other findings, and findings that must wait, do
not count unless the operator named them.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.cmd.changes.heal_run import HealRun
from agent.exit_codes import BUG, CLEAN, FINDINGS, PARTIAL, REFUSED, REPAIRED, TEMPORARY, first_of
from agent.host_files.journal import Result
from agent.model.finding import FindingState
from agent.model.report import Outcome


def code_of(run: HealRun) -> int:
    """Return the exit code of the run.

    0: nothing to change; 1: a bug; 2: something was not read, or a change did not succeed; 3: a plan to approve; 4: the
    plan was carried out; 5: refused, or the approved plan is out of date; 75: the requested repair must wait.
    """
    return first_of(CLEAN, *_codes(run))


def _codes(run: HealRun) -> Iterator[int]:
    if run.report.outcome is Outcome.CRASHED:
        yield BUG
    if run.stale or _is_refused_by_name(run):
        yield REFUSED
    if run.unread or run.undecided or not run.report.own_files_read:
        yield PARTIAL
    for each in run.healed:
        if each.outcome.result is Result.DONE:
            yield REPAIRED
        else:
            yield REFUSED if each.outcome.result is Result.REFUSED and not each.outcome.unread else PARTIAL
    if run.ordered.digest is None and run.plan.actions:
        yield FINDINGS
    elif run.ordered.ids and run.plan.refusals and not run.plan.actions:
        yield TEMPORARY


def _is_refused_by_name(run: HealRun) -> bool:
    """Return whether the operator asked for findings by id, and a guard refused one of them for good.

    A refusal does not count if waiting may end it, or if the finding could not be checked.
    """
    unknown = {seen.finding.id for seen in run.report.findings if seen.state is FindingState.UNKNOWN}
    refused = (refusal for refusal in run.plan.refusals if not refusal.waits and refusal.finding_id not in unknown)
    return bool(run.ordered.ids) and any(refused)
