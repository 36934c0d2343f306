"""Provide the StateSource of a host without nova. The source reads nothing.

The returned state differs from the state of a cloud without instances. With ``StateKind.NONE`` the later stages of the
audit treat libvirt's domains as the instances. These stages report no consumer as leaked, because no cloud can confirm
a leak.
"""

from __future__ import annotations

from agent.model.nova import AllMigrations, LightState, NovaState, Pulse, StateKind, StateSign
from agent.model.snapshot import STATE
from agent.ports import Deadline


class NoState:
    """The StateSource of a host without nova."""

    name = STATE

    def read(
        self,
        host: str,
        consumers: frozenset[str],  # noqa: ARG002 - there is no cloud to query
        deadline: Deadline,  # noqa: ARG002
        node_uuid: str | None = None,  # noqa: ARG002
    ) -> NovaState:
        """See StateSource; never fails."""
        return NovaState(kind=StateKind.NONE, host=host)

    def light(
        self,
        last: NovaState,  # noqa: ARG002 - there is no cloud to query
        consumers: frozenset[str],  # noqa: ARG002
        deadline: Deadline,  # noqa: ARG002
    ) -> LightState:
        """See StateSource. The result is always the same, because a host without nova has no rows that can change."""
        return LightState(sign=StateSign(parts=()), service=None, now=None, pulse=Pulse(now=None, heartbeat=None))

    def pulse(self, host: str, deadline: Deadline) -> Pulse:  # noqa: ARG002 - there is no cloud to query
        """See StateSource. Without services there is no heartbeat, and no state that can be out of date."""
        return Pulse(now=None, heartbeat=None)

    def migrations_of(
        self,
        host: str,  # noqa: ARG002 - there is no cloud to query
        instances: frozenset[str],
        deadline: Deadline,  # noqa: ARG002
    ) -> AllMigrations:
        """See StateSource. Without nova no instance ever migrates."""
        return AllMigrations(of=dict.fromkeys(instances, ()), pulse=Pulse(now=None, heartbeat=None))
