"""How long the event source waits between two attempts to connect."""

from hypothesis import given
from hypothesis import strategies as st

from agent.sources.libvirt.events import Backoff


@given(st.integers(0, 10_000))
def test_the_wait_before_a_libvirt_reconnect_is_limited(failures):
    """The agent waits between 0.125 s and 30 s before it connects to libvirt again."""
    assert 0.125 <= Backoff(first_s=0.25, cap_s=30.0).wait_s(failures) <= 30.0


def test_the_wait_before_a_libvirt_reconnect_grows():
    """After each failed connection to libvirt, the agent waits about twice as long, up to a limit."""
    backoff = Backoff(first_s=1.0, cap_s=8.0)
    for failures, longest in enumerate([1.0, 2.0, 4.0, 8.0, 8.0]):
        waits = [backoff.wait_s(failures) for _ in range(200)]
        assert longest / 2 <= min(waits) <= max(waits) <= longest
        assert max(waits) - min(waits) > longest / 4
