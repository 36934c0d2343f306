"""Read a point in time as an operator types it: an ISO 8601 time, or how long ago. Pure: no I/O."""

from __future__ import annotations

import datetime
import re

_AGO = re.compile(r"(?P<number>[0-9]{1,6})(?P<unit>[smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
FORMS = "give a time such as 2026-11-22T03:00 (UTC), or how long ago: 90m, 36h, 7d"


def since(text: str, now: datetime.datetime) -> datetime.datetime:
    """Parse ``2026-11-22T03:00``, or ``36h`` (36 hours before ``now``). Raises ValueError for any other form.

    The result has a time zone. A time without a zone is in UTC, like all times that the agent prints.
    """
    ago = _AGO.fullmatch(text.strip())
    try:
        if ago is not None:
            return now - datetime.timedelta(**{_UNITS[ago["unit"]]: int(ago["number"])})
        found = datetime.datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text} is not a time: {FORMS}") from error
    return found if found.tzinfo else found.replace(tzinfo=datetime.UTC)
