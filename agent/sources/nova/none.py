"""Provide the StateSource of hosts without nova, where libvirt's domains define what is promised. It reads nothing.

The returned state differs from that of an empty cloud. With ``StateKind.NONE`` the later stages take what is promised
from the domains, and report no consumer as leaked, because no cloud can confirm a leak.
"""

from __future__ import annotations

from agent.model.nova import NovaState, Pulse, StateKind
from agent.model.snapshot import STATE
from agent.ports import Deadline


class NoState:
    """The StateSource of a host without a cloud."""

    name = STATE

    def read(
        self,
        host: str,
        consumers: frozenset[str],  # noqa: ARG002 - nobody is asked
        deadline: Deadline,  # noqa: ARG002
        node_uuid: str | None = None,  # noqa: ARG002
    ) -> NovaState:
        """See StateSource; never fails."""
        return NovaState(kind=StateKind.NONE, host=host)

    def pulse(self, deadline: Deadline) -> Pulse:  # noqa: ARG002 - nobody is asked
        """See StateSource: no service reports, so nothing can be out of date."""
        return Pulse(now=None, heartbeat=None)
