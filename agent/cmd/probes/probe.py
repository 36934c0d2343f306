"""Define probes, and run them at the same time. A probe is a question to a service or folder, such as libvirt."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.errors import AgentError, SourceError
from agent.ports import Deadline

#: The seconds that each probe may take.
LIMIT_S = 10.0
# Seconds to wait after the deadline, because the service's own time-out error arrives only then. That error says more
# than "no answer".
_LAST_WORDS_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A check whether a service or folder answers. ``what`` names the service or folder, for example ``libvirt``.

    The function ``ask`` must change nothing. It returns a sentence about what answered, or raises AgentError or
    OSError. If ``ask`` hangs, the function ``answers`` stops waiting after a time limit.
    """

    what: str
    ask: Callable[[Deadline], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result of a probe. ``what`` names the service or folder that was asked, ``ok`` says whether it answered.

    ``words`` is the answer, or the reason why there is no answer. ``took_ms`` is the duration in milliseconds.
    """

    what: str
    ok: bool
    took_ms: float
    words: str


class _Asked:
    """Runs one probe on a separate thread."""

    def __init__(self, probe: Probe, deadline: Deadline) -> None:
        self._probe = probe
        self._deadline = deadline
        self._began = time.monotonic()
        self._answer: Answer | None = None
        # A daemon thread does not keep the process alive, even if the answer never comes.
        self._thread = threading.Thread(target=self._run, name=f"probe-{probe.what}", daemon=True)
        self._thread.start()

    def answer(self) -> Answer:
        """Wait for the answer until shortly after the deadline. Without an answer, return an Answer that says so."""
        self._thread.join(self._deadline.left_s() + _LAST_WORDS_S)
        return self._answer or self._of(f"no answer within {self._deadline.allowed_s:g} s", ok=False)

    def _run(self) -> None:
        try:
            self._answer = self._of(self._probe.ask(self._deadline), ok=True)
        except SourceError as error:
            self._answer = self._of(error.message, ok=False)
        except (AgentError, OSError) as error:
            self._answer = self._of(str(error), ok=False)
        except Exception as error:  # noqa: BLE001 - one broken probe must not hide the answers of the others
            self._answer = self._of(f"this is a bug: {type(error).__name__}: {error}", ok=False)

    def _of(self, words: str, *, ok: bool) -> Answer:
        took_ms = round((time.monotonic() - self._began) * 1000, 1)
        return Answer(what=self._probe.what, ok=ok, took_ms=took_ms, words=words)


def answers(probes: Sequence[Probe], limit_s: float = LIMIT_S) -> tuple[Answer, ...]:
    """Run all probes at the same time, each for at most ``limit_s`` seconds; return the answers in the given order."""
    asked = [_Asked(probe, Deadline.after(limit_s)) for probe in probes]
    return tuple(each.answer() for each in asked)
