"""The one way to read the cloud's state: an answer that is not proven to be current is no answer.

Audits, heal, undo and adopt all ask here, so that none of them decides on rows that are an hour old.
"""

from __future__ import annotations

from agent.audit.freshness import behind_s, why_stale
from agent.audit.parts import Errand
from agent.errors import SourceStale
from agent.model.audit import Standing
from agent.model.nova import NovaState
from agent.model.settings import Settings
from agent.model.snapshot import STATE
from agent.ports import Deadline


def deadline_of(settings: Settings) -> Deadline:
    """By when one read, or one write of a record, must have ended."""
    return Deadline.after(settings.source_deadline_s)


def current_state(
    errand: Errand,
    consumers: frozenset[str],
    node_uuid: str | None = None,
    *,
    host: str | None = None,
    before: Standing | None = None,
) -> NovaState:
    """The state of ``host``, None: this one. ``before``: the heartbeat that earlier audits read.

    Raises SourceError: SourceStale where the answer may be old.
    """
    wanted = errand.settings.host if host is None else host
    state = errand.parts.state.read(wanted, consumers, deadline_of(errand.settings), node_uuid)
    why = why_stale(state, before, errand.parts.clock.monotonic(), errand.settings)
    if why is None:
        return state
    age = behind_s(state.pulse)
    raise SourceStale(STATE, why, heartbeat=state.heartbeat, behind_s=age)
