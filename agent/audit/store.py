"""Which store DISK_GB counted last: read at the start of each audit, written after one that learned something.

It is read each time, since ``adopt --store`` writes it beside a running daemon. While the
file is not there (the state directory's own mount may be lost) what this process
remembers stands.
"""

from __future__ import annotations

import dataclasses

from agent.audit.parts import Errand, StoreMemory
from agent.errors import LockHeld
from agent.model.audit import AuditMemory, Publish
from agent.model.host.store import StoreMark, StoreRecord
from agent.model.snapshot import Snapshot
from agent.resources.store_doubt import to_remember


def with_store(errand: Errand, memory: AuditMemory) -> AuditMemory:
    """The memory with what the state directory says of the store, where it says anything."""
    record = errand.parts.store.load() if errand.parts.store else None
    return memory if record is None else dataclasses.replace(memory, store=record.mark)


def remember_store(errand: Errand, memory: AuditMemory, snapshot: Snapshot) -> AuditMemory:
    """The memory with the store that this audit accepted, on the disk too where this run may write."""
    learned = to_remember(snapshot, errand.settings)
    if errand.parts.store is not None and errand.request.publish is not Publish.NEVER:
        _save(errand, errand.parts.store, memory.store, learned)
    return dataclasses.replace(memory, store=learned or memory.store)


def _save(errand: Errand, store: StoreMemory, before: StoreMark | None, learned: StoreMark | None) -> None:
    """Write what the file lacks. A lock that is held is no trouble: the next audit tries again."""
    if _lacking(store.load(), before, learned) is None:
        return
    try:
        with errand.parts.lock.hold():
            # Read again: an adopt or its undo may have written while the audit was under way, or held the lock.
            if (mark := _lacking(store.load(), before, learned)) is not None:
                store.save(StoreRecord(mark=mark))
    except LockHeld:
        return


def _lacking(record: StoreRecord | None, before: StoreMark | None, learned: StoreMark | None) -> StoreMark | None:
    """The mark to write: what was learned where the file says what the audit read at its start, all where it is gone.

    Anything else in the file is an operator's word, which came after what this audit saw.
    """
    if record is None:
        return learned or before
    return learned if record.mark == before else None
