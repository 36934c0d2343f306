"""Write the page of the fleet from what ``watch`` has received: once, or every 60 s in a thread."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

from agent.cmd.exit_handling import to_stderr
from agent.cmd.watching.setup import Watched
from agent.errors import SourceUnavailable
from agent.fleet.view import FleetView

#: The page is written again every EVERY_S seconds. When the first page is written, no host has answered yet. So the
#: second page follows after SOON_S seconds.
EVERY_S = 60.0
SOON_S = 10.0


def write_view(file: str, view: FleetView) -> None:
    """Write the page of this view. Raises SourceUnavailable if the file cannot be written."""
    # Import late: only a page needs Jinja2, which takes much memory.
    from agent.cmd.fleet_facts import facts_of_view
    from agent.pages.fleet.page import fleet_page
    from agent.pages.output import write_page
    from agent.pages.render import rendered

    write_page(file, rendered(fleet_page(facts_of_view(view))), sys.stdout)


@contextlib.contextmanager
def page_kept(file: str | None, watched: Watched) -> Iterator[None]:
    """Write the page again and again during the ``with`` block, and once at the end of the block.

    If ``file`` is None, no page is written. Raises SourceUnavailable if the first page cannot be written. If a later
    page cannot be written, the error is printed to stderr only at the end of the block, because the code in the block
    may draw on the whole terminal.
    """
    if file is None:
        yield
        return
    write_view(file, watched.view())
    keeper = _Keeper(file, watched)
    keeper.start()
    try:
        yield
    finally:
        keeper.end()


class _Keeper:
    """Writes the page in a thread of its own."""

    def __init__(self, file: str, watched: Watched) -> None:
        self._file = file
        self._watched = watched
        self._problem: str | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._live, name="watch-page", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def end(self) -> None:
        """End the thread and write the last page; if the page cannot be written, print the error to stderr."""
        self._closing.set()
        self._thread.join()
        self._write()
        if self._problem is not None:
            to_stderr(self._problem)

    def _live(self) -> None:
        wait_s = SOON_S
        while not self._closing.wait(wait_s):
            self._write()
            wait_s = EVERY_S

    def _write(self) -> None:
        try:
            write_view(self._file, self._watched.view())
        except SourceUnavailable as error:
            self._problem = error.message
        else:
            self._problem = None
