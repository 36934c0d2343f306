"""Run, on a separate thread, a call that cannot be cancelled, and stop waiting for the call at the deadline.

A call that misses its deadline continues in the background, and its late answer is discarded. No second call starts
until the first one returns, so a hung libvirtd or a dead mount blocks one thread and never more.

While a call hangs, every caller gets the same error text, without the elapsed time. Findings need constant text: a
finding is confirmed when two audits report equal text.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from agent.errors import SourceUnavailable
from agent.ports import Deadline

T = TypeVar("T")

#: Some functions that a ReaderThread runs have their own time-out. The function's error says what failed; Unanswered
#: does not. So the caller adds these seconds to the ReaderThread's deadline, and the function's error comes first.
LAST_WORDS_S = 0.25
_STOP_WAIT_S = 1.0


class Unanswered(SourceUnavailable):
    """The error of a call without an answer.

    The call did not return in time, an earlier call has not returned yet, or the thread was stopped.
    """


class _Job(Generic[T]):
    """One call: the function to run, then its answer or its error."""

    def __init__(self, call: Callable[[], T], allowed_s: float) -> None:
        self._call = call
        # Copy the caller's context, so that the call's log lines carry the audit's id.
        self._context = contextvars.copy_context()
        self.allowed_s = allowed_s
        self._answer: T | None = None
        self._error: BaseException | None = None
        self.done = threading.Event()

    def run(self) -> None:
        try:
            self._answer = self._context.run(self._call)
        except BaseException as error:  # noqa: BLE001 - the caller gets the error from result()
            self._error = error
        finally:
            self.done.set()

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._answer  # type: ignore[return-value]  # T may be None itself


class ReaderThread:
    """Runs all calls to the source ``name`` on one thread, which starts with the first call."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._current: _Job[Any] | None = None
        self._stopped = False
        self._misses = 0

    @property
    def misses(self) -> int:
        """The number of consecutive calls that got no answer in time or were rejected while an earlier call hung.

        An answer in time resets the number to 0, and so does an error that the call raises in time.
        """
        return self._misses

    def call(self, call: Callable[[], T], deadline: Deadline) -> T:
        """Run ``call`` on this object's thread and return its answer, or raise its error.

        Raises Unanswered if the call has not returned by the deadline. Raises Unanswered at once if an earlier call has
        not returned, or after stop().
        """
        job = self._submit(call, deadline.allowed_s)
        if not job.done.wait(deadline.left_s()):
            raise self._missed(job)
        self._misses = 0
        return job.result()

    def stop(self) -> bool:
        """Stop the thread and return whether the thread has ended.

        After True, nothing uses the thread's resources any more.

        A thread that hangs in a call continues to run, but as a daemon thread it cannot keep the process alive.
        """
        with self._lock:
            self._stopped = True
            thread = self._thread
            hangs = self._current is not None and not self._current.done.is_set()
        self._jobs.put(None)
        if thread is not None and not hangs:
            thread.join(_STOP_WAIT_S)
        return thread is None or not thread.is_alive()

    def _missed(self, job: _Job[Any]) -> Unanswered:
        self._misses += 1
        return Unanswered(self.name, f"no answer within {job.allowed_s:.3g} s")

    def _submit(self, call: Callable[[], T], allowed_s: float) -> _Job[T]:
        with self._lock:
            if self._stopped:
                raise Unanswered(self.name, "the reader thread has been stopped")
            if self._current is not None and not self._current.done.is_set():
                raise self._missed(self._current)
            job = _Job(call, allowed_s)
            self._current = job
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=f"reader-{self.name}", daemon=True)
                self._thread.start()
        self._jobs.put(job)
        return job

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
            # Drop the references to the job: its answer may be large, and the next call may come an hour later.
            with self._lock:
                if self._current is job:
                    self._current = None
            del job
