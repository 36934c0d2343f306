"""Name what nova has in progress for a consumer with the verdict ``settling``: a task, a build or a move. Pure.

The verdict ``settling`` says that the agent draws no conclusion yet. An operator wants to know how long this can last,
so the text names what nova must finish first.
"""

from __future__ import annotations

from agent.books.recency import instance_just_changed, migration_just_changed
from agent.model.compared import Row
from agent.model.nova import Instance, Migration, NovaState
from agent.model.report import Verdict

_JUST_CHANGED = "nova changed the database row less than 10 s before the agent read the row"


def settling_because(row: Row, state: NovaState | None) -> str:
    """Return what nova has not finished yet, such as ``live-migration to compute-2 has status running``.

    Return "" if the row's verdict is not SETTLING, or if nova's rows do not show the reason.
    """
    if row.verdict is not Verdict.SETTLING or state is None:
        return ""
    migration = row.migration or _newest(row.instance, state)
    if migration is not None and migration.in_progress:
        return _of_migration(migration, state.host)
    if row.instance is not None and (words := _of_instance(row.instance)):
        return words
    return _JUST_CHANGED if _changed(row, state) else ""


def _newest(instance: Instance | None, state: NovaState) -> Migration | None:
    """Return the instance's newest migration that is in progress."""
    found = [m for m in state.migrations if instance and m.instance_uuid == instance.uuid and m.in_progress]
    return max(found, key=lambda m: m.id, default=None)


def _of_migration(migration: Migration, host: str) -> str:
    """Return the migration's kind, its other host and its status."""
    to, of = migration.dest_host or "a host that nova has not chosen yet", migration.source_host or "an unknown host"
    where = f"from {of}" if migration.dest_host == host and migration.source_host != host else f"to {to}"
    return f"{migration.kind} {where} has status {migration.status}"


def _of_instance(instance: Instance) -> str:
    if instance.task_state is not None:
        return f"the instance has task_state {instance.task_state}"
    if instance.vm_state in ("building", "resized"):
        waits = ": nova waits until a user confirms or reverts the resize" if instance.vm_state == "resized" else ""
        return f"the instance has vm_state {instance.vm_state}{waits}"
    if instance.hidden:
        return "the instance is hidden: nova moves it to another cell"
    return "" if instance.host or instance.deleted else "nova has chosen no host yet"


def _changed(row: Row, state: NovaState) -> bool:
    if row.migration is not None and migration_just_changed(row.migration, state.now):
        return True
    return row.instance is not None and instance_just_changed(row.instance, state.now)
