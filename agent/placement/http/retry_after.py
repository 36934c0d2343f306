"""Decide how long a server that asks for patience gets it: what ``Retry-After`` says, and bounds for it.

What a newcomer would get wrong: the header is foreign text. keystoneauth sleeps for
as long as it says, an hour included, and dies of a negative number (measured, 5.18.1);
so its own repeats of an answer are off, and these rules stand in their place. A
date is measured by the server's clock where the answer tells that, because ours may
be wrong. Pure.
"""

from __future__ import annotations

import datetime
import email.utils
import re

#: No server keeps us away longer than this, whatever it says: a slip of a proxy's configuration must not blind a host.
HOLD_CAP_S = 600.0
#: A whole fleet is told the same second; each host comes back up to a quarter later than it was told.
HOLD_SPREAD = 0.25
#: What all waits for answers of one audit may take together. Longer pauses are for the time between audits.
WAIT_BUDGET_S = 10.0
FIRST_WAIT_S = 0.5

_DELAY = re.compile(r"[0-9]{1,9}")


def asked_s(retry_after: str | None, date: str | None, now: datetime.datetime) -> float | None:
    """Seconds that ``Retry-After`` asks for, never negative; None where it says nothing that can be understood.

    ``date`` is the answer's Date header, ``now`` our own clock (aware), used where that is missing.
    Source: RFC 9110, 10.2.3: a number of seconds or an HTTP date.
    """
    text = (retry_after or "").strip()
    if _DELAY.fullmatch(text):
        return float(text)
    then = _http_date(text)
    if then is None:
        return None
    return max(0.0, (then - (_http_date(date or "") or now)).total_seconds())


def hold_s(asked: float, random01: float) -> float:
    """How long no request is sent after an answer that asked for ``asked`` seconds: not less, but for the cap."""
    return min(HOLD_CAP_S, asked * (1.0 + HOLD_SPREAD * random01))


def wait_s(asked: float | None, repeat: int, fixed_s: float | None) -> float:
    """How long to wait before the ``repeat``-th repetition (1 is the first) of a GET that was answered with an error.

    What the server asks for; else ``fixed_s`` where that is configured; else 0.5, 1, 2 … s.
    """
    if asked is not None:
        return asked
    return fixed_s or FIRST_WAIT_S * 2.0 ** min(repeat - 1, 10)


def _http_date(text: str) -> datetime.datetime | None:
    try:
        then = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    # "-0000" and the form without a zone are read as naive; a date of HTTP is always UTC.
    return then if then.tzinfo else then.replace(tzinfo=datetime.UTC)
