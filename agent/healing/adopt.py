"""Carry out ``stocktake adopt``, which gives a renamed or reinstalled host its Placement provider back.

``read_facts`` reads the host's uuid and names. ``run_adopt`` carries out exactly the plan that the operator saw. Each
step writes its journal line before its change. A step that fails ends the run; the earlier steps are in the
journal. A second run continues where the first one stopped, because each run reads everything again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from agent.audit.current_state import current_state, deadline_of, state_for_a_change
from agent.audit.parts import AuditTask, OwnIdentityFile
from agent.audit.readings import reading
from agent.errors import AgentError, PlacementUnavailable, SourceError, SourceUnavailable
from agent.healing.attempt import DONE_WORDS, WriteAttempt, refused
from agent.healing.identity_journal import change_of
from agent.healing.write import journalled
from agent.host_files.journal import Journal, Result
from agent.model.adoption import (
    AdoptFacts,
    AdoptPlan,
    AdoptStep,
    FileStep,
    IdentityFile,
    NameStep,
    RecordStep,
    StoreStep,
)
from agent.model.audit import Identity
from agent.model.host.store import StoreRecord
from agent.model.nova import NovaState
from agent.model.placement import PlacementView
from agent.model.snapshot import LIBVIRT, STATE
from agent.ports import ProviderNames
from agent.telemetry import events
from agent.telemetry.event_log import Line, emit


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """One step of ``adopt`` and its outcome."""

    step: AdoptStep
    outcome: WriteAttempt


def read_facts(task: AuditTask, names: ProviderNames, own_file: OwnIdentityFile) -> AdoptFacts:
    """Read all facts from which the plan of ``adopt`` is made.

    Raises ConfigError if ``compute_id`` files are invalid or differ, SourceError if libvirt cannot be read and
    PlacementError if Placement cannot be read. If nova's data cannot be read, the facts contain the error.
    """
    parts, deadline = task.parts, deadline_of(task.settings)
    found = parts.identity_files.find()
    file = IdentityFile(path=own_file.own_path, text=own_file.own_text())
    with parts.reading(LIBVIRT):
        node = parts.host.read(deadline).hostname
    holder = names.holder(node)
    state, problem = _state(task, found, holder.uuid if holder else None)
    identity = found or _of_row(state, node)
    uuid = identity.uuid if identity else None
    nothing = PlacementView(root_uuid="", providers=(), allocations=(), allocations_fresh=True)
    orphans = parts.reader.orphans(nothing, frozenset(filter(None, (uuid, holder.uuid if holder else None)))).orphans
    trees = {tree.uuid: tree for tree in orphans if tree.root is not None}
    return AdoptFacts(
        host=task.settings.host,
        node=node,
        identity=uuid,
        origin=identity.origin if identity else "",
        file=file,
        own=trees.get(uuid or ""),
        holder=trees.get(holder.uuid) if holder and holder.uuid != uuid else None,
        state=state,
        others=_others(task, state),
        state_error=problem,
    )


def _state(task: AuditTask, found: Identity | None, holder: str | None) -> tuple[NovaState | None, str]:
    """Return (nova's state, ""), or (None, the error) if the state could not be read.

    The state contains this host's compute node rows, and any row with the uuid ``found.uuid`` or ``holder``.
    ``holder`` is the uuid of the provider that has this node's name in Placement; None if there is no such provider.
    """
    try:
        state = state_for_a_change(task, frozenset(), found.uuid if found else None)
        if holder is None or holder in {node.uuid for node in state.nodes}:
            return state, ""
        asked = state_for_a_change(task, frozenset(), holder)
    except SourceError as error:
        return None, str(error)
    nodes = {node.id: node for node in (*asked.nodes, *state.nodes)}
    return replace(state, nodes=tuple(nodes[number] for number in sorted(nodes))), ""


def _of_row(state: NovaState | None, node: str) -> Identity | None:
    """Return the uuid of this node's row in nova's table compute_nodes; None if there is no such row."""
    rows = [row for row in (state.nodes if state else ()) if not row.deleted and state and row.host == state.host]
    row = next((row for row in rows if row.hypervisor_hostname == node), None)
    return Identity(uuid=row.uuid, origin=f"compute_nodes id {row.id}") if row else None


def _others(task: AuditTask, state: NovaState | None) -> tuple[NovaState, ...]:
    """Read nova's data about the other hosts in the compute node rows.

    If the data about a host cannot be read, the host is left out and logged; ``adopt`` then refuses.
    """
    hosts = {row.host for row in (state.nodes if state else ()) if not row.deleted} - {task.settings.host}
    found = []
    for host in sorted(hosts):
        # Once the read of one host's state has run into its deadline, ``reading`` does not try the remaining hosts.
        its = reading(task, STATE, partial(current_state, task, frozenset(), host=host))
        if its.value is not None:
            found.append(its.value)
        else:
            lost = {"source": its.source, "error": str(its.error)}
            emit((Line(event=events.SOURCE_LOST, chosen_level=events.WARNING, fields=lost),))
    return tuple(found)


def run_adopt(task: AuditTask, journal: Journal, plan: AdoptPlan) -> tuple[Adopted, ...]:
    """Carry out the steps in order, up to the first step that fails; the caller must have the write lock."""
    done: list[Adopted] = []
    for step in plan.steps:
        line = change_of(step, plan_digest=plan.digest)
        outcome = journalled(journal, line, partial(carried_out, task, step))
        done.append(Adopted(step=step, outcome=outcome))
        if outcome.result is not Result.DONE:
            break
    return tuple(done)


def carried_out(task: AuditTask, step: AdoptStep) -> WriteAttempt:
    """Carry out one step and return its outcome. An AgentError is not raised: its text is in the outcome."""
    try:
        _carry_out(task, step)
    except (PlacementUnavailable, SourceError) as error:
        # The write may have succeeded although the response was lost; the next run reads the result.
        return WriteAttempt(result=Result.UNKNOWN, words=str(error), unread=True)
    except AgentError as error:
        return refused(str(error))
    return WriteAttempt(result=Result.DONE, words=DONE_WORDS)


def _carry_out(task: AuditTask, step: AdoptStep) -> None:
    parts = task.parts
    match step:
        case FileStep() if parts.own_file is not None:
            parts.own_file.put_own(step.after)
        case NameStep() if parts.names is not None:
            parts.names.rename(step.write)
        case RecordStep() if parts.records is not None:
            parts.records.apply(step.write, deadline_of(task.settings))
        case StoreStep() if parts.store is not None:
            parts.store.put(StoreRecord(mark=step.after))
        case _:
            raise SourceUnavailable(
                "adopt", "this run has no access to what the step changes (a file, a provider, a record or a store)"
            )
