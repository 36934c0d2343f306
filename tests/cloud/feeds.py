"""What one host's agent reads of the cell database: the rows of now, of a while ago, of one moment for ever, or some.

A replica that is late follows the primary by the same number of seconds, one that is stuck
follows no more, and a cut answer lacks some rows. All of them answer at once and without
an error. The newest heartbeat beside the rows is as old as the rows; the clock is the true one.
"""

from __future__ import annotations

import datetime
import random
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from agent.model.nova import Instance, Migration

K = TypeVar("K")
V = TypeVar("V")

# Every service of the cell reports so often (nova's report_interval).
REPORT_S = 10
# How far a replica may be behind, in seconds: up to a minute (which counts as current), and up to three hours.
LATE_S = ((1, 59), (60, 600), (600, 10_800))
CUT_PERCENT = (10, 50, 90)


class Table(dict[K, V], Generic[K, V]):
    """The rows of one table on the primary, with every change of them in order, for replicas."""

    def __init__(self, second: Callable[[], int]) -> None:
        super().__init__()
        self._second = second
        self.changes: list[tuple[int, K, V | None]] = []

    def __setitem__(self, key: K, row: V) -> None:
        self.changes.append((self._second(), key, row))
        super().__setitem__(key, row)

    def __delitem__(self, key: K) -> None:
        self.changes.append((self._second(), key, None))
        super().__delitem__(key)

    def drop(self, key: K) -> None:
        """Delete the row where there is one."""
        if key in self:
            del self[key]


class Copy(Generic[K, V]):
    """A table on a replica."""

    def __init__(self, table: Table[K, V]) -> None:
        self._table = table
        self._second = -1
        self._applied = 0
        self.rows: dict[K, V] = {}

    def at(self, second: int) -> Mapping[K, V]:
        """The rows as they were at the end of that second."""
        if second < self._second:
            self._applied, self.rows = 0, {}
        self._second, changes = second, self._table.changes
        while self._applied < len(changes) and changes[self._applied][0] <= second:
            _, key, row = changes[self._applied]
            self._applied += 1
            if row is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = row
        return self.rows


@dataclass(frozen=True, slots=True)
class Rows:
    """One answer: rows as of a ``second`` of the cloud's, and the two newest heartbeats beside them."""

    instances: Mapping[str, Instance]
    migrations: Mapping[int, Migration]
    lives: Mapping[str, Any]
    second: int
    heartbeats: tuple[int, ...]


@dataclass(slots=True)
class Feed:
    """How one agent's database answers. ``late_s`` 0: current; ``stuck_at`` the last moment that it followed.

    ``balanced_s``: every other question goes to a copy that is so late. ``fast_s``: by so much one service's
    clock is ahead.
    """

    instances: Copy[str, Instance]
    migrations: Copy[int, Migration]
    lives: Copy[str, Any]
    late_s: int = 0
    stuck_at: int | None = None
    balanced_s: int = 0
    fast_s: int = 0
    cut_percent: int = 0
    salt: int = 0
    asked: int = 0

    def read(self, second: int) -> Rows:
        """The answer to a question of that second."""
        self.asked += 1
        late_s = self.late_s + (self.balanced_s if self.asked % 2 else 0)
        moment = second - late_s if self.stuck_at is None else min(self.stuck_at, second)
        newest = moment // REPORT_S * REPORT_S
        return Rows(
            instances={uuid: row for uuid, row in self.instances.at(moment).items() if not self._is_cut(uuid)},
            migrations={n: row for n, row in self.migrations.at(moment).items() if not self._is_cut(str(n))},
            lives=self.lives.at(moment),
            second=moment,
            heartbeats=(newest + self.fast_s, newest),
        )

    def _is_cut(self, key: str) -> bool:
        return bool(self.cut_percent) and zlib.crc32(f"{self.salt} {key}".encode()) % 100 < self.cut_percent

    def mend(self) -> None:
        """The rows of now, all of them, from here on."""
        self.late_s, self.stuck_at, self.balanced_s, self.fast_s, self.cut_percent = 0, None, 0, 0, 0

    def sicken(self, dice: random.Random, second: int) -> str:
        """Lie from now on, in one of four ways; in words which."""
        self.mend()
        kind = dice.choice(("late", "stuck", "balanced", "cut"))
        if kind == "late":
            self.late_s, self.fast_s = dice.randint(*dice.choice(LATE_S)), dice.choice((0, 0, 25, 50))
            return f"late by {self.late_s} s, one service's clock {self.fast_s} s ahead"
        if kind == "balanced":
            self.balanced_s = dice.randint(1, 59)
            return f"every other answer {self.balanced_s} s late"
        if kind == "stuck":
            self.stuck_at = second
            return "stuck"
        self.cut_percent, self.salt = dice.choice(CUT_PERCENT), dice.getrandbits(16)
        return f"cut by {self.cut_percent} %"

    @property
    def is_current(self) -> bool:
        """Whether it tells the truth of now."""
        return not (self.late_s or self.balanced_s or self.cut_percent) and self.stuck_at is None


def moment(epoch: datetime.datetime, second: int) -> datetime.datetime:
    """That second of the cloud as the database writes it."""
    return epoch + datetime.timedelta(seconds=second)
