"""Read nova's rows for one audit: in full, or only enough to see whether they have changed (a light read).

light_or_full.py decides which read is enough.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

from agent.audit.current_state import current_state, light_state
from agent.audit.light_or_full import judged, why_no_light_read
from agent.audit.parts import AuditTask
from agent.audit.readings import JUST_BEFORE_S, reading
from agent.errors import SourceStale
from agent.model.audit import AuditMemory, FullState
from agent.model.nova import LightState, NovaState
from agent.model.placement import PlacementView
from agent.model.snapshot import STATE, Reading, StateRead


class ReadState(NamedTuple):
    """The reading of the cloud's state, and how the audit read the state (light or in full)."""

    reading: Reading[NovaState]
    how: StateRead


def read_state(task: AuditTask, memory: AuditMemory, view: PlacementView | None, *, is_due: bool) -> ReadState:
    """Read nova's state. If a cheap (light) read shows that nothing has changed, reuse the rows of the last full read.

    ``view`` is what this audit has already read from Placement; None if that read failed.
    """
    consumers = view.consumer_uuids | view.shared_consumer_uuids if view else memory.consumers
    # The state source is also asked for the instances of libvirt's guests. nova may have deleted the instance of a
    # guest that still runs, and the audit needs the deleted row.
    how = StateRead(consumers=consumers | memory.guests, why_full=why_no_light_read(task.request, memory))
    last = memory.full_state
    if how.why_full or last is None:
        return ReadState(in_full(task, memory, how.consumers), how)
    light = _light(task, memory, last, how.consumers)
    if light.value is None:
        return _after_a_failure(task, memory, light, how)
    node_uuid = memory.identity.uuid if memory.identity else None
    verdict = judged(last, light.value, view, how.consumers, node_uuid, is_due=is_due)
    how = dataclasses.replace(how, sign=light.value.sign, why_full=verdict.why, saw_change=verdict.saw_change)
    if verdict.why:
        return ReadState(in_full(task, memory, how.consumers), how)
    return ReadState(
        Reading(
            source=STATE,
            taken_at=light.taken_at,
            duration_s=light.duration_s,
            value=light.value.renewed(last.state),
        ),
        how,
    )


def in_full(
    task: AuditTask, memory: AuditMemory, consumers: frozenset[str], node_uuid: str | None = None
) -> Reading[NovaState]:
    """Read all rows of nova that the audit needs. If ``node_uuid`` is None, look up the host's own compute node."""
    own = memory.identity.uuid if memory.identity else None
    ask = functools.partial(current_state, task, consumers, node_uuid or own, before=memory.heartbeat)
    return reading(task, STATE, ask)


def _light(task: AuditTask, memory: AuditMemory, last: FullState, consumers: frozenset[str]) -> Reading[LightState]:
    return reading(task, STATE, functools.partial(light_state, task, last.state, consumers, before=memory.heartbeat))


def _after_a_failure(task: AuditTask, memory: AuditMemory, light: Reading[LightState], how: StateRead) -> ReadState:
    """Read nova's rows in full after a light read failed, or return the light read's error.

    A light read only shows whether rows have changed. Return its error if it timed out or found outdated data: a full
    read of the same source would probably fail in the same way.
    """
    how = dataclasses.replace(
        how, why_full="the agent could not check whether nova's rows have changed", saw_change=True
    )
    is_late = light.duration_s >= task.settings.source_deadline_s - JUST_BEFORE_S
    if is_late or isinstance(light.error, SourceStale):
        failed: Reading[NovaState] = Reading(
            source=STATE, taken_at=light.taken_at, duration_s=light.duration_s, error=light.error
        )
        return ReadState(failed, how)
    return ReadState(in_full(task, memory, how.consumers), how)
