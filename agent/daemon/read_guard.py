"""Whether the audit is inside a read right now: a stop may leave a read behind, and nothing else.

A read of a frozen libvirt, a silent Placement or a hung database takes as long as its
time-outs let it, half a minute and more, and changes nothing; a write must be
finished or end at its own time-out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class ReadMark:
    """Set by the worker's thread, looked at by the one that stops it."""

    def __init__(self) -> None:
        self._inside = False

    @property
    def inside(self) -> bool:
        """Whether a read is under way."""
        return self._inside

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Around one read."""
        self._inside = True
        try:
            yield
        finally:
            self._inside = False
