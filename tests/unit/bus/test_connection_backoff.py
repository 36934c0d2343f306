"""When the sender logs that a lost broker is still lost, and when it retries."""

from agent.bus.connection_backoff import Reach


def _after(failures: int) -> Reach:
    reach = Reach()
    for _ in range(failures):
        reach = reach.after_failure()
    return reach


def test_a_lost_broker_is_logged_at_powers_of_two():
    assert [count for count in range(40) if _after(count).is_worth_logging] == [1, 2, 4, 8, 16, 32]


def test_the_reconnect_pause_doubles_up_to_thirty_seconds():
    assert [_after(count).pause_s for count in (0, 1, 2, 3, 6, 2000)] == [0.0, 1.0, 2.0, 4.0, 30.0, 30.0]
