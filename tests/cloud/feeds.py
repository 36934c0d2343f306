"""One host's agent's view of the cell database: current rows, late rows, the rows of a fixed moment, or only some rows.

A late replica follows the primary by a constant number of seconds, a stuck replica stops following, and a cut answer
lacks some rows. All of them answer at once and without an error. The newest heartbeat is as old as the rows; the clock
is the true one.
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

# The interval in seconds at which every service of the cell reports (nova's report_interval).
REPORT_S = 10
# How far a replica may lag, in seconds: up to a minute (which counts as current), up to 10 minutes, up to three hours.
LATE_S = ((1, 59), (60, 600), (600, 10_800))
CUT_PERCENT = (10, 50, 90)


class Table(dict[K, V], Generic[K, V]):
    """The rows of one table on the primary, with all its changes in order, for replicas."""

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
        """Delete the row if it exists."""
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
        """Return the rows as of the end of that second."""
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
    """One answer: the rows as of a ``second`` of the cloud, and the two newest heartbeats as of then."""

    instances: Mapping[str, Instance]
    migrations: Mapping[int, Migration]
    lives: Mapping[str, Any]
    second: int
    heartbeats: tuple[int, ...]


@dataclass(slots=True)
class Feed:
    """How one agent's database answers. ``late_s`` 0: current; ``stuck_at``: the last moment that the replica followed.

    ``balanced_s``: every other read goes to a copy that lags by this time. ``fast_s``: one service's clock is ahead by
    this time.
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
        """Return the answer to a read in that second."""
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
        """Answer with all current rows from now on."""
        self.late_s, self.stuck_at, self.balanced_s, self.fast_s, self.cut_percent = 0, None, 0, 0, 0

    def sicken(self, dice: random.Random, second: int) -> str:
        """Answer wrongly from now on, in one of four ways; return a description of the way."""
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
        """Whether the answers are current and complete."""
        return not (self.late_s or self.balanced_s or self.cut_percent) and self.stuck_at is None


def moment(epoch: datetime.datetime, second: int) -> datetime.datetime:
    """Return that second of the cloud as the database writes it."""
    return epoch + datetime.timedelta(seconds=second)
