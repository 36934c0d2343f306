"""What those on the broker reach of a running daemon: reasons in, reports out, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent.model.report import AuditReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """``request_now`` queues a reason to look and says whether an audit will follow; all may be called by any thread.

    ``waiting`` are the reasons that no audit has taken yet; ``last_report`` is None before the first.
    """

    request_now: Callable[[str], bool]
    waiting: Callable[[], tuple[str, ...]]
    last_report: Callable[[], AuditReport | None]
