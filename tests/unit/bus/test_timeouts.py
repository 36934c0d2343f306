"""When the sender logs that a lost broker is still lost, and when it retries."""

from agent.bus.timeouts import pause_s
from agent.telemetry.finding_changes import worth_reporting


def test_only_failures_1_2_4_8_and_so_on_are_logged():
    """While the message broker is away, the agent logs only failures 1, 2, 4, 8, 16 and so on."""
    assert [count for count in range(40) if worth_reporting(count)] == [1, 2, 4, 8, 16, 32]


def test_the_reconnect_pause_doubles_up_to_thirty_seconds():
    """The agent tries to reach a lost message broker again after 1 second, then after 2, 4 and so on, at most 30."""
    assert [pause_s(count) for count in (0, 1, 2, 3, 6, 2000)] == [0.0, 1.0, 2.0, 4.0, 30.0, 30.0]
