"""Decide how long the client waits after an answer with a ``Retry-After`` header.

The header comes from another program and may contain anything. keystoneauth sleeps for as long as the header says, even
for an hour, and crashes on a negative number (measured, 5.18.1). So the client switches keystoneauth's own status
retries off and uses these rules. A date in the header is compared with the server's clock, if the answer has a Date
header, because this host's clock may be wrong. Pure: no I/O.
"""

from __future__ import annotations

import datetime
import email.utils
import re

from agent.timing.backoff import grown_s

#: The longest time for which the client obeys a Retry-After, because a misconfigured proxy may request hours.
HOLD_CAP_S = 600.0
#: Each host waits longer than requested, by a random part of the requested time, at most a quarter. A whole fleet may
#: get the same Retry-After, and without this spread all hosts would send again at the same moment.
HOLD_SPREAD = 0.25
#: The maximum total seconds that one audit waits before repeated GETs. If a Retry-After requests more seconds than
#: remain, the GET fails.
WAIT_BUDGET_S = 10.0
FIRST_WAIT_S = 0.5
LAST_WAIT_S = 512.0

_DELAY = re.compile(r"[0-9]{1,9}")


def asked_s(retry_after: str | None, date: str | None, now: datetime.datetime) -> float | None:
    """Return the seconds that ``Retry-After`` requests, never negative; None if the header is missing or unreadable.

    The header has a number of seconds or an HTTP date (RFC 9110, 10.2.3). An HTTP date is compared with ``date``, the
    answer's Date header. Without a Date header, it is compared with ``now``, the time on this host (with a time zone).
    """
    text = (retry_after or "").strip()
    if _DELAY.fullmatch(text):
        return float(text)
    then = _http_date(text)
    if then is None:
        return None
    return max(0.0, (then - (_http_date(date or "") or now)).total_seconds())


def hold_s(asked: float, random01: float) -> float:
    """Return the number of seconds for which the client sends nothing; at most HOLD_CAP_S.

    ``asked`` is the number of seconds in Retry-After, ``random01`` a random number between 0 and 1.
    """
    return min(HOLD_CAP_S, asked * (1.0 + HOLD_SPREAD * random01))


def wait_s(asked: float | None, repeat: int, fixed_s: float | None) -> float:
    """Return the seconds to wait before repetition number ``repeat`` of a request.

    The result is ``asked`` (from Retry-After) if it is not None, else ``fixed_s`` if set, else 0.5, 1, 2 … seconds.
    """
    return asked if asked is not None else fixed_s or grown_s(FIRST_WAIT_S, LAST_WAIT_S, repeat - 1)


def _http_date(text: str) -> datetime.datetime | None:
    try:
        then = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    # For "-0000" and for a date without a zone, Python returns a time without a zone. Add UTC, because an HTTP date is
    # always in UTC.
    return then if then.tzinfo else then.replace(tzinfo=datetime.UTC)
