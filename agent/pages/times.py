"""Write times for a page in UTC, with their age. Pure: no I/O."""

from __future__ import annotations

import datetime

from agent.text.amounts import age_text


def utc(time: str) -> str:
    """Return an ISO 8601 time as ``2026-11-22 03:11:07 UTC``; any other text is returned unchanged."""
    moment = moment_of(time)
    return time if moment is None else f"{moment.astimezone(datetime.UTC):%Y-%m-%d %H:%M:%S} UTC"


def with_age(time: str, now: str) -> str:
    """Return a time for a sentence: ``2026-11-22 03:11:07 UTC (4 min before this page was made)``.

    ``now`` is the page's time.

    "4 min ago" would be wrong when the operator reads the page tomorrow.
    """
    seconds = age_s(time, now)
    if seconds is None:
        return utc(time)
    age = "in the future" if seconds < 0 else f"{age_text(seconds)} before this page was made"
    return f"{utc(time)} ({age})"


def in_table(time: str, now: str) -> str:
    """Return a time for a cell of a table: ``2026-11-22 03:11:07 (age 4 min)``, with the age at ``now``.

    The heading of the column says that the times are UTC. The caption of the table names ``now``, the time of the ages.
    """
    seconds = age_s(time, now)
    return utc(time) if seconds is None else f"{utc(time).removesuffix(' UTC')} ({age_words(seconds)})"


def age_words(seconds: float) -> str:
    """Return ``age 4 min``; ``in the future`` for less than 0 seconds."""
    return "in the future" if seconds < 0 else f"age {age_text(seconds)}"


def age_s(time: str, now: str) -> float | None:
    """Return the seconds from ``time`` until ``now``, which are negative if ``time`` is later than ``now``.

    Return None if one of the two texts is not a time.
    """
    earlier, later = moment_of(time), moment_of(now)
    return None if earlier is None or later is None else (later - earlier).total_seconds()


def moment_of(time: str) -> datetime.datetime | None:
    """Return the moment that an ISO 8601 text names; a text without a time zone means UTC.

    None if the text is not a time.
    """
    try:
        moment = datetime.datetime.fromisoformat(time)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
