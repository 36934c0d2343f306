"""A MariaDB and a real replica of it; a test sets the replica's delay and stops it from applying changes.

Changes go to ``primary``; an agent reads ``replica``. The replica fetches changes at once and applies them late or not
at all. So a client gets complete answers at once, but with the data of an earlier moment.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.rigs.mariadb import PASSWORD, USER, MariaDb
from tests.rigs.wait import until

PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Pair:
    """Two servers, the second a replica of the first."""

    primary: MariaDb
    replica: MariaDb

    def applies(self, delay_s: int = 0) -> None:
        """Let the replica apply each change ``delay_s`` seconds after the primary made it."""
        self.replica.execute("STOP SLAVE")
        self.replica.execute(f"CHANGE MASTER TO MASTER_DELAY = {delay_s}")
        self.replica.execute("START SLAVE")

    def stops(self) -> None:
        """Stop the replica from applying changes; it still answers."""
        self.replica.execute("STOP SLAVE SQL_THREAD")

    def catch_up(self) -> None:
        """Wait until the replica has applied all changes that the primary has written so far."""
        ((position,),) = self.primary.execute("SELECT @@gtid_binlog_pos")
        ask = f"SELECT MASTER_GTID_WAIT('{position}', 1)"
        until(lambda: self.replica.execute(ask) == ((0,),), PATIENCE_S, f"the replica has applied {position}")


@contextlib.contextmanager
def replicating(folder: Path) -> Iterator[Pair]:
    """Yield both servers, the replica without delay, and stop them afterwards: the body of a fixture."""
    primary = MariaDb(folder / "primary", f"--log-bin={folder / 'primary' / 'binlog'}", "--server-id=1")
    replica = MariaDb(folder / "replica", f"--relay-log={folder / 'replica' / 'relay'}", "--server-id=2")
    primary.install()
    shutil.copytree(primary.folder, replica.folder)
    try:
        primary.start()
        replica.start()
        _follow(primary, replica)
        yield Pair(primary, replica)
    finally:
        replica.stop()
        primary.stop()


def _follow(primary: MariaDb, replica: MariaDb) -> None:
    # The primary's first log begins with its first start; before that both servers had equal data.
    replica.execute(
        f"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {primary.port}, MASTER_USER = '{USER}', "
        f"MASTER_PASSWORD = '{PASSWORD}', MASTER_LOG_FILE = 'binlog.000001', MASTER_LOG_POS = 4"
    )
    replica.execute("START SLAVE")
