"""Run an audit in the daemon, and heal after it if [heal] enabled is set (daemon_heal.py)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent.audit.parts import AuditTask, Parts
from agent.audit.run import run_audit
from agent.model.audit import AuditMemory, AuditRequest, AuditResult
from agent.model.heal import HealProgress
from agent.model.settings import Settings

if TYPE_CHECKING:
    from agent.healing.daemon_heal import DaemonHeal


class AuditThenHeal:
    """Runs an audit, then heals; the daemon's worker thread calls this object."""

    def __init__(self) -> None:
        self._heal: DaemonHeal | None = None

    def __call__(
        self,
        request: AuditRequest,
        settings: Settings,
        parts: Parts,
        memory: AuditMemory,
        cancelled: Callable[[], bool],
    ) -> AuditResult:
        """Run an audit (``run_audit``), then heal. Raises AuditCancelled if a stop is requested."""
        result = run_audit(request, settings, parts, memory, cancelled)
        task = AuditTask(request=request, settings=settings, parts=parts, cancelled=cancelled)
        if not settings.heal.enabled or not task.may_publish():
            return with_progress(result, HealProgress(enabled=False, waiting=0))
        return self._healing()(task, result)

    def _healing(self) -> DaemonHeal:
        """Return the object that heals, created at its first use.

        The object's modules take 1 MiB of memory, and a daemon that does not heal never loads them.
        """
        if self._heal is None:
            from agent.healing.daemon_heal import DaemonHeal

            self._heal = DaemonHeal()
        return self._heal


def with_progress(result: AuditResult, progress: HealProgress) -> AuditResult:
    """Return the audit's result, with the number of findings that still wait for heal (``progress``)."""
    return dataclasses.replace(result, report=dataclasses.replace(result.report, heal=progress))
