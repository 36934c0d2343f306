"""What an audit writes about the store, on the real file and lock, while an operator runs adopt or undo."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agent.audit.parts import AuditTask
from agent.audit.store import remember_store, with_store
from agent.host_files.lock import FileLock
from agent.host_files.store_file import StoreFile
from agent.model.audit import AuditMemory, AuditRequest
from agent.model.host.store import StoreMark, StoreRecord
from tests.rigs.facts import host, settings, snapshot
from tests.rigs.stores import DISK, guest, mark, on_disk, store

OLD, NEW = mark(300), mark(251)


def task_on(folder: Path) -> AuditTask:
    parts: Any = SimpleNamespace(store=StoreFile(str(folder)), lock=FileLock(str(folder / "lock"), str(folder)))
    return AuditTask(request=AuditRequest(reasons=("test",)), settings=settings(), parts=parts, cancelled=lambda: False)


def written(folder: Path) -> StoreRecord | None:
    return StoreFile(str(folder)).load()


def after_audit(
    folder: Path, *, before: StoreMark, meanwhile: StoreMark | None, measured_gib: int
) -> StoreRecord | None:
    """Return the file after an audit. It has ``before`` at the start; the operator writes ``meanwhile`` into it."""
    StoreFile(str(folder)).put(StoreRecord(mark=before))
    task = task_on(folder)
    memory = with_store(task, AuditMemory())
    StoreFile(str(folder)).put(StoreRecord(mark=meanwhile))
    world = store(snapshot(libvirt=host(guest())), on_disk(measured_gib), before=memory.store, present=(DISK,))
    remember_store(task, memory, world)
    return written(folder)


def test_storage_confirmed_during_an_audit_stays_confirmed(tmp_path):
    """The operator confirms the guests' new disk storage during an audit; the audit keeps the confirmation."""
    assert after_audit(tmp_path, before=OLD, meanwhile=NEW, measured_gib=300) == StoreRecord(mark=NEW)


def test_an_audit_does_not_restore_an_undone_confirmation(tmp_path):
    """The operator undoes the confirmation of the guests' disk storage during an audit; it stays undone."""
    assert after_audit(tmp_path, before=NEW, meanwhile=None, measured_gib=251) == StoreRecord(mark=None)


def test_storage_stays_confirmed_if_its_file_system_has_grown(tmp_path):
    """Storage that the operator confirms during an audit stays confirmed if its file system has grown."""
    assert after_audit(tmp_path, before=OLD, meanwhile=NEW, measured_gib=400) == StoreRecord(mark=NEW)


def test_an_audit_saves_the_size_of_a_grown_file_system(tmp_path):
    """If the file system below instances_path has grown, the agent saves its new size in store.json."""
    StoreFile(str(tmp_path)).put(StoreRecord(mark=OLD))
    task = task_on(tmp_path)
    memory = with_store(task, AuditMemory())
    world = store(snapshot(libvirt=host(guest())), on_disk(400), before=memory.store, present=(DISK,))
    remember_store(task, memory, world)
    record = written(tmp_path)
    assert record is not None
    assert record.mark is not None
    assert record.mark.size_bytes == 400 << 30


def test_an_audit_restores_the_deleted_file_store_json(tmp_path):
    """If the file store.json was deleted, an audit restores the file from the agent's memory."""
    task = task_on(tmp_path)
    memory = with_store(task, AuditMemory(store=OLD))
    world = store(snapshot(libvirt=host(guest())), on_disk(300), before=memory.store, present=(DISK,))
    remember_store(task, memory, world)
    assert written(tmp_path) == StoreRecord(mark=OLD)
