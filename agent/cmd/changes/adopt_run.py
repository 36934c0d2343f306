"""Run ``stocktake adopt`` in the command's own process: read the facts, plan, and carry out an approved plan.

Each run reads everything and makes a new plan. The operator approves a plan by its digest: the run carries out the new
plan only if it has the digest that the operator gave.

Without --store, the plan is about this host's identity, and the run reads the host's files, provider and compute node
record. With --store, the plan is about the disk store that DISK_GB is computed from, and the run does a dry audit.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent.audit.parts import AuditTask
from agent.audit.run import run_audit
from agent.cmd import wiring
from agent.cmd.audited import loaded_for, task_of
from agent.cmd.changes.heal_output import DIGEST_SHOWN, outcome_keys
from agent.cmd.changes.heal_text import result_line
from agent.cmd.command_line.failures import FailureKind, NoDocument
from agent.cmd.naming.prefixes import only_match
from agent.cmd.not_root import require_own_files, require_root
from agent.cmd.wake import wake_after
from agent.config.loaded import Loaded
from agent.errors import LockHeld, PlacementError, SourceError
from agent.exit_codes import CLEAN, FINDINGS, PARTIAL, REFUSED, REPAIRED, first_of
from agent.healing.adopt import Adopted, read_facts, run_adopt
from agent.healing.adopt_plan import adoption
from agent.healing.adopt_store_plan import store_adoption
from agent.healing.identity_journal import words_of
from agent.host_files.journal import Result
from agent.host_files.store_file import store_document
from agent.model.adoption import AdoptFacts, AdoptPlan
from agent.model.audit import AuditMemory, Publish
from agent.model.host.store import StoreMark
from agent.model.report import AuditReport
from agent.render.documents import SCHEMA_VERSION, Document, audit_keys
from agent.render.layout import Block, copyable
from agent.resources.store_doubt import store_now


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptRun:
    """The plan and the outcome of each step. ``read``: what the run read, in the form for the JSON output.

    ``stale``: the operator approved a plan by its digest, but the plan has changed since.
    """

    read: Document
    plan: AdoptPlan
    done: tuple[Adopted, ...] = ()
    stale: bool = False


def adopted(options: argparse.Namespace, digest: str | None, planned: Callable[[AuditTask], AdoptRun]) -> AdoptRun:
    """Call ``planned`` (``identity_run`` or ``store_run``) to make a plan. Carry out the plan if it has the ``digest``.

    Raises NoDocument (exit code 2) if a source or the write lock is not available. Raises ConfigError if the
    configuration is wrong.
    """
    loaded = loaded_for(options)
    if digest is None:
        require_own_files(loaded)
    else:
        require_root(loaded)
        wiring.prepare_state_dir(loaded, Publish.BY_ROLE)
    run = _run(options, loaded, digest, planned)
    wake_after(loaded, (each.outcome for each in run.done))
    return run


def _run(
    options: argparse.Namespace, loaded: Loaded, digest: str | None, planned: Callable[[AuditTask], AdoptRun]
) -> AdoptRun:
    with task_of(options, loaded, "adopt") as task, task.parts.request_scope(task.parts.new_id()):
        try:
            if digest is None:
                return planned(task)
            # Take the write lock before the read, so that no audit of the daemon can write between the read and the
            # change.
            with task.parts.lock.hold():
                return _carried_out(task, planned(task), digest)
        except (SourceError, PlacementError, LockHeld) as error:
            raise NoDocument(FailureKind.UNAVAILABLE, str(error), PARTIAL) from error


def identity_run(task: AuditTask) -> AdoptRun:
    """Read this host's uuids and names in its own files, in Placement and in nova, and plan how to make them equal."""
    parts = task.parts
    if parts.names is None or parts.own_file is None:
        raise AssertionError("this is a bug: adopt was started without access to provider names or identity files")
    facts = read_facts(task, parts.names, parts.own_file)
    plan = adoption(facts, task.settings)
    return AdoptRun(read=identity_keys(facts, plan), plan=plan)


