"""Keep what the last read's rows said of the guests: on a quiet host the same rows come again each minute.

Only the rows about guests count; those of the service and the node change with every heartbeat.
"""

from __future__ import annotations

from agent.sources.nova.rows import CellRows, Guests, about_guests, guests_from_rows


class LastGuests:
    """For one reader of the cloud's state. One thread at a time."""

    def __init__(self) -> None:
        self._last: tuple[CellRows, Guests] | None = None

    def said_by(self, rows: CellRows) -> Guests:
        """What these rows say; equal rows said it at the last read, and get the same values again."""
        about = about_guests(rows)
        if self._last is None or self._last[0] != about:
            self._last = about, guests_from_rows(about)
        return self._last[1]
