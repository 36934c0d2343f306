"""Run ``stocktake adopt --store`` in the command's own process: audit dry, plan, and carry out an approved plan."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from agent.audit.parts import AuditTask
from agent.audit.run import run_audit
from agent.cmd import wiring
from agent.cmd.adopt_run import Document, code_of_steps, how_to, plan_document, result_lines
from agent.cmd.audited import loaded_for
from agent.cmd.exit_handling import say
from agent.config.build import settings_from
from agent.errors import LockHeld
from agent.exit_codes import PARTIAL
from agent.healing.adopt import Adopted, run_adopt
from agent.healing.adopt_store_plan import store_adoption
from agent.host_files.store_file import store_document
from agent.model.adoption import AdoptPlan
from agent.model.audit import AuditMemory, AuditRequest, Depth, Publish
from agent.model.report import AuditReport
from agent.render.documents import SCHEMA_VERSION
from agent.resources.store_doubt import store_now


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRun:
    """The report of the dry audit, the remembered and the present store as JSON, the plan and its outcomes."""

    report: AuditReport
    before: Document | None
    now: Document | None
    plan: AdoptPlan
    done: tuple[Adopted, ...] = ()
    stale: bool = False


def store_adopted(options: argparse.Namespace, digest: str | None) -> StoreRun | None:
    """Return one run, or None if another process of the agent holds the write lock. Raises ConfigError."""
    loaded = loaded_for(options)
    if digest is not None:
        wiring.prepare_state_dir(loaded, Publish.BY_ROLE)
    request = AuditRequest(reasons=("command: adopt --store",), publish=Publish.NEVER, depth=Depth.FULL)
    with wiring.wire(loaded) as wired:
        task = AuditTask(request=request, settings=settings_from(loaded), parts=wired.parts, cancelled=lambda: False)
        if digest is None:
            return _looked(task)
        try:
            # Take the lock before the dry audit, so that no audit of the daemon runs between it and the change.
            with wired.parts.lock.hold():
                return _carried_out(task, _looked(task), digest)
        except LockHeld as error:
            say(str(error))
            return None


def _looked(task: AuditTask) -> StoreRun:
    parts, settings = task.parts, task.settings
    if parts.store is None:
        raise AssertionError("adopt --store was wired without the memory of the store")
    result = run_audit(task.request, settings, parts, AuditMemory(), task.cancelled)
    snapshot = result.snapshot
    if snapshot is None:
        raise AssertionError("an audit ended without a snapshot")
    return StoreRun(
        report=result.report,
        before=store_document(snapshot.store),
        now=store_document(store_now(snapshot, settings)),
        plan=store_adoption(snapshot, settings, parts.store.path),
    )


def _carried_out(task: AuditTask, run: StoreRun, digest: str) -> StoreRun:
    if run.plan.digest != digest or run.plan.refusals:
        return dataclasses.replace(run, stale=not run.plan.refusals)
    if task.parts.journal is None:
        raise AssertionError("adopt --store was wired without a journal")
    return dataclasses.replace(run, done=run_adopt(task, task.parts.journal, run.plan))


def code_of(run: StoreRun | None) -> int:
    """Return the same exit codes as ``adopt``."""
    return PARTIAL if run is None else code_of_steps(run.plan, run.done, is_stale=run.stale)


def store_lines(document: Document) -> Iterator[str]:
    """Yield the plan and its refusals, then the results, or the command that carries the plan out."""
    yield f"host {document['host']}, node {document['node']}: the store that DISK_GB counts"
    yield from result_lines(document)
    yield from how_to(document, "stocktake adopt --store")


def document_of(run: StoreRun) -> Document:
    """Return a document like that of ``adopt``, with the remembered store and the present store."""
    return {
        "schema_version": SCHEMA_VERSION,
        "host": run.report.host,
        "node": run.report.node,
        "provider_uuid": run.report.provider_uuid,
        "store_before": run.before,
        "store": run.now,
        **plan_document(run.plan, run.done, is_stale=run.stale),
    }
