"""Run the one thread that audits and writes: take a request, run the audit, publish the report.

An AgentError (a source or Placement fails) does not end the thread: the report contains the error. Two errors do end
the thread: ConfigError, and FolderUnavailable while the host's identity is unknown. Any other exception is a bug. A bug
is logged with a traceback, and the report's outcome is CRASHED. The next audit then starts from the results of the last
successful audit. A reload takes effect between two audits, never during an audit.
"""

from __future__ import annotations

import ctypes
import gc
import random
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from agent.audit.history import saved
from agent.audit.parts import Parts
from agent.books.confirm import not_checked
from agent.daemon.audit_queue import AuditQueue, Pacing
from agent.errors import AgentError, AuditCancelled, ConfigError, FolderUnavailable
from agent.exit_codes import BUG, CONFIGURATION, TEMPORARY
from agent.model.audit import AuditMemory, AuditRequest, AuditResult, Publish
from agent.model.report import AuditReport, Outcome
from agent.model.settings import Settings
from agent.model.snapshot import PLACEMENT
from agent.text.redact import blotted
from agent.timing.backoff import grown_s

#: The maximum time in seconds that ``take`` blocks. After this time the worker checks for a stop or a due retry.
TAKE_S = 0.5
#: The worker counts as stuck if it made no progress for this many seconds. The worker makes progress when it waits for
#: work, ends a stage of an audit, ends a write, or sends a request to Placement. Each read and each request has a much
#: lower time limit. A whole stage has no limit, because the first read of a slow Placement takes dozens of requests.
STALL_S = 180.0
RETRY_FIRST_S = 2.0
RETRY_CAP_S = 300.0
#: While Placement cannot be read, the worker collects events for a longer time before it audits, but at most for this
#: many seconds. This is less than the usual audit interval.
GATHER_CAP_S = 30.0
REPEAT_FIRST_S = 0.5
REPEAT_CAP_S = 60.0
RETRY = "retry"
REPEAT = "look-again"

