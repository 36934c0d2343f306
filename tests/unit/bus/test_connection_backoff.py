"""When the sender logs that a lost broker is still lost, and when it retries."""

from agent.bus.connection_backoff import Reach


def _after(failures: int) -> Reach:
    reach = Reach()
    for _ in range(failures):
        reach = reach.after_failure()
    return reach


def test_it_is_told_with_growing_gaps():
    assert [count for count in range(40) if _after(count).is_worth_telling] == [1, 2, 4, 8, 16, 32]


def test_tries_are_rarer_and_never_end():
    assert [_after(count).pause_s for count in (0, 1, 2, 3, 6, 2000)] == [0.0, 1.0, 2.0, 4.0, 30.0, 30.0]
