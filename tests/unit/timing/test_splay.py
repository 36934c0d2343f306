"""Phases from identities: constant for an identity, and spread as evenly as chance."""

import subprocess
import sys

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agent.timing.splay import phase, until_turn
from tests.rigs.facts import uuid

HOSTS = [uuid(number) for number in range(10_000)]


@given(st.text(), st.text())
def test_the_time_offset_of_a_host_is_a_fraction_below_1(identity, salt):
    """A host's time offset within an interval is a fraction from 0 to below 1."""
    assert 0.0 <= phase(identity, salt) < 1.0


def test_every_process_computes_the_same_time_offset_for_a_host():
    """Every process of the agent computes the same time offset for a host's periodic actions."""
    script = f"from agent.timing.splay import phase; print(repr(phase({HOSTS[0]!r}, 'interval')))"
    # PYTHONHASHSEED is random unless it is set, so a phase from hash() would differ.
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert float(told) == phase(HOSTS[0], "interval")


@pytest.mark.parametrize("slots", [10, 60, 100])
def test_time_offsets_of_ten_thousand_hosts_are_spread_evenly(slots):
    """The time offsets of 10,000 hosts are spread over the interval as evenly as random numbers."""
    counts = [0] * slots
    for host in HOSTS:
        counts[int(phase(host, "interval") * slots)] += 1
    even = len(HOSTS) / slots
    # Chi-squared with slots - 1 degrees of freedom: mean slots - 1, variance 2 (slots - 1); five deviations above.
    chi = sum((count - even) ** 2 / even for count in counts)
    assert chi < slots - 1 + 5 * (2 * (slots - 1)) ** 0.5


def test_two_salts_give_a_host_unrelated_time_offsets():
    """The time offset of a host depends on a salt. The offsets for two salts are unrelated."""
    both = sum(int(phase(host, "one") * 10) == int(phase(host, "two") * 10) for host in HOSTS)
    assert 800 < both < 1200


def test_the_time_offset_depends_on_where_the_salt_ends():
    """Salt "a" with host "bc" and salt "ab" with host "c" give different time offsets."""
    assert phase("bc", "a") != phase("c", "ab")


@given(st.floats(0, 4e9), st.floats(0.1, 1e5), st.floats(0, 1, exclude_max=True))
def test_the_next_scheduled_audit_is_at_most_one_interval_away(now, period_s, part):
    assert 0.0 < until_turn(now, period_s, part) <= period_s


@given(st.integers(0, 4_000_000_000), st.integers(1, 3600), st.integers(0, 1000))
def test_a_restart_does_not_move_a_hosts_scheduled_times(now, period_s, later):
    """A restarted agent computes the same scheduled times for its host as before."""
    one = now + until_turn(now, period_s, 0.25)
    other = now + later + until_turn(now + later, period_s, 0.25)
    assert (other - one) % period_s == pytest.approx(0, abs=1e-3) or (other - one) % period_s == pytest.approx(
        period_s, abs=1e-3
    )
