"""Cache the values parsed from the last read's guest rows, because the rows stay equal while no guest changes.

The cache compares only the rows about guests: the rows of the service and the compute node change at every heartbeat.
"""

from __future__ import annotations

from agent.sources.nova.rows import CellRows, GuestRows, about_guests, guests_from_rows


class LastGuests:
    """The parsed rows about guests from the last read of nova's database. Not for several threads at once."""

    def __init__(self) -> None:
        self._last: tuple[CellRows, GuestRows] | None = None

    def parsed(self, rows: CellRows) -> GuestRows:
        """Return the values parsed from ``rows``.

        If the rows about guests equal those of the last read, return the objects of the last read.
        """
        about = about_guests(rows)
        if self._last is None or self._last[0] != about:
            self._last = about, guests_from_rows(about)
        return self._last[1]
