"""When the sender logs that a lost broker is still lost, and when it retries."""

from agent.bus.timeouts import pause_s
from agent.telemetry.finding_changes import worth_reporting


def test_connection_failures_are_logged_only_at_counts_1_2_4_8_and_so_on():
    assert [count for count in range(40) if worth_reporting(count)] == [1, 2, 4, 8, 16, 32]


def test_the_reconnect_pause_doubles_up_to_thirty_seconds():
    assert [pause_s(count) for count in (0, 1, 2, 3, 6, 2000)] == [0.0, 1.0, 2.0, 4.0, 30.0, 30.0]
