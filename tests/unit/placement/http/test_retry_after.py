"""What Retry-After says, and how far the agent follows it."""

import datetime
import email.utils

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agent.placement.http.retry_after import HOLD_CAP_S, HOLD_SPREAD, asked_s, hold_s, wait_s

NOW = datetime.datetime(2026, 11, 22, 1, 0, 0, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        # RFC 9110, 5.6.7: the three forms of a date, two of them obsolete.
        ("Sun, 22 Nov 2026 01:02:00 GMT", 120.0),
        ("Sunday, 22-Nov-26 01:02:00 GMT", 120.0),
        ("Sun Nov 22 01:02:00 2026", 120.0),
        ("Sun, 22 Nov 2026 00:00:00 GMT", 0.0),
    ],
)
def test_a_retry_after_header_may_contain_seconds_or_a_date(text, seconds):
    assert asked_s(text, None, NOW) == seconds


@pytest.mark.parametrize("text", [None, "", "soon", "-5", "1.5", "1e9", "٣", "inf", "9" * 40, "32 Nov 2026", "Sun, 22"])
def test_an_invalid_retry_after_header_is_ignored(text):
    assert asked_s(text, None, NOW) is None


@given(st.text())
def test_any_text_in_retry_after_is_read_without_an_exception(text):
    asked = asked_s(text, text, NOW)
    assert asked is None or asked >= 0


def test_a_retry_after_date_is_compared_with_the_date_header():
    """The agent subtracts the response's Date header from the date in Retry-After, so a wrong clock does no harm."""
    ahead = NOW + datetime.timedelta(hours=5)
    date = email.utils.format_datetime(ahead, usegmt=True)
    until = email.utils.format_datetime(ahead + datetime.timedelta(seconds=30), usegmt=True)
    assert asked_s(until, date, NOW) == 30.0
    assert asked_s(until, "garbage", NOW) == 5 * 3600 + 30.0


@given(st.floats(0, 1e9), st.floats(0, 1, exclude_max=True))
def test_the_agent_waits_as_long_as_retry_after_demands(asked, random01):
    """The agent waits for the time in the Retry-After header plus a random part, up to the agent's maximum."""
    held = hold_s(asked, random01)
    assert min(asked, HOLD_CAP_S) <= held <= min(HOLD_CAP_S, asked * (1 + HOLD_SPREAD))


def test_a_random_part_is_added_to_the_wait_of_retry_after():
    """The agent adds a random time to the wait from Retry-After, so that not all hosts return at the same moment."""
    assert len({hold_s(30, number / 100) for number in range(100)}) == 100


def test_the_configured_delay_applies_without_retry_after():
    """The agent waits for the configured delay if a response has no Retry-After header."""
    assert wait_s(7.0, 1, 0.1) == 7.0
    assert wait_s(0.0, 2, 0.1) == 0.0
    assert [wait_s(None, repeat, 0.1) for repeat in (1, 2)] == [0.1, 0.1]
    assert [wait_s(None, repeat, None) for repeat in (1, 2, 3)] == [0.5, 1.0, 2.0]
