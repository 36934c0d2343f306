"""When a consumer's allocations on one host were last written, in fact and as the audits of the agent can see.

Placement gives a consumer that was deleted and recreated the generations 1, 2, ... again. If other clients delete the
allocations between two audits, and write the same amounts as often as before, both audits read equal allocations, and
nothing in Placement's API shows the writes between them.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Seen:
    """A consumer's ``state``, any text that differs with it, and the second of the visible write that made it."""

    state: str
    written: int | None


@dataclass(slots=True)
class WriteTimes:
    """``last``: the second of each consumer's last write. ``visible``: of the last one that an audit can notice."""

    last: dict[str, int] = field(default_factory=dict)
    visible: dict[str, int] = field(default_factory=dict)
    _now: dict[str, Seen] = field(default_factory=dict)
    _read: dict[str, Seen] = field(default_factory=dict)

    def note(self, consumer: str, state: str, second: int, read_at: int | None) -> None:
        """Keep a write at ``second`` that led to ``state``; ``read_at``: when an audit last read the allocations."""
        before = self._now.get(consumer, Seen("None", None))
        last = self.last.get(consumer)
        if last is None or (read_at is not None and read_at >= last):
            self._read[consumer] = before
        read = self._read[consumer]
        self._now[consumer] = after = read if state == read.state else Seen(state, second)
        self.last[consumer] = second
        self.visible.pop(consumer, None)
        if after.written is not None:
            self.visible[consumer] = after.written
