"""Remember from which store DISK_GB was last computed: load store.json when an audit starts, save it after a change.

Every audit loads the file, because ``adopt --store`` may write it while the daemon runs. The daemon uses the value in
its memory if the file is missing, for example because the state directory's mount was lost.
"""

from __future__ import annotations

import dataclasses

from agent.audit.parts import AuditTask, StoreMemory
from agent.errors import LockHeld
from agent.model.audit import AuditMemory, Publish
from agent.model.host.store import StoreMark, StoreRecord
from agent.model.snapshot import Snapshot
from agent.resources.store_doubt import to_remember


def with_store(task: AuditTask, memory: AuditMemory) -> AuditMemory:
    """Add to ``memory`` the disk store that store.json names. If the file cannot be read, ``memory`` is unchanged."""
    record = task.parts.store.load() if task.parts.store else None
    return memory if record is None else dataclasses.replace(memory, store=record.mark)


def remember_store(task: AuditTask, memory: AuditMemory, snapshot: Snapshot) -> AuditMemory:
    """Add to ``memory`` the disk store that DISK_GB counts now. If this run may write, also save it in store.json."""
    learned = to_remember(snapshot, task.settings)
    if task.parts.store is not None and task.request.publish is not Publish.NEVER:
        _save(task, task.parts.store, memory.store, learned)
    return dataclasses.replace(memory, store=learned or memory.store)


def _save(task: AuditTask, store: StoreMemory, before: StoreMark | None, learned: StoreMark | None) -> None:
    """Save in store.json the disk store that ``_lacking`` returns, if ``_lacking`` returns one.

    If another process has the lock, the next audit tries again.
    """
    if _lacking(store.load(), before, learned) is None:
        return
    try:
        with task.parts.lock.hold():
            # Load again under the lock: ``adopt`` or its ``undo`` may have written the file since the first load.
            if (mark := _lacking(store.load(), before, learned)) is not None:
                store.save(StoreRecord(mark=mark))
    except LockHeld:
        return


def _lacking(record: StoreRecord | None, before: StoreMark | None, learned: StoreMark | None) -> StoreMark | None:
    """Return the disk store to write to store.json; None if the file need not change.

    ``before`` is the store that the agent knew before this audit, ``learned`` the store that this audit found.

    - There is no file (``record`` is None): return ``learned``, or ``before`` if this audit found no store.
    - The file names the store ``before``: return ``learned``.
    - The file names another store: return None, because ``adopt`` or ``undo`` wrote the file during the audit.
    """
    if record is None:
        return learned or before
    return learned if record.mark == before else None
