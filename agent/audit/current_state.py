"""Read nova's rows about a host, and raise SourceStale unless the rows are proven to be current.

Audits, heal, undo and adopt all read these rows through this module, so they never decide on outdated rows. For
example, a database replica that stopped replicating an hour ago has outdated rows.
"""

from __future__ import annotations

from agent.audit.freshness import behind_s, why_stale
from agent.audit.parts import AuditTask
from agent.errors import SourceStale
from agent.model.audit import Standing
from agent.model.nova import LightState, NovaState
from agent.model.settings import Settings
from agent.model.snapshot import STATE
from agent.ports import Deadline


def deadline_of(settings: Settings) -> Deadline:
    """Return the deadline for one read, or for one write of a compute node record, that starts now."""
    return Deadline.after(settings.source_deadline_s)


def current_state(
    task: AuditTask,
    consumers: frozenset[str],
    node_uuid: str | None = None,
    *,
    host: str | None = None,
    before: Standing | None = None,
) -> NovaState:
    """Read nova's database rows about ``host`` (None: this host).

    nova's heartbeats show whether the rows may be old. ``before`` is the newest heartbeat of earlier audits. Raises
    SourceStale if the rows may be old, and SourceError if the rows cannot be read.
    """
    wanted = task.settings.host if host is None else host
    state = task.parts.state.read(wanted, consumers, deadline_of(task.settings), node_uuid)
    _check(task, state, before)
    return state


def state_for_a_change(
    task: AuditTask, consumers: frozenset[str], node_uuid: str | None = None, *, host: str | None = None
) -> NovaState:
    """Read nova's rows for a change by heal, undo or adopt. Raises the same errors as ``current_state``."""
    with task.parts.reading(STATE):
        return current_state(task, consumers, node_uuid, host=host)


def light_state(
    task: AuditTask, last: NovaState, consumers: frozenset[str], *, before: Standing | None = None
) -> LightState:
    """Check with few queries whether nova's rows have changed since the last full read, ``last``.

    ``before`` is the newest heartbeat of earlier audits. Raises SourceStale if the rows may be old, and SourceError if
    nova's database cannot be read.
    """
    light = task.parts.state.light(last, consumers, deadline_of(task.settings))
    _check(task, light.renewed(last), before)
    return light


def _check(task: AuditTask, state: NovaState, before: Standing | None) -> None:
    why = why_stale(state, before, task.parts.clock.monotonic(), task.settings)
    if why is not None:
        raise SourceStale(STATE, why, heartbeat=state.heartbeat, behind_s=behind_s(state.pulse))
