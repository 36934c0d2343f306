"""Run ``stocktake adopt`` in the command's own process: read the facts, plan, and carry out an approved plan.

The operator approves a plan by naming its digest.

The run makes no audit and stores nothing that it read. Each run reads the files, the provider and the
compute node record again. A plan that was shown an hour ago is therefore carried out only if the plan has
not changed since.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agent.audit.parts import AuditTask
from agent.cmd import wiring
from agent.cmd.audited import loaded_for
from agent.cmd.exit_handling import say
from agent.config.build import settings_from
from agent.errors import LockHeld, PlacementError, SourceError
from agent.exit_codes import CLEAN, FINDINGS, PARTIAL, REFUSED, REPAIRED
from agent.healing.adopt import Adopted, read_facts, run_adopt
from agent.healing.adopt_plan import adoption
from agent.healing.identity_journal import words_of
from agent.host_files.journal import Result
from agent.model.adoption import AdoptFacts, AdoptPlan
from agent.model.audit import AuditRequest, Depth, Publish
from agent.render.documents import SCHEMA_VERSION

Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptRun:
    """The facts, the plan and the outcome of each step.

    ``stale``: the digest that the operator gave does not match the current plan.
    """

    facts: AdoptFacts
    plan: AdoptPlan
    done: tuple[Adopted, ...] = ()
    stale: bool = False


def adopted(options: argparse.Namespace, digest: str | None) -> AdoptRun | None:
    """Return one run, or None if libvirt or Placement cannot be read or another process holds the write lock.

    Raises ConfigError.
    """
    loaded = loaded_for(options)
    if digest is not None:
        wiring.prepare_state_dir(loaded, Publish.BY_ROLE)
    request = AuditRequest(reasons=("command: adopt",), depth=Depth.FULL)
    with wiring.wire(loaded) as wired, wired.parts.request_scope(wired.parts.new_id()):
        task = AuditTask(request=request, settings=settings_from(loaded), parts=wired.parts, cancelled=lambda: False)
        try:
            return _run(task, digest)
        except (SourceError, PlacementError, LockHeld) as error:
            say(str(error))
            return None


def _run(task: AuditTask, digest: str | None) -> AdoptRun:
    parts = task.parts
    if parts.names is None or parts.own_file is None or parts.journal is None:
        raise AssertionError("adopt was wired without names, file or journal")
    if digest is None:
        facts = read_facts(task, parts.names, parts.own_file)
        return AdoptRun(facts=facts, plan=adoption(facts, task.settings))
    # Take the lock before reading the facts, so that no audit of the daemon runs between the read and the change.
    with parts.lock.hold():
        facts = read_facts(task, parts.names, parts.own_file)
        plan = adoption(facts, task.settings)
        if plan.digest != digest or plan.refusals:
            return AdoptRun(facts=facts, plan=plan, stale=not plan.refusals)
        return AdoptRun(facts=facts, plan=plan, done=run_adopt(task, parts.journal, plan))


def code_of(run: AdoptRun | None) -> int:
    """Return the exit code: 0 nothing to adopt, 2 a source was unreachable, 3 plan shown, 4 carried out, 5 refused."""
    return PARTIAL if run is None else code_of_steps(run.plan, run.done, is_stale=run.stale)


def code_of_steps(plan: AdoptPlan, done: tuple[Adopted, ...], *, is_stale: bool) -> int:
    """Return the exit code for a plan and the outcomes of its steps."""
    outcomes = [each.outcome for each in done]
    if plan.refusals or is_stale or any(o.result is Result.REFUSED and not o.unread for o in outcomes):
        return REFUSED
    if any(outcome.result is not Result.DONE for outcome in outcomes):
        return PARTIAL
    if not plan.steps:
        return CLEAN
    return REPAIRED if outcomes else FINDINGS


def adopt_document(run: AdoptRun) -> Document:
    """Return the document of ``adopt``.

    ``steps`` are in execution order, ``refusals`` name the guard that refuses, ``results`` are the outcomes of the
    steps that were carried out.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "host": run.facts.host,
        "node": run.facts.node,
        "provider_uuid": run.facts.identity,
        "identity_origin": run.facts.origin,
        "adopts": run.plan.uuid,
        **plan_document(run.plan, run.done, is_stale=run.stale),
    }


def plan_document(plan: AdoptPlan, done: tuple[Adopted, ...], *, is_stale: bool) -> Document:
    """Return the keys that the documents of ``adopt`` and ``adopt --store`` share."""
    return {
        "digest": plan.digest,
        "stale": is_stale,
        "steps": [words_of(step) for step in plan.steps],
        "refusals": [{"guard": refusal.guard, "why": refusal.why} for refusal in plan.refusals],
        "notes": list(plan.notes),
        "results": [
            {
                "step": words_of(each.step),
                "result": each.outcome.result.value,
                "words": each.outcome.words,
                "entry_id": each.outcome.entry_id,
            }
            for each in done
        ],
    }


def adopt_lines(document: Document) -> Iterator[str]:
    """Yield the plan and its refusals, then the results, or the command that carries the plan out."""
    identity = document["provider_uuid"] or "no identity"
    origin = document["identity_origin"] or "none found"
    yield f"host {document['host']}, node {document['node']}: {identity} ({origin})"
    yield from result_lines(document)
    yield from how_to(document, "stocktake adopt")


def result_lines(document: Document) -> Iterator[str]:
    """Yield one line for each step, refusal, result and note."""
    yield from (f"  {step}" for step in document["steps"])
    for refusal in document["refusals"]:
        yield f"refused ({refusal['guard']}): {refusal['why']}"
    for result in document["results"]:
        entry = f" [entry {result['entry_id']}]" if result["entry_id"] else ""
        yield f"{result['result']}: {result['step']}: {result['words']}{entry}"
    yield from (f"note: {note}" for note in document["notes"])


def how_to(document: Document, command: str) -> Iterator[str]:
    """Yield the command that carries the plan out, or a line that the plan has changed since it was shown."""
    if document["stale"]:
        yield f"nothing was done: the plan has changed, its digest is now {document['digest']}"
    elif document["steps"] and not document["results"]:
        yield f"to do it: {command} --plan {document['digest']} --yes"
