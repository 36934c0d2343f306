"""The heartbeat of the demo's cell, in which no nova service runs: without it the agent takes the cell for an old copy.

It beats in the process that plays the cloud, so a world that is kept stays current until that process ends.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
import urllib.parse
from pathlib import Path

from agent.demo.cell import HEART_HOST

# nova's report_interval is 10 s.
EVERY_S = 5.0
_BEAT = "UPDATE services SET last_seen_up = datetime('now') WHERE host = ? AND deleted = 0"


def keep_alive(path: Path) -> None:
    """Write the heartbeat into that SQLite cell from now on, on a thread; before the file is there nothing happens."""
    threading.Thread(target=_beat_on, args=(path,), name="cell-heartbeat", daemon=True).start()


def _beat_on(path: Path) -> None:
    while True:
        # Not there yet, or locked by a reader: the next beat comes soon.
        with contextlib.suppress(sqlite3.Error):
            _beat(path)
        time.sleep(EVERY_S)


def _beat(path: Path) -> None:
    # "rw": SQLite would make a file that is not there.
    location = f"file:{urllib.parse.quote(str(path))}?mode=rw"
    with contextlib.closing(sqlite3.connect(location, uri=True, timeout=1)) as cell, cell:
        cell.execute(_BEAT, (HEART_HOST,))
