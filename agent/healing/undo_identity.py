"""Undo one change that ``adopt`` made.

The command ``adopt`` changes one of these: the agent's file ``compute_id``; a provider's name; fields of nova's compute
node record; or store.json, the file that names the disk store of DISK_GB.

Each undo restores a value only if the present value is still the value that ``adopt`` wrote. Otherwise a later change
would be lost.
"""

from __future__ import annotations

import dataclasses

from agent.audit.current_state import state_for_a_change
from agent.audit.parts import AuditTask
from agent.errors import ConfigError, FolderUnavailable
from agent.healing.adopt import carried_out
from agent.healing.attempt import WriteAttempt, out_of_reach, refused
from agent.healing.identity_journal import change_of, fields_of, file_back, name_back, record_back, store_back
from agent.healing.write import journalled
from agent.host_files.journal import Entry, Journal
from agent.model.adoption import AdoptStep, RecordStep
from agent.model.host.store import StoreRecord
from agent.model.plan import SaveComputeNode

INCOMPLETE = "cannot undo: the journal entry does not contain the state before the change"
NO_ACCESS = "this run has no access to what the journal entry is about (a file, a provider, a record or a store)"


def undo_file(task: AuditTask, journal: Journal, entry: Entry) -> WriteAttempt:
    """Undo a journal entry of kind ``compute-id-file``: restore the file's old text, or remove the new file."""
    step, file = file_back(entry), task.parts.own_file
    if step is None or file is None:
        return refused(INCOMPLETE if step is None else NO_ACCESS)
    if step.path != file.own_path:
        return refused(f"the journal entry is about the file {step.path}, but now the agent uses {file.own_path}")
    try:
        now = file.own_text()
    except ConfigError as error:
        return refused(f"nothing was changed: {error}")
    except FolderUnavailable as error:
        return out_of_reach(error)
    if now != step.before:
        return refused(f"the file {step.path} was changed since the journal entry was written")
    return _back(task, journal, entry, step)


def undo_name(task: AuditTask, journal: Journal, entry: Entry) -> WriteAttempt:
    """Undo a journal entry of kind ``provider-name``: restore the provider's old name."""
    step, names = name_back(entry), task.parts.names
    if step is None or names is None:
        return refused(INCOMPLETE if step is None else NO_ACCESS)
    now = names.name_of(step.write.provider_uuid)
    if now != step.before:
        return refused(
            f"provider {step.write.provider_uuid} is named {now} now, but stocktake adopt set the name {step.before}"
        )
    return _back(task, journal, entry, step)


def undo_store(task: AuditTask, journal: Journal, entry: Entry) -> WriteAttempt:
    """Undo a journal entry of kind ``store``: make store.json name the earlier disk store of DISK_GB again, or none."""
    step, store = store_back(entry), task.parts.store
    if step is None or store is None:
        return refused(INCOMPLETE if step is None else NO_ACCESS)
    if step.path != store.path:
        return refused(f"the journal entry is about the file {step.path}, but now the agent uses {store.path}")
    if store.load() != StoreRecord(mark=step.before):
        return refused(f"the file {step.path} was changed since the journal entry was written")
    return _back(task, journal, entry, step)


def undo_record(task: AuditTask, journal: Journal, entry: Entry) -> WriteAttempt:
    """Undo a journal entry of kind ``record``: restore the changed fields of the compute node record, and no others."""
    fields = record_back(entry)
    if fields is None:
        return refused(INCOMPLETE)
    after, before = fields
    uuid, host = entry.change.provider_uuid, str(after.get("host") or task.settings.host)
    state = state_for_a_change(task, frozenset(), uuid, host=host)
    stored = next((record for record in state.records if record.uuid == uuid), None)
    if stored is None:
        return refused(
            f"the agent cannot restore compute node record {uuid}: the record does not exist, or [state] source is not "
            "conductor"
        )
    if fields_of(stored, tuple(after)) != after:
        return refused(f"the compute node record {stored.uuid} was changed since the journal entry was written")
    record = dataclasses.replace(stored, **before)
    write = SaveComputeNode(record=record, changed=record.changes(stored))
    return _back(task, journal, entry, RecordStep(stored=stored, write=write))


def _back(task: AuditTask, journal: Journal, entry: Entry, step: AdoptStep) -> WriteAttempt:
    return journalled(journal, change_of(step, undoes=entry.id), lambda: carried_out(task, step))