Audit = Callable[[AuditRequest, Settings, Parts, AuditMemory, Callable[[], bool]], AuditResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """Everything that a reload replaces. ``interval_s`` is None if there are no periodic audits."""

    settings: Settings
    parts: Parts
    publish: Publish
    pacing: Pacing
    interval_s: float | None
    summary_interval_s: float


class Current:
    """Holds the configuration in use. A reload replaces the whole object, so an audit never sees half a reload."""

    def __init__(self, configured: Configured) -> None:
        self._configured = configured

    def get(self) -> Configured:
        """Return the configuration for the next audit."""
        return self._configured

    def replace(self, configured: Configured) -> None:
        """Replace the configuration; the next audit is the first with the new configuration."""
        self._configured = configured


class Publisher(Protocol):
    """The receiver of reports: it writes the log and the report file."""

    def publish(self, report: AuditReport, configured: Configured) -> None:
        """Publish a report; called on the worker's thread after every audit."""
        ...

    def bug(self, where: str, error: Exception) -> None:
        """Log an exception that is not an AgentError; called while the exception is being handled."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """The audit that the worker itself plans next: a retry after a failure, or a repetition (``audit_again``).

    ``at``: the time in monotonic seconds, None if no audit is planned. ``failures``: how many audits in a row failed.
    ``repeats``: how many audits in a row returned ``audit_again``.
    """

    failures: int = 0
    repeats: int = 0
    at: float | None = None
    reason: str = ""


def retry_delay(failures: int, uniform: Callable[[float, float], float] = random.uniform) -> float:
    """Return the back-off in seconds after ``failures`` failed audits in a row: capped, with jitter (×0.5 to ×1)."""
    return grown_s(RETRY_FIRST_S, RETRY_CAP_S, failures - 1) * uniform(0.5, 1.0)


def repeat_delay(repeats: int) -> float:
    """Return the pause in seconds before the next audit, if the last ``repeats`` audits asked for another audit.

    The first repetition comes at once, and then the pauses grow. Otherwise the agent would audit without a pause if the
    host changed during every audit.
    """
    return 0.0 if repeats <= 1 else grown_s(REPEAT_FIRST_S, REPEAT_CAP_S, repeats - 2)


def follow_up(
    before: FollowUp, now: float, *, failed: bool, audit_again: bool, not_before: float | None = None
) -> FollowUp:
    """Return what follows an audit: a repetition if ``audit_again``, else a retry if ``failed``, else neither.

    The periodic audits are not affected.

    ``now`` and ``not_before`` are in monotonic seconds. Placement wants no request before ``not_before`` (Retry-After).
    An event or the interval may cause an audit while a retry is planned. If that audit fails too, the retry keeps its
    planned time, and the back-off does not grow.
    """
    earliest = not_before or now
    repeats = before.repeats + 1 if audit_again else 0
    if failed and not audit_again and before.reason == RETRY and before.at is not None and before.at > now:
        return replace(before, repeats=0, at=max(before.at, earliest))
    failures = before.failures + 1 if failed else 0
    if audit_again:
        at = max(now + repeat_delay(repeats), earliest)
        return FollowUp(failures=failures, repeats=repeats, at=at, reason=REPEAT)
    if failed:
        return FollowUp(failures=failures, at=max(now + retry_delay(failures), earliest), reason=RETRY)
    return FollowUp()


def gathering(pacing: Pacing, failures: int, report: AuditReport) -> Pacing:
    """Return how long events wait in the audit queue: as ``pacing`` says, or longer while Placement cannot be read.

    The longer wait spares a Placement that is down: many events then cause few requests. Requests of operators, retries
    and periodic audits do not wait. While the host's provider UUID is unknown, audits send Placement no requests, so
    ``pacing`` applies unchanged.
    """
    is_unread = any(source.name == PLACEMENT and not source.ok for source in report.sources)
    if failures < 2 or not is_unread or report.provider_uuid is None:
        return pacing
    least_s = grown_s(RETRY_FIRST_S, GATHER_CAP_S, failures - 2)
    return replace(pacing, settle_s=max(pacing.settle_s, least_s), cap_s=max(pacing.cap_s, least_s))


def worth_retrying(report: AuditReport) -> bool:
    """Return whether a read or a write failed, so that the worker retries the audit before the next interval."""
    return report.error is not None or not report.sources or any(not source.ok for source in report.sources)


def crash_report(
    request: AuditRequest, settings: Settings, memory: AuditMemory, error: Exception, at: str
) -> AuditReport:
    """Return the report of an audit that ended with an exception instead of a report."""
    return AuditReport(
        audit_id=str(uuid.uuid4()),
        host=settings.host,
        node=memory.node_name,
        provider_uuid=memory.identity.uuid if memory.identity else None,
        role=settings.role.value,
        reasons=request.reasons,
        started_at=at,
        duration_ms=0.0,
        outcome=Outcome.UNREADABLE if isinstance(error, AgentError) else Outcome.CRASHED,
        sources=(),
        findings=not_checked(memory.history.sightings) if memory.history else (),
        # An exception's text may contain a URL with a password, and many programs read the report. So ``blotted``
        # replaces each password.
        error=f"{type(error).__name__}: {blotted(str(error))}",
    )


def _trim_heap() -> None:
    """Give unused memory of the C library's heap back to the kernel.

    After the imports and the first read, the kernel gets about a megabyte.
    """
    gc.collect()
    # Only glibc has this function.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class Worker:
    """The worker's loop. When its thread ends, it calls ``on_end`` with the process's exit code (0 after a stop)."""

    def __init__(
        self, queue: AuditQueue, current: Current, audit: Audit, publisher: Publisher, on_end: Callable[[int], None]
    ) -> None:
        self._queue = queue
        self._current = current
        self._audit = audit
        self._publisher = publisher
        self._on_end = on_end
        self._thread = threading.Thread(target=self._live, name="audit-worker", daemon=True)
        self._stopping = threading.Event()
        self._last_tick = time.monotonic()
        self._memory = AuditMemory()
        self._in_use: Configured | None = None
        self._follow_up = FollowUp()
        self._began: float | None = None
        self.last_report: AuditReport | None = None

    def start(self) -> None:
        """Start to take requests."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the running audit to end at its next safe point, and return at once.

        The caller must also close the queue of requests, because the worker may be waiting for a request.
        """
        self._stopping.set()

    def join(self, timeout_s: float | None) -> bool:
        """Wait for the worker's thread to end; return True if it has ended."""
        if self._thread.ident is None:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def healthy(self, sent_at: float) -> bool:
        """Return whether the worker's thread is alive and made progress in the last ``STALL_S`` seconds.

        A request to Placement is progress: ``sent_at`` is the time of the last request, in monotonic seconds.
        """
        return self._thread.is_alive() and time.monotonic() - max(self._last_tick, sent_at) < STALL_S

    @property
    def running_s(self) -> float:
        """How many seconds the running audit has run; 0 between audits."""
        began = self._began
        return 0.0 if began is None else time.monotonic() - began

    def _live(self) -> None:
        code = BUG
        try:
            code = self._loop()
            self._remember()
        except Exception as error:  # noqa: BLE001 - the last boundary: on_end must run
            self._publisher.bug("worker", error)
        finally:
            self._on_end(code)

    def _loop(self) -> int:
        while not (self._stopping.is_set() or self._queue.closed):
            self._tick()
            self._ring()
            reasons = self._queue.take(TAKE_S)
            if reasons is None:
                continue
            self._began = time.monotonic()
            try:
                self._run(reasons)
            except AuditCancelled:
                continue
            except ConfigError as error:
                self._refuse(error, reasons)
                return CONFIGURATION
            except FolderUnavailable as error:
                self._refuse(error, reasons)
                return TEMPORARY
            finally:
                self._began = None
        return 0

    def _remember(self) -> None:
        """Save the history of findings at the end of the process.

        This is necessary because an audit does not write the file if only timestamps in the history have changed.
        """
        configured = self._in_use
        if configured is not None and configured.publish is not Publish.NEVER:
            saved(configured.parts, self._memory)

    def _run(self, reasons: tuple[str, ...]) -> None:
        configured = self._take_over(self._current.get())
        # The first audit too has the default depth (Depth.ECONOMICAL). With Depth.FULL, the first audit would write the
        # inventory late, because it would first read the records of a thousand consumers.
        request = AuditRequest(reasons=reasons, publish=configured.publish)
        try:
            result = self._audit(request, configured.settings, configured.parts, self._memory, self._cancelled)
        except (AuditCancelled, ConfigError):
            raise
        except Exception as error:
            # A bug in one audit must not prevent the next audits.
            if isinstance(error, FolderUnavailable) and self._memory.identity is None:
                # Without the folder, the agent cannot learn the host's identity (its provider's UUID). The process
                # exits, and systemd starts the agent again until the folder can be used.
                raise
            if not isinstance(error, AgentError):
                self._publisher.bug("audit", error)
            report = crash_report(request, configured.settings, self._memory, error, configured.parts.clock.now())
            self._publish(report, configured)
            self._plan_next(report, configured, audit_again=False)
            return
        is_first = self.last_report is None
        self._memory = result.memory
        self._publish(result.report, configured)
        if is_first:
            _trim_heap()
        self._plan_next(result.report, configured, audit_again=result.audit_again, not_before=result.not_before)

    def _take_over(self, configured: Configured) -> Configured:
        """Use ``configured`` from now on. If a reload has replaced the configuration, drop all caches.

        A reload also makes the agent forget its last write, and the traits that Placement did not know. The agent
        remembers its last write to notice a client that overwrites the inventory, and that client may be gone now. The
        traits may be known now, because Placement may have been upgraded.
        """
        if self._in_use is not None and self._in_use is not configured:
            configured.parts.host.forget()
            configured.parts.reader.forget()
            if configured.parts.images is not None:
                configured.parts.images.forget()
            self._memory = replace(self._memory, written=None, unknown_traits=frozenset(), full_state=None)
        self._in_use = configured
        return configured

    def _refuse(self, error: AgentError, reasons: tuple[str, ...]) -> None:
        configured = self._current.get()
        request, at = AuditRequest(reasons=reasons), configured.parts.clock.now()
        self._publish(crash_report(request, configured.settings, self._memory, error, at), configured)

    def _publish(self, report: AuditReport, configured: Configured) -> None:
        self.last_report = report
        try:
            self._publisher.publish(report, configured)
        except Exception as error:  # noqa: BLE001 - a report that cannot be published must not end the audits
            self._publisher.bug("publish", error)

    def _plan_next(
        self, report: AuditReport, configured: Configured, *, audit_again: bool, not_before: float | None = None
    ) -> None:
        self._follow_up = follow_up(
            self._follow_up,
            time.monotonic(),
            failed=worth_retrying(report),
            audit_again=audit_again,
            not_before=not_before,
        )
        self._queue.pace(gathering(configured.pacing, self._follow_up.failures, report))

    def _ring(self) -> None:
        due = self._follow_up
        if due.at is not None and time.monotonic() >= due.at:
            self._follow_up = replace(due, at=None)
            self._queue.request_now(due.reason)

    def _tick(self) -> None:
        self._last_tick = time.monotonic()

    def _cancelled(self) -> bool:
        """Return whether a stop was requested; the audit calls this between two stages and between two writes.

        Each call also shows that the audit makes progress, so that the worker does not count as stuck (``STALL_S``).
        """
        self._tick()
        return self._stopping.is_set()
