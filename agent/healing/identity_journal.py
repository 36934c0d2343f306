"""Convert a step of ``adopt`` to a journal line, and a journal line to the step that undoes the change."""

from __future__ import annotations

import dataclasses
from typing import Any

from agent.host_files.journal import Change, Entry
from agent.host_files.store_file import mark_of, store_document
from agent.model.adoption import AdoptStep, FileStep, NameStep, RecordStep, StoreStep
from agent.model.host.store import StoreMark
from agent.model.node_record import NodeRecord
from agent.model.plan import RenameProvider
from agent.model.units import bytes_to_gib_floor
from agent.resources.store_doubt import name_of, where
from agent.text.own_rows import BadRow

FILE_KIND = "compute-id-file"
NAME_KIND = "provider-name"
RECORD_KIND = "record"
STORE_KIND = "store"

Document = dict[str, Any]


def change_of(step: AdoptStep, *, plan_digest: str | None = None, undoes: str | None = None) -> Change:
    """Return the journal line of one step, with the state before and after the step."""
    kind, before, after, uuid = _parts(step)
    why = words_of(step) if undoes is None else f"revert the change of journal entry {undoes}: {words_of(step)}"
    return Change(
        kind=kind, why=why, before=before, after=after, provider_uuid=uuid, plan_digest=plan_digest, undoes=undoes
    )


def _parts(step: AdoptStep) -> tuple[str, Document, Document, str | None]:
    match step:
        case FileStep():
            before, after = {"path": step.path, "text": step.before}, {"path": step.path, "text": step.after}
            return FILE_KIND, before, after, step.after.strip() if step.after else None
        case NameStep():
            uuid = step.write.provider_uuid
            return NAME_KIND, {"name": step.before}, {"name": step.write.name}, uuid
        case RecordStep():
            before, after = fields_of(step.stored, step.write.changed), fields_of(step.write.record, step.write.changed)
            return RECORD_KIND, before, after, step.stored.uuid
        case StoreStep():
            before, after = _store(step.path, step.before), _store(step.path, step.after)
            return STORE_KIND, before, after, None


def _store(path: str, mark: StoreMark | None) -> Document:
    return {"path": path, "store": store_document(mark)}


def words_of(step: AdoptStep) -> str:
    """Return one step of ``adopt`` in words, for the plan and the journal."""
    match step:
        case FileStep():
            there = "nothing" if step.before is None else step.before.strip()
            if step.after is None:
                return f"remove the file {step.path}, which contains {there}"
            return f"write {step.after.strip()} to the file {step.path}, in place of {there}"
        case NameStep():
            return f"rename provider {step.write.provider_uuid} from {step.before} to {step.write.name}"
        case RecordStep():
            stored, record = step.stored, step.write.record
            changes = ", ".join(
                f"{name} changes from {getattr(stored, name)} to {getattr(record, name)}" for name in step.write.changed
            )
            return f"save compute node record {stored.id} ({stored.uuid}): {changes}"
        case StoreStep():
            before, after = _in_words(step.before), _in_words(step.after)
            return f"change the record of the guests' disk store in {step.path} from {before} to {after}"


def _in_words(mark: StoreMark | None) -> str:
    return f"{name_of(mark)} (size {bytes_to_gib_floor(mark.size_bytes)} GiB, {where(mark)})" if mark else "no store"


def fields_of(record: NodeRecord, names: tuple[str, ...]) -> Document:
    """Return these fields as JSON. The values need no conversion: ``adopt`` changes only strings and numbers."""
    return {name: getattr(record, name) for name in names}


def file_back(entry: Entry) -> FileStep | None:
    """Return the step that writes the old text back into the file compute_id. None if the entry is incomplete."""
    path = _text(entry.change.before, "path")
    after = _text(entry.change.after, "text")
    if path is None or not isinstance(entry.change.before, dict) or "text" not in entry.change.before:
        return None
    return FileStep(path=path, before=after, after=_text(entry.change.before, "text"))


def name_back(entry: Entry) -> NameStep | None:
    """Return the step that gives the provider its old name back. None if the entry is incomplete."""
    before, after = _text(entry.change.before, "name"), _text(entry.change.after, "name")
    if before is None or after is None or entry.change.provider_uuid is None:
        return None
    return NameStep(before=after, write=RenameProvider(provider_uuid=entry.change.provider_uuid, name=before))


def store_back(entry: Entry) -> StoreStep | None:
    """Return the step that undoes the entry: it saves the earlier file system or volume group of DISK_GB again.

    None if the entry is incomplete.
    """
    before, after, path = entry.change.before, entry.change.after, _text(entry.change.before, "path")
    if path is None or not isinstance(before, dict) or not isinstance(after, dict):
        return None
    try:
        return StoreStep(path=path, before=mark_of(after["store"]), after=mark_of(before["store"]))
    except (KeyError, BadRow):
        return None


def record_back(entry: Entry) -> tuple[Document, Document] | None:
    """Return two sets of values of the compute node record: those that the undo expects, and those that it restores.

    None if the entry is not complete.
    """
    before, after = entry.change.before, entry.change.after
    known = {field.name for field in dataclasses.fields(NodeRecord)}
    if not isinstance(before, dict) or not isinstance(after, dict) or before.keys() != after.keys():
        return None
    return (after, before) if before and before.keys() <= known - {"id", "uuid"} else None


def _text(document: object, name: str) -> str | None:
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, str) else None
