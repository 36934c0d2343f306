"""What those on the broker reach of a running daemon: reasons in, reports out, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent.model.report import AuditReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """All may be called by any thread. ``request_by_peer`` queues a reason to look.

    It gives in how many seconds the agent begins the audit at the latest (an audit that runs then ends first), None
    where no audit follows. ``waiting`` are the reasons that no audit has taken yet; ``last_report`` is None before
    the first.
    """

    request_by_peer: Callable[[str], float | None]
    waiting: Callable[[], tuple[str, ...]]
    last_report: Callable[[], AuditReport | None]
