"""No cloud: what libvirt holds is what was promised (fleets without Nova). Nothing is read here.

What a newcomer would get wrong: this is not an empty cloud. ``StateKind.NONE``
tells the stages to take the promise from the domains themselves, and that no
consumer can be called leaked, because nobody can be asked.
"""

from __future__ import annotations

from agent.model.nova import NovaState, Pulse, StateKind
from agent.model.snapshot import STATE
from agent.ports import Deadline


class NoState:
    """A StateSource without a cloud."""

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
        """See StateSource: nobody reports, and nothing can be old."""
        return Pulse(now=None, heartbeat=None)
