"""When the worker audits by itself."""

import hypothesis.strategies as st
from hypothesis import given

from agent.worker import LOOK_CAP_S, RETRY_CAP_S, FollowUp, follow_up, look_delay, retry_delay

AUDITS = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60)


def test_a_clean_audit_leaves_nothing_open():
    assert follow_up(FollowUp(failures=3, looks=2, at=5.0, reason="retry"), 10.0, failed=False, look_again=False) == (
        FollowUp()
    )


def test_the_first_look_again_is_at_once_and_the_next_ones_wait_longer():
    delays = [look_delay(number) for number in range(1, 20)]
    assert delays[0] == 0.0
    assert delays == sorted(delays)
    assert delays[1] >= 0.5
    assert delays[-1] == LOOK_CAP_S


@given(st.integers(1, 10_000), st.floats(0.5, 1.0))
def test_a_retry_waits_a_jittered_while_and_never_longer_than_the_cap(failures, chance):
    delay = retry_delay(failures, lambda _low, _high: chance)
    assert 1.0 <= delay <= RETRY_CAP_S
    assert delay <= 2.0 ** min(failures, 9)


def test_retries_of_many_hosts_are_spread():
    assert len({retry_delay(4) for _ in range(20)}) > 10


@given(AUDITS)
def test_what_failed_or_asked_is_always_looked_at_again(audits):
    state = FollowUp()
    for number, (failed, look_again) in enumerate(audits):
        now = float(number)
        state = follow_up(state, now, failed=failed, look_again=look_again)
        if failed or look_again:
            assert now <= state.at <= now + RETRY_CAP_S
        else:
            assert state.at is None
