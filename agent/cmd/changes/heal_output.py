"""Render a run of ``stocktake heal`` as a JSON document. heal_text.py renders the text of a run."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

from agent.cmd.changes.heal_run import HealRun
from agent.guards import LIMITS_OF_A_RUN
from agent.guards.minimum_age import GUARD as MINIMUM_AGE
from agent.healing.attempt import WriteAttempt
from agent.healing.consumer_json import after_json, record_json
from agent.healing.reshape_journal import after_document, before_json
from agent.model.heal import AnyAction, HealRefusal, ReshapeAction
from agent.render.documents import Document, audit_keys, gone_document

#: The text prints this many characters of a finding's id and of a digest. Every command accepts these shortened forms.
ID_SHOWN, DIGEST_SHOWN = 8, 12


def heal_document(run: HealRun) -> Document:
    """Return the document of ``heal``.

    ``actions`` are in execution order, each of the ``refusals`` names its guard, and ``results`` are the outcomes of
    the actions that were carried out. ``unread`` are the sources that could not be read; the plan leaves out findings
    that need these sources. ``undecided`` is true if these sources prevent the run from finding out whether the
    approved plan is still current. ``nothing_because`` says in one sentence why the plan changes nothing. ``command``
    carries out the plan. The number of changes of one run is limited: ``repeat`` is the command for the findings that
    remain for a later run, null if none remain.
    """
    plan = run.plan
    return {
        **audit_keys(run.report, "schema_version", "audit_id", "host", "node", "provider_uuid", "role"),
        "digest": plan.digest,
        "stale": run.stale,
        "undecided": run.undecided,
        "unread": [{"source": source.name, "error": source.error} for source in run.unread],
        "actions": [_action(action) for action in plan.actions],
        "refusals": [dataclasses.asdict(refusal) for refusal in plan.refusals],
        "results": [
            {
                "finding_id": each.action.finding_id,
                "consumer_uuid": each.action.consumer_uuid,
                **outcome_keys(each.outcome),
            }
            for each in run.healed
        ],
        "gone": [gone_document(each) for each in run.report.gone],
        "nothing_because": None if plan.actions else nothing_because(plan.refusals, run.min_age_s),
        "try_again_s": try_again_s(plan.refusals),
        "command": _command(run) if plan.actions and not run.healed else None,
        "repeat": _repeat(run),
    }


def nothing_because(refusals: Sequence[HealRefusal], min_age_s: float) -> str:
    """Return one sentence: why the plan changes nothing and, if this is known, in how many seconds to try again."""
    waiting = [refusal for refusal in refusals if refusal.waits]
    if not waiting:
        return "there is nothing to change any more" if not refusals else "heal repairs none of these findings"
    count = len(waiting)
    subject = {1: "the finding", 2: "both findings"}.get(count, f"all {count} findings")
    if len(refusals) > count:
        subject = f"{count} of {len(refusals)} findings"
    is_one = subject == "the finding"
    if all(refusal.guard == MINIMUM_AGE.name for refusal in waiting):
        why = f"{subject} {'is' if is_one else 'are'} younger than [heal] min_age ({min_age_s:g} s)"
    else:
        why = f"{subject} must wait"
    seconds = try_again_s(waiting)
    return why if seconds is None else f"{why}; try again in {seconds} s"


def try_again_s(refusals: Iterable[HealRefusal]) -> int | None:
    """Return the longest ``wait_s`` of the refusals that end by themselves; None if none of them has a ``wait_s``."""
    known = [refusal.wait_s for refusal in refusals if refusal.waits and refusal.wait_s is not None]
    return math.ceil(max(known)) if known else None


def _command(run: HealRun) -> str:
    ordered = run.ordered
    named = _options("--finding", (id_[:ID_SHOWN] for id_ in ordered.ids)) + _options("--code", ordered.codes)
    return f"stocktake heal{named} --plan {run.plan.digest[:DIGEST_SHOWN]} --yes"


def _repeat(run: HealRun) -> str | None:
    """Return the heal command for the findings that this run leaves to a later run, None if there are none."""
    later = [refusal.finding_id[:ID_SHOWN] for refusal in run.plan.refusals if refusal.guard in LIMITS_OF_A_RUN]
    if not later:
        return None
    named = _options("--finding", later if run.ordered.ids else ()) + _options("--code", run.ordered.codes)
    return f"stocktake heal{named}"


def _options(option: str, values: Iterable[str]) -> str:
    return "".join(f" {option} {value}" for value in sorted(values))


def outcome_keys(outcome: WriteAttempt) -> Document:
    """Return the outcome of one change as keys and values for the JSON output."""
    return {"result": outcome.result.value, "words": outcome.words, "entry_id": outcome.entry_id}


def _action(action: AnyAction) -> Document:
    if isinstance(action, ReshapeAction):
        before, after = before_json(action.reshaping, lambda _: None), after_document(action.reshaping)
    else:
        before, after = record_json(action.before), after_json(action.before, action.write)
    return {
        "finding_id": action.finding_id,
        "code": action.code,
        "consumer_uuid": action.consumer_uuid,
        "why": action.why,
        "also_ends": list(action.also_ends),
        "before": before,
        "after": after,
    }
