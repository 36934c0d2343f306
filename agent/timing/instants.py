"""Convert times between texts and numbers. Pure: no I/O."""

from __future__ import annotations

import datetime


def seconds_of(text: str) -> float | None:
    """Return the seconds since the epoch of an ISO 8601 time with a zone; None if the text is no such time."""
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.timestamp() if found.tzinfo is not None else None
