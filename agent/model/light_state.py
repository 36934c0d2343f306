"""A light read of the cloud's state: what tells whether anything changed, and the values that change by themselves.

A full read (NovaState) has every row. A light read has the sign of these rows, and the parts that each audit needs
fresh: the service, the heartbeats and the clock. While the sign stays equal, the rows of the last full read are still
those of the cloud; agent/audit/light_or_full.py decides that.
"""

from __future__ import annotations

import dataclasses
import datetime
from dataclasses import dataclass

from agent.model.host.facts import Domain
from agent.model.nova import NovaState, Pulse, Service
from agent.model.placement import Allocation


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSign:
    """What a light read compares. ``parts`` are (name, value) pairs; if all are equal in two reads, nothing changed.

    ``is_settled``: whether every later change changes a part. False if the newest change is so recent that another
    change may have the same time: times in rows have whole seconds, and come from several clocks.
    """

    parts: tuple[tuple[str, object], ...]
    is_settled: bool = True

    def changed_since(self, before: StateSign) -> tuple[str, ...]:
        """Return the names of the parts that differ, without those that only one of the two signs has."""
        known = dict(before.parts)
        return tuple(name for name, value in self.parts if name in known and known[name] != value)


@dataclass(frozen=True, slots=True, kw_only=True)
class LightState:
    """The result of a light read. All fields but ``sign`` have the same meaning as in NovaState."""

    sign: StateSign
    service: Service | None
    now: datetime.datetime | None
    pulse: Pulse

    def renewed(self, state: NovaState) -> NovaState:
        """Return ``state``, the last full read, with this read's service, heartbeats and clock."""
        return dataclasses.replace(
            state,
            service=self.service,
            now=self.now,
            heartbeat=self.pulse.heartbeat,
            newest_heartbeat=self.pulse.newest,
            pulse_at=self.pulse.now,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FullState:
    """The last full read of the state, and what the other sources said at that time.

    ``sign`` was read directly before ``state``; None if the audit made no light read. ``consumers`` and ``node_uuid``
    are the arguments of the full read. ``domains`` and ``allocations`` are the guests and Placement's allocations that
    the same audit read, None if it could not read them. ``saw_change``: the last audit saw that something had changed,
    so the next audit reads in full again, in case the last audit saw only half of the change.
    ``rests``: findings or rows of the last audit rest on the state, so the next audit reads in full.
    """

    state: NovaState
    sign: StateSign | None
    consumers: frozenset[str]
    node_uuid: str | None
    domains: tuple[Domain, ...] | None
    allocations: tuple[Allocation, ...] | None
    saw_change: bool = False
    rests: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRead:
    """How an audit read the state. ``why_full``: why it read in full; empty if the light read was enough.

    ``sign`` is the light read's sign, None if the audit made no light read. ``consumers`` are those that it asked for.
    ``saw_change``: whether something changed since the last audit, or might have changed.
    """

    why_full: str = "no light read was made"
    sign: StateSign | None = None
    consumers: frozenset[str] = frozenset()
    saw_change: bool = False

    @property
    def is_light(self) -> bool:
        """Whether the state has the rows of an earlier audit's full read."""
        return not self.why_full
