"""Define what RPC callers reach of a running daemon: they ask for audits and read reports, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent.model.report import AuditReport


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonControl:
    """Three functions that any thread may call.

    ``request_by_peer`` queues a reason to audit. It returns in how many seconds the agent begins the audit at the
    latest (a running audit ends first); None: no audit follows. ``waiting`` returns the reasons that no audit has taken
    yet. ``last_report`` returns None before the first audit.
    """

    request_by_peer: Callable[[str], float | None]
    waiting: Callable[[], tuple[str, ...]]
    last_report: Callable[[], AuditReport | None]
