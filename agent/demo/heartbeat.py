"""Write the heartbeat of a nova service into the demo's cell database, because no nova service runs there.

Without a recent heartbeat the agent considers the cell database an old copy. The heartbeat runs in the process of the
demo's Placement server. With --keep, the cell therefore stays current until that process ends.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
import urllib.parse
from pathlib import Path

from agent.demo.cell import HEART_HOST

# The seconds between two heartbeats. nova's default (report_interval) is 10 s. The demo uses a shorter time, because
# heal waits for a heartbeat that is newer than heal's plan, and the operator waits for heal.
EVERY_S = 1.0
_BEAT = "UPDATE services SET last_seen_up = datetime('now') WHERE host = ? AND deleted = 0"


def keep_alive(path: Path) -> None:
    """Start a thread that writes a nova service's heartbeat into the SQLite file ``path``, once the file exists."""
    threading.Thread(target=_beat_on, args=(path,), name="cell-heartbeat", daemon=True).start()


def _beat_on(path: Path) -> None:
    while True:
        # If the file does not exist yet, or a reader has locked the file, the loop tries again after EVERY_S.
        with contextlib.suppress(sqlite3.Error):
            _beat(path)
        time.sleep(EVERY_S)


def _beat(path: Path) -> None:
    # ``mode=rw`` opens only an existing file; without this mode, SQLite would create a missing file.
    location = f"file:{urllib.parse.quote(str(path))}?mode=rw"
    with contextlib.closing(sqlite3.connect(location, uri=True, timeout=1)) as cell, cell:
        cell.execute(_BEAT, (HEART_HOST,))
