"""Record whether the audit is inside a read right now: a stop may abandon a read, and nothing else.

A read of a frozen libvirt, a silent Placement or a hung database takes as long as its time-outs allow: half a minute
and more. A read has no side effects. A write must finish or end at its own time-out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class ReadMark:
    """A flag that the worker's thread sets and the stopping thread reads."""

    def __init__(self) -> None:
        self._inside = False

    @property
    def inside(self) -> bool:
        """Whether a read is in progress."""
        return self._inside

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Set the flag for the duration of one read."""
        self._inside = True
        try:
            yield
        finally:
            self._inside = False
