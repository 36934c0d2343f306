"""Who runs audits: the daemon, or a command for which an operator waits."""

from __future__ import annotations

import contextlib
import enum
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

#: The maximum pause in seconds before a command's next request while Placement is overloaded. The pause is short,
#: because an operator waits for the command and one command adds little load. The daemon may pause longer, because
#: no operator waits for the daemon.
PAUSE_OF_A_COMMAND_S = 5.0
DAEMON_PROGRAM = "stocktake-agent"

#: A function that returns a context manager for one wait. Its arguments: the source's name, and the maximum seconds.
Watch = Callable[[str, float], AbstractContextManager[object]]


class Waiting(enum.Enum):
    """How often the caller waits for a source that does not answer."""

    ONCE = "a command waits for a silent source only once, for [agent] source_deadline seconds"
    EVERY_AUDIT = "every audit of the daemon asks every source again"


def _unseen(_what: str, _at_most_s: float) -> AbstractContextManager[object]:
    return contextlib.nullcontext()


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The program that runs audits, and how it waits for sources.

    ``program`` is the name that the journal shows, ``pause_at_most_s`` the longest pause while Placement is overloaded.
    ``watch`` returns a context manager, which is active while the program waits for the answer of one source.
    """

    program: str = "stocktake"
    waiting: Waiting = Waiting.ONCE
    pause_at_most_s: float = PAUSE_OF_A_COMMAND_S
    watch: Watch = _unseen


DAEMON = Caller(program=DAEMON_PROGRAM, waiting=Waiting.EVERY_AUDIT, pause_at_most_s=math.inf)
SINGLE_AUDIT = Caller(program=DAEMON_PROGRAM)