def store_run(task: AuditTask) -> AdoptRun:
    """Run a dry audit, and plan to save the current disk store (for DISK_GB) in store.json."""
    result = run_audit(task.request, task.settings, task.parts, AuditMemory(), task.cancelled)
    snapshot = result.snapshot
    if task.parts.store is None or snapshot is None:
        raise AssertionError(
            "this is a bug: adopt --store has no data of an audit, or no file to record the disk store in"
        )
    read = store_keys(result.report, snapshot.store, store_now(snapshot, task.settings))
    return AdoptRun(read=read, plan=store_adoption(snapshot, task.settings, task.parts.store.path))


def _carried_out(task: AuditTask, run: AdoptRun, digest: str) -> AdoptRun:
    if run.plan.refusals or only_match("plan", digest, (run.plan.digest,)) is None:
        return dataclasses.replace(run, stale=not run.plan.refusals)
    if task.parts.journal is None:
        raise AssertionError("this is a bug: adopt was started without a journal")
    return dataclasses.replace(run, done=run_adopt(task, task.parts.journal, run.plan))


def code_of(run: AdoptRun) -> int:
    """Return the exit code: 0 nothing to adopt, 2 a source was unreachable, 3 plan shown, 4 carried out, 5 refused."""
    return first_of(CLEAN, *_codes(run))


def _codes(run: AdoptRun) -> Iterator[int]:
    if run.stale or any(not refusal.unread for refusal in run.plan.refusals):
        yield REFUSED
    if any(refusal.unread for refusal in run.plan.refusals):
        yield PARTIAL
    for each in run.done:
        if each.outcome.result is Result.DONE:
            yield REPAIRED
        else:
            yield REFUSED if each.outcome.result is Result.REFUSED and not each.outcome.unread else PARTIAL
    if run.plan.steps and not run.done:
        yield FINDINGS


def identity_keys(facts: AdoptFacts, plan: AdoptPlan) -> Document:
    """Return the facts that ``adopt`` read, as JSON keys. ``adopts`` is the uuid that this host should have."""
    return {
        "host": facts.host,
        "node": facts.node,
        "provider_uuid": facts.identity,
        "identity_origin": facts.origin,
        "adopts": plan.uuid,
    }


def store_keys(report: AuditReport, before: StoreMark | None, now: StoreMark | None) -> Document:
    """Return the facts that ``adopt --store`` read, as JSON keys.

    ``before`` is the disk store that the agent saved earlier, ``now`` is the present disk store.
    """
    host = audit_keys(report, "host", "node", "provider_uuid")
    return {**host, "store_before": store_document(before), "store": store_document(now)}


def adopt_document(run: AdoptRun) -> Document:
    """Return the document of ``adopt``.

    ``steps`` are in execution order, each of the ``refusals`` names its guard, and ``results`` are the outcomes of the
    steps that were carried out.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        **run.read,
        "digest": run.plan.digest,
        "stale": run.stale,
        "steps": [words_of(step) for step in run.plan.steps],
        "refusals": [dataclasses.asdict(refusal) for refusal in run.plan.refusals],
        "notes": list(run.plan.notes),
        "results": [{"step": words_of(each.step), **outcome_keys(each.outcome)} for each in run.done],
    }


def adopt_blocks(document: Document) -> Iterator[Block]:
    """Yield the plan and its refusals, then either the results or the command that carries out the plan."""
    if "store" in document:
        command, about = "stocktake adopt --store", "the disk store from which DISK_GB is computed"
    else:
        uuid, origin = document["provider_uuid"], document["identity_origin"]
        command, about = "stocktake adopt", f"provider {uuid} ({origin})" if uuid else "no identity found"
    yield f"host {document['host']}, node {document['node']}: {about}"
    yield from (f"  {step}" for step in document["steps"])
    yield from (f"refused ({refusal['guard']}): {refusal['why']}" for refusal in document["refusals"])
    yield from (result_line(result, result["step"]) for result in document["results"])
    yield from (f"note: {note}" for note in document["notes"])
    if document["stale"]:
        yield _stale(document)
    elif document["steps"] and not document["results"]:
        yield "to carry out the plan:"
        yield copyable("fix", f"{command} --plan {document['digest'][:DIGEST_SHOWN]} --yes")


def _stale(document: Document) -> str:
    if document["steps"]:
        return f"nothing done: the plan has changed; the current plan is {document['digest'][:DIGEST_SHOWN]}"
    return "nothing done: there is nothing to change any more"
