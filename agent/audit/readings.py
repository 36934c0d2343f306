"""Turn every read of a source into a Reading: the value that was read, or the AgentError with which the read failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from agent.audit.parts import AuditTask
from agent.errors import AgentError, ConfigError, SourceUnavailable
from agent.model.snapshot import Reading

T = TypeVar("T")
# A library may end a call shortly before the deadline of the call. So a read counts as late even if it fails up to this
# many seconds before its deadline.
JUST_BEFORE_S = 0.5


def reading(task: AuditTask, source: str, ask: Callable[[], T]) -> Reading[T]:
    """Call ``ask``, and return a Reading with its value or its AgentError. Only here an error becomes a Reading.

    A ConfigError is raised and not turned into a Reading, because only the operator can correct the configuration.
    """
    if (late := task.late.get(source)) is not None:
        return late
    clock = task.parts.clock
    taken_at, began = clock.now(), clock.monotonic()
    value, error = None, None
    try:
        with task.parts.reading(source):
            value = ask()
        if value is None:
            raise SourceUnavailable(source, "returned no value")
    except ConfigError:
        raise
    except AgentError as failed:
        error = failed
    duration_s = clock.monotonic() - began
    found: Reading[T] = Reading(source=source, taken_at=taken_at, duration_s=duration_s, value=value, error=error)
    if error is not None and duration_s >= task.settings.source_deadline_s - JUST_BEFORE_S:
        task.late[source] = found
    return found
