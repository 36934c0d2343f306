"""What reaches the main thread: signals, and what the worker tells. Imports nothing slow.

A handler only puts a number into a queue whose ``put`` is re-entrant, so it is legal
in a signal handler at any moment. Installing the handlers is the first thing a daemon
does: without one, a SIGHUP during the imports would kill it.
"""

from __future__ import annotations

import queue
import signal
from dataclasses import dataclass
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True, slots=True)
class WorkerEnded:
    """The worker's thread has ended; ``code`` is the exit code that asks for."""

    code: int


@dataclass(frozen=True, slots=True)
class Audited:
    """An audit has ended; ``status`` is one line for systemd."""

    status: str


Message = int | WorkerEnded | Audited
Inbox = queue.SimpleQueue[Message]


def install_handlers(inbox: Inbox) -> None:
    """Put every one of our signals into ``inbox`` from now on."""

    def catch(number: int, _frame: FrameType | None) -> None:
        inbox.put(number)

    for number in SIGNALS:
        signal.signal(number, catch)
