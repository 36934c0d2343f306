"""Define the messages to the main thread: signals, and the worker's reports. Imports nothing slow.

A signal handler only puts the signal's number into a queue. The queue's ``put`` is re-entrant, so a handler may call
``put`` at any time. The daemon installs the handlers before its slow imports, because a SIGHUP during the imports
would end the daemon.
"""

from __future__ import annotations

import queue
import signal
from dataclasses import dataclass
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True, slots=True)
class WorkerEnded:
    """The worker's thread has ended; ``code`` is the exit code for the process."""

    code: int


@dataclass(frozen=True, slots=True)
class Audited:
    """An audit has ended; ``status`` is one line for systemd."""

    status: str


Message = int | WorkerEnded | Audited
Inbox = queue.SimpleQueue[Message]


def install_handlers(inbox: Inbox) -> None:
    """From now on, if a signal in ``SIGNALS`` is received, put its number into ``inbox``."""

    def catch(number: int, _frame: FrameType | None) -> None:
        inbox.put(number)

    for number in SIGNALS:
        signal.signal(number, catch)
