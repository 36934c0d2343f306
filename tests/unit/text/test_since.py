"""Points in time as operators type them."""

import datetime

import pytest

from agent.text.since import since

NOW = datetime.datetime(2026, 11, 22, 12, 0, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("45s", "2026-11-22T11:59:15+00:00"),
        ("90m", "2026-11-22T10:30:00+00:00"),
        ("36h", "2026-11-21T00:00:00+00:00"),
        ("7d", "2026-11-15T12:00:00+00:00"),
        ("2026-11-22", "2026-11-22T00:00:00+00:00"),
        ("2026-11-22T03:00", "2026-11-22T03:00:00+00:00"),
        ("2026-11-22T03:00:00Z", "2026-11-22T03:00:00+00:00"),
        ("2026-11-22T03:00+02:00", "2026-11-22T03:00:00+02:00"),
    ],
)
def test_journal_since_accepts_a_time_or_an_age(text, found):
    """`stocktake journal --since` accepts a time, such as 2026-11-22T03:00, or an age, such as 7d."""
    assert since(text, NOW).isoformat() == found


@pytest.mark.parametrize("text", ["", "yesterday", "-5m", "5", "9999999d", "999999d", "2026-13-01", "1.5h"])
def test_an_invalid_start_time_is_rejected_with_an_example(text):
    """A start time such as `yesterday` is rejected with an error that shows an example of a valid start time."""
    with pytest.raises(ValueError, match=f"{text} is not a time: give a time such as"):
        since(text, NOW)
