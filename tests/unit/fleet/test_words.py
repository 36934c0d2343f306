"""Times and amounts in as few characters as a table needs."""

import datetime

import pytest

from agent.fleet.words import amounts_text, clock, clock_of, duration
from tests.rigs.fleet_hosts import AT


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (3599, "59m"),
        (3600, "1h"),
        (86_399, "23h"),
        (86_400, "1d"),
        (8_640_000, "100d"),
    ],
)
def test_a_duration_is_rounded_down_to_one_unit(seconds, text):
    """`stocktake watch` shows 59.9 seconds as 59s and 3,599 seconds as 59m."""
    assert duration(seconds) == text


@pytest.mark.parametrize(("hours", "text"), [(0, "03:11"), (17, "10:11"), (18, "11-21 09:11"), (48, "11-20 03:11")])
def test_a_time_18_hours_ago_is_shown_with_its_date(hours, text):
    """`stocktake watch` shows a recent time as 10:11, and adds the date to a time that is 18 or more hours ago."""
    assert clock(AT - datetime.timedelta(hours=hours), AT) == text


@pytest.mark.parametrize(
    ("text", "shown"), [("2026-11-22T03:05:00.000Z", "03:05"), ("2026-11-22T04:05:00+01:00", "03:05"), ("soon", "soon")]
)
def test_a_time_sent_by_an_agent_is_shown_in_utc(text, shown):
    assert clock_of(text, AT) == shown


@pytest.mark.parametrize(
    ("amounts", "text"),
    [
        ({}, ""),
        ({"VCPU": 0, "X": 0}, ""),
        ({"DISK_GB": 8294, "VCPU": 94, "MEMORY_MB": 385_024}, "94 VCPU, 376 GiB RAM, 8.1 TiB disk"),
        ({"MEMORY_MB": 1536, "DISK_GB": 8191}, "1.5 GiB RAM, 8191 GiB disk"),
        ({"MEMORY_MB": 8 * 1024 * 1024}, "8.0 TiB RAM"),
        ({"MEMORY_MB": 1}, "<0.1 GiB RAM"),
        ({"CUSTOM_FPGA": 2, "PCPU": 4}, "2 CUSTOM_FPGA, 4 PCPU"),
    ],
)
def test_amounts_are_shown_with_units(amounts, text):
    """`stocktake watch` shows amounts with units, such as 94 VCPU, 376 GiB RAM or 8.1 TiB disk."""
    assert amounts_text(amounts) == text
